package queue

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Sessions are found again after a restart, end for everybody, and know only names that are hashes.
func TestSessions(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	name, other := "session."+strings.Repeat("a", 64), "session."+strings.Repeat("b", 64)
	q, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := q.Sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{name, other} {
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
	q.Close()

	q = open(t, Config{Dir: dir})
	if s, err = q.Sessions(ctx); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[string]string{name: "alice", other: "", "session." + strings.Repeat("c", 64): "",
		">": "", "session.*": "", "": ""} {
		if got, err := s.Get(ctx, n); err != nil || string(got) != want {
			t.Errorf("session %q: %q, %v, want %q", n, got, err, want)
		}
	}
	if err := s.Set(ctx, "session.*", nil); err == nil {
		t.Error("a name that is no hash is taken")
	}
	if err := s.End(ctx, "session."+strings.Repeat("d", 64)); err != nil {
		t.Errorf("ending what is not there: %v", err)
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
