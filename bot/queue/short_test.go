package queue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Where GitHub lets fewer jobs through than come, the newest is begun first; a lane that caught up is in order again.
func TestShortLaneBeginsWithTheNewest(t *testing.T) {
	q := open(t, Config{})
	key := func(n int) Key { return Key{Installation: 7, Repository: 11, Number: n} }
	for n := 1; n <= 5; n++ {
		publish(t, q, key(n), "")
	}
	var order []int
	tried := map[int]bool{}
	got := make(chan int, 20)
	work(t, q, 1, func(_ context.Context, j *Job) error {
		n := j.Key.Number
		if !tried[n] && len(tried) == 0 { // GitHub wants no requests for a while
			tried[n] = true
			return &Later{After: time.Second, Pause: true, Err: errors.New("limit")}
		}
		got <- n
		return nil
	})
	for range 5 {
		order = append(order, receive(t, got, "a job"))
	}
	if want := []int{5, 4, 3, 2, 1}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// All processes that work on a queue know how many they are.
func TestPeers(t *testing.T) {
	now := time.Now()
	var p peers
	if p.count(now) != 1 {
		t.Error("nobody counts as one: this process")
	}
	p.hear("a", now)
	p.hear("b", now)
	p.hear("b", now)
	if n := p.count(now.Add(aliveFor)); n != 2 {
		t.Errorf("%d, want 2", n)
	}
	p.hear("a", now.Add(aliveFor))
	if n := p.count(now.Add(aliveFor + 1)); n != 1 {
		t.Errorf("%d after one has been silent, want 1", n)
	}

	url := natsServer(t)
	idle := func(context.Context, *Job) error { return nil }
	one, two := open(t, Config{URL: url}), open(t, Config{URL: url})
	work(t, one, 1, idle)
	work(t, two, 1, idle)
	for _, q := range []*Queue{one, two} {
		for late := time.After(10 * time.Second); q.Peers() != 2; {
			select {
			case <-time.After(time.Millisecond):
			case <-late:
				t.Fatalf("%d processes, want 2", q.Peers())
			}
		}
	}
}

// Jobs of one installation that do not end leave a worker to the others.
func TestLastWorkerIsForOthers(t *testing.T) {
	q := open(t, Config{})
	key := func(installation int64, n int) Key { return Key{Installation: installation, Repository: 11, Number: n} }
	got := make(chan Key, 20)
	release := make(chan struct{})
	publish(t, q, key(8, 1), "")
	work(t, q, 3, func(ctx context.Context, j *Job) error {
		got <- j.Key
		if j.Key.Installation == 7 {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return nil
	})
	receive(t, got, "the first job of the other")
	for n := 1; n <= 5; n++ {
		publish(t, q, key(7, n), "")
	}
	receive(t, got, "a long job")
	receive(t, got, "another long job")
	for n := 2; n <= 4; n++ {
		publish(t, q, key(8, n), "")
		if k := receive(t, got, "a job of the other"); k.Installation != 8 {
			t.Errorf("%v took the last worker", k)
		}
	}
	close(release)
	for range 3 {
		if k := receive(t, got, "the rest"); k.Installation != 7 {
			t.Errorf("%v is done twice", k)
		}
	}
}
