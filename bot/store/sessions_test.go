package store

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Sessions are found again after a restart, end for everybody, one or all of an account, leave nothing, and know only
// names that are hashes.
func TestSessions(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	name, other := "session.7."+strings.Repeat("a", 64), "session.7."+strings.Repeat("b", 64)
	second77 := "session.77." + strings.Repeat("a", 64)
	q, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := q.Sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{name, other, second77} {
		if err := s.Set(ctx, n, []byte("alice")); err != nil {
			t.Fatal(err)
		}
	}
	second, err := q.Sessions(ctx) // as another server has them
	if err != nil {
		t.Fatal(err)
	}
	if err := second.End(ctx, other); err != nil {
		t.Fatal(err)
	}
	if n, err := second.Count(ctx, "session.7"); n != 1 || err != nil {
		t.Errorf("%d sessions of an account, %v", n, err)
	}
	q.Close()

	q = open(t, Config{Dir: dir})
	if s, err = q.Sessions(ctx); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[string]string{name: "alice", other: "", "session.7." + strings.Repeat("c", 64): "",
		second77: "alice",
		">":      "", "session.*": "", "": "", "session.7": "", "session.7.*": "", "session." + strings.Repeat("a", 64): ""} {
		if got, err := s.Get(ctx, n); err != nil || string(got) != want {
			t.Errorf("session %q: %q, %v, want %q", n, got, err, want)
		}
	}
	for _, n := range []string{"session.*", "session.7", "session.7.*", "session.>"} {
		if err := s.Set(ctx, n, nil); err == nil {
			t.Errorf("the name %q is taken", n)
		}
		if err := s.End(ctx, n); (err == nil) != (n == "session.7") {
			t.Errorf("ending %q: %v", n, err)
		}
	}
	if err := s.End(ctx, "session.7."+strings.Repeat("d", 64)); err != nil {
		t.Errorf("ending what is not there: %v", err)
	}
	for n, want := range map[string]string{name: "", second77: "alice"} { // all of the account 7 were ended
		if got, err := s.Get(ctx, n); err != nil || string(got) != want {
			t.Errorf("session %q: %q, %v, want %q", n, got, err, want)
		}
	}
	if err := s.End(ctx, second77); err != nil {
		t.Fatal(err)
	}
	if info, err := s.signedIn.stream.Info(ctx); err != nil || info.State.Msgs != 0 {
		t.Errorf("%+v are left of ended sessions, %v", info.State, err)
	}
}

// Of many who use one name, at the same time and later, one is the first.
func TestOnce(t *testing.T) {
	s, err := open(t, Config{}).Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var first atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if ok, err := s.Once(t.Context(), "state."+strings.Repeat("a", 64)); err != nil {
				t.Error(err)
			} else if ok {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if first.Load() != 1 {
		t.Errorf("%d were the first", first.Load())
	}
	if ok, err := s.Once(t.Context(), "state."+strings.Repeat("b", 64)); !ok || err != nil {
		t.Errorf("another name: %t, %v", ok, err)
	}
}
