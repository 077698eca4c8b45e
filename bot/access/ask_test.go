package access

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAsker(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	a := newAsker[int, int](make(chan struct{}, 1), c.Now)
	asked := 0
	ask := func(key int, fail error) (int, error) {
		return a.ask(t.Context(), key, func(context.Context) (int, span, error) {
			asked++
			return asked, span{c.Now(), time.Minute}, fail
		})
	}
	failure := errors.New("failure")
	for i, step := range []struct {
		wait time.Duration
		fail error
		want int
		err  error
	}{
		{0, nil, 1, nil},
		{time.Minute - 1, nil, 1, nil},
		{1, failure, 2, failure},
		{failureTTL - 1, nil, 2, failure},
		{1, nil, 3, nil},
	} {
		c.add(step.wait)
		if got, err := ask(7, step.fail); got != step.want || !errors.Is(err, step.err) {
			t.Errorf("step %d: %d, %v", i, got, err)
		}
	}
	for key := range maxRemembered {
		a.remember(1000+key, 1, span{c.Now(), time.Hour})
	}
	if len(a.answers) != maxRemembered || a.order.Len() != maxRemembered {
		t.Errorf("%d answers are remembered", len(a.answers))
	}
	if _, ok := a.lookup(7); ok {
		t.Error("the oldest is still there")
	}
	// The one who asked goes; the question does not.
	gone, leave := context.WithCancel(t.Context())
	release, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, err := a.ask(gone, 8, func(ctx context.Context) (int, span, error) {
			leave()
			<-release
			return 8, span{c.Now(), time.Minute}, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("who went was told %v", err)
		}
	}()
	<-done
	close(release)
	if got, err := ask(8, nil); err != nil || got != 8 {
		t.Errorf("who stayed was told %d, %v", got, err)
	}
}

func TestSpan(t *testing.T) {
	now := time.Now() // with a reading of the steady clock
	s := span{now, time.Minute}
	for name, c := range map[string]struct {
		at   time.Time
		want bool
	}{
		"at once":            {now, true},
		"in time":            {now.Add(time.Minute - 1), true},
		"too late":           {now.Add(time.Minute), false},
		"set back by a day":  {now.Round(0).Add(-24 * time.Hour), false},
		"set ahead by a day": {now.Round(0).Add(24 * time.Hour), false},
	} {
		if got := s.holds(c.at); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestBucket(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	b := newBucket(3, 2, c.Now)
	for i, want := range []bool{true, true, true, false} {
		if got := b.take(); got != want {
			t.Errorf("%d: %t", i, got)
		}
	}
	c.add(time.Second)
	for i, want := range []bool{true, true, false} {
		if got := b.take(); got != want {
			t.Errorf("a second later, %d: %t", i, got)
		}
	}
	c.add(-time.Hour) // a clock that was set back
	if b.take() {
		t.Error("a clock that goes back fills it")
	}
}
