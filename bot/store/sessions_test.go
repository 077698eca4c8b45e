package store

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Sessions survive a restart. They end on all servers, one or all of an account, and leave nothing behind.
func TestSessions(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	q, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := q.Sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"session.7.a", "session.7.b", "session.77.a"} {
		if err := s.Put(ctx, n, []byte("alice")); err != nil {
			t.Fatal(err)
		}
	}
	second, _, err := q.Sessions(ctx) // as another server has them
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Remove(ctx, "session.7.b"); err != nil {
		t.Fatal(err)
	}
	if keys, err := second.Keys(ctx, "session.7.*"); len(keys) != 1 || err != nil {
		t.Errorf("%q of an account, %v", keys, err)
	}
	q.Close()

	q = open(t, Config{Dir: dir})
	if s, _, err = q.Sessions(ctx); err != nil {
		t.Fatal(err)
	}
	sees := func(want map[string]string) {
		t.Helper()
		for n, want := range want {
			if got, _, err := s.Get(ctx, n); err != nil || string(got) != want {
				t.Errorf("session %q: %q, %v, want %q", n, got, err, want)
			}
		}
	}
	sees(map[string]string{"session.7.a": "alice", "session.7.b": "", "session.7.c": "", "session.77.a": "alice"})
	if err := s.Remove(ctx, "session.7.d"); err != nil {
		t.Errorf("ending what is not there: %v", err)
	}
	if err := s.Remove(ctx, "session.7.*"); err != nil {
		t.Error(err)
	}
	sees(map[string]string{"session.7.a": "", "session.77.a": "alice"})
	if err := s.Remove(ctx, "session.77.a"); err != nil {
		t.Fatal(err)
	}
	if info, err := s.stream.Info(ctx); err != nil || info.State.Msgs != 0 {
		t.Errorf("%+v are left of ended sessions, %v", info.State, err)
	}
}

// Of many concurrent or later claims of one name, exactly one is the first.
func TestOnce(t *testing.T) {
	_, used, err := open(t, Config{}).Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var first atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if ok, err := used.Update(t.Context(), "state.a", nil, 0); err != nil {
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
	if ok, err := used.Update(t.Context(), "state.b", nil, 0); !ok || err != nil {
		t.Errorf("another name: %t, %v", ok, err)
	}
}
