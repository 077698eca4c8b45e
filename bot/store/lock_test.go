package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLockAdmitsOneAtATime(t *testing.T) {
	q := open(t, Config{})
	shared := Key{Installation: 7, Repository: 11, Commit: "0123456789abcdef0123456789abcdef01234567"}
	var inside, most atomic.Int32
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			job := &Job{Key: one, queue: q, Sequence: uint64(i + 1)}
			if err := job.Exclusively(t.Context(), shared, func(context.Context) error {
				most.Store(max(most.Load(), inside.Add(1)))
				time.Sleep(20 * time.Millisecond) // time for another to come in if it could
				inside.Add(-1)
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d were alone at the same time", most.Load())
	}
	want := errors.New("what do says")
	if err := (&Job{queue: q, Sequence: 9}).Exclusively(t.Context(), shared, func(context.Context) error { return want }); err != want {
		t.Errorf("got %v, want what do returned", err)
	}
}

// A job that gets no turn, or loses it, is delivered again later.
func TestLockTimesOut(t *testing.T) {
	q := open(t, Config{AckWait: 400 * time.Millisecond})
	shared := Key{Installation: 7, Repository: 11, Commit: "0123456789abcdef0123456789abcdef01234567"}
	job := &Job{Key: one, queue: q, Sequence: 1}
	err := job.Exclusively(t.Context(), shared, func(ctx context.Context) error {
		_, revision, err := q.leases.Get(ctx, shared.String())
		if err != nil {
			return err
		}
		if err := q.remove(ctx, q.leases.stream, revision); err != nil {
			return err
		}
		if held, err := q.acquire(ctx, shared, "another"); held == nil {
			return errors.Join(errors.New("another did not get it"), err)
		}
		<-ctx.Done()
		return ctx.Err()
	})
	var later *Later
	if !errors.As(err, &later) {
		t.Errorf("a lost turn is %v, want *Later", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := job.Exclusively(ended, one, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// The turn of a holder that panics ends, so that the key is not locked for the rest of the process.
func TestLockEndsWithAPanic(t *testing.T) {
	q := open(t, Config{AckWait: 400 * time.Millisecond})
	shared := Key{Installation: 7, Repository: 11, Commit: "0123456789abcdef0123456789abcdef01234567"}
	job := &Job{Key: one, queue: q, Sequence: 1}
	if err := guard(t.Context(), job, func(ctx context.Context, j *Job) error {
		return j.Exclusively(ctx, shared, func(context.Context) error { panic("a defect") })
	}); err == nil {
		t.Fatal("no panic")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	next := &Job{Key: one, queue: q, Sequence: 2}
	if err := next.Exclusively(ctx, shared, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next one: %v", err)
	}
}
