package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// The stored values stay below the limit, and the most recently used ones are kept.
func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	c := NewCache[string](CacheConfig[int]{Limit: 100, Weight: func(n int) int64 { return int64(n) }, Places: make(chan struct{}, 1),
		Wait: time.Second, Timeout: time.Minute})
	made := 0
	get := func(key string, size int) {
		t.Helper()
		got, err := c.Ask(t.Context(), key, func(context.Context) (int, Span, error) { made++; return size, Span{}, nil })
		if err != nil || got != size {
			t.Fatalf("%d, %v", got, err)
		}
	}
	for i := range 10 {
		get("used", 20)
		get(fmt.Sprint(i), 25)
	}
	if c.weight > 100 || made != 11 || len(c.entries) != c.order.Len() {
		t.Errorf("%d bytes, made %d times, %d of %d", c.weight, made, len(c.entries), c.order.Len())
	}
	get("large", 26)
	get("large", 26)
	if made != 13 || c.weight > 100 {
		t.Errorf("what is too large is kept: made %d times", made)
	}
	if _, err := c.Ask(t.Context(), "panic", func(context.Context) (int, Span, error) { panic("no") }); err == nil {
		t.Error("a panic is no error")
	}
	if _, ok := c.Get("used"); !ok {
		t.Error("what was used last is not there")
	}
	c.Clear()
	if _, ok := c.Get("used"); ok || c.weight != 0 {
		t.Errorf("something is left, of %d", c.weight)
	}
}

// A request beyond the limits fails at once with ErrBusy.
func TestCacheBusy(t *testing.T) {
	c := NewCache[int](CacheConfig[int]{Limit: 100, Places: make(chan struct{}, 1), Most: 2, Wait: time.Millisecond,
		Timeout: time.Minute})
	held, begun := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = c.Ask(t.Context(), 1, func(context.Context) (int, Span, error) { close(begun); <-held; return 1, Span{}, nil })
	}()
	<-begun
	get := func(context.Context) (int, Span, error) { return 2, Span{}, nil }
	if _, err := c.Ask(t.Context(), 2, get); !errors.Is(err, ErrBusy) {
		t.Errorf("without a place: %v", err)
	}
	c.config.Wait = time.Minute
	waiting := make(chan error)
	go func() { _, err := c.Ask(t.Context(), 2, get); waiting <- err }()
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		c.mu.Lock()
		n := len(c.getting)
		c.mu.Unlock()
		if n == 2 {
			break
		}
	}
	if _, err := c.Ask(t.Context(), 3, get); !errors.Is(err, ErrBusy) {
		t.Errorf("too many: %v", err)
	}
	close(held)
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// Values are valid for their span, errors for a moment; a fetch continues when its caller leaves.
func TestCacheRemembersFailures(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := NewCache[int](CacheConfig[int]{Limit: 20, Now: func() time.Time { return now }, Places: make(chan struct{}, 1),
		Wait: time.Minute, Timeout: time.Minute, Failure: time.Second})
	asked := 0
	ask := func(key int, fail error) (int, error) {
		return c.Ask(t.Context(), key, func(context.Context) (int, Span, error) {
			asked++
			return asked, Span{From: now, Life: map[bool]time.Duration{true: time.Minute}[fail == nil]}, fail
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
		{time.Second - 1, nil, 2, failure},
		{1, nil, 3, nil},
	} {
		now = now.Add(step.wait)
		if got, err := ask(7, step.fail); got != step.want || !errors.Is(err, step.err) {
			t.Errorf("step %d: %d, %v", i, got, err)
		}
	}
	for key := range 20 {
		c.Put(1000+key, 1, Span{From: now, Life: time.Hour})
	}
	if _, ok := c.Get(7); ok || len(c.entries) != 20 {
		t.Errorf("%d answers are remembered, the oldest among them %t", len(c.entries), ok)
	}
	gone, leave := context.WithCancel(t.Context())
	release, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, err := c.Ask(gone, 8, func(ctx context.Context) (int, Span, error) {
			leave()
			<-release
			return 8, Span{From: now, Life: time.Minute}, ctx.Err()
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
	s := Span{now, time.Minute}
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
		if got := s.Holds(c.at); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
