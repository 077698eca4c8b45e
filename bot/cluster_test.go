package bot_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/queue"
)

// Servers of a NATS cluster die and come back while two processes work: no key is in work twice at a time, and
// the newest job of each is worked on last.
func TestClusterOfQueues(t *testing.T) {
	if !*soak {
		t.Skip("a known fault, about one run in three: after servers of a NATS cluster died, a job can stay in its lane until the sweep publishes it again; run with -soak")
	}
	const keys, rounds = 12, 3
	nats := newNATSCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	active, last := map[queue.Key]bool{}, map[queue.Key]int{}
	worked := make(chan struct{}, 1)
	handle := func(ctx context.Context, j *queue.Job) error {
		mu.Lock()
		if active[j.Key] {
			t.Errorf("%s is in work twice", j.Key)
		}
		active[j.Key] = true
		mu.Unlock()
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
		mu.Lock()
		defer mu.Unlock()
		active[j.Key] = false
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := strconv.Atoi(j.Message.Event)
		if err != nil || n < last[j.Key] {
			t.Errorf("%s: job %q after %d", j.Key, j.Message.Event, last[j.Key])
		}
		last[j.Key] = n
		select {
		case worked <- struct{}{}:
		default:
		}
		return nil
	}
	var queues []*queue.Queue
	var workers sync.WaitGroup
	working, stop := context.WithCancel(ctx)
	defer func() { stop(); workers.Wait() }()
	for range 2 {
		q, err := queue.Open(ctx, queue.Config{URL: nats.url(), AckWait: 3 * time.Second, Occupied: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		queues = append(queues, q)
		workers.Go(func() {
			if err := q.Work(working, 3, handle); err != nil {
				t.Error(err)
			}
		})
	}
	key := func(n int) queue.Key {
		return queue.Key{Installation: int64(n%3 + 1), Repository: 1, Number: n + 1}
	}
	events := 0
	for round := range rounds {
		for step := range 5 {
			if step == 2 {
				nats.stop(round)
			}
			events++
			for n := range keys {
				// What was answered is stored, whatever dies.
				if err := queues[n%2].Publish(ctx, key(n), queue.Message{Event: strconv.Itoa(events)}, fmt.Sprintf("d-%d", events)); err != nil {
					t.Fatalf("event %d: %v", events, err)
				}
			}
		}
		nats.start(round)
		for !nats.settled() {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				t.Fatal("the NATS cluster did not find itself again")
			}
		}
	}
	for {
		mu.Lock()
		done := 0
		for n := range keys {
			if last[key(n)] == events {
				done++
			}
		}
		mu.Unlock()
		if done == keys {
			break
		}
		select {
		case <-worked:
		case <-ctx.Done():
			t.Fatalf("%d of %d keys had their newest job", done, keys)
		}
	}
}
