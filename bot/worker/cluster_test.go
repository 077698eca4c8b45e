package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// Servers of a NATS cluster are stopped and come back while two processes work: no key is in work twice at a time,
// and the newest job of each is worked on last.
func TestClusterOfQueues(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	nats := newNATSCluster(t)
	c := newColleagues(t, nats.url(), 2)
	for round := range 3 {
		c.publish(2)
		nats.stop(round)
		c.publish(3)
		nats.start(round)
		nats.await()
	}
	c.await()
}

// The same when servers die without a word: one, two, or all three at a time.
func TestClusterOfQueuesDiesHard(t *testing.T) {
	if !*soak {
		t.Skip("two minutes; run with -soak")
	}
	nats := newNATSProcesses(t)
	c := newColleagues(t, nats.url(), 3)
	for round := range 9 {
		c.publish(2)
		victims := rand.Perm(3)[:round%3+1]
		for _, n := range victims {
			nats.kill(n)
		}
		if len(victims) == 1 {
			c.publish(2)
		}
		for _, n := range victims {
			nats.start(n)
		}
		if len(victims) < 3 { // what was answered before all of them died has to be there
			c.publish(1)
		}
		took := c.await()
		t.Logf("%d servers died: all done after %s", len(victims), took.Round(time.Millisecond))
		if took > 20*time.Second {
			t.Errorf("the newest jobs took %s", took)
		}
	}
}

// colleagues are processes, as far as the queue knows, that share the work on a few keys.
type colleagues struct {
	t      *testing.T
	ctx    context.Context
	queues []*store.Queue
	events int

	mu     sync.Mutex
	active map[store.Key]bool
	last   map[store.Key]int
	worked chan struct{}
}

const colleaguesKeys = 12

func newColleagues(t *testing.T, url string, count int) *colleagues {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	c := &colleagues{t: t, ctx: ctx, active: map[store.Key]bool{}, last: map[store.Key]int{},
		worked: make(chan struct{}, 1)}
	var workers sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		workers.Wait()
		for _, q := range c.queues {
			q.Close()
		}
	})
	for range count {
		q, err := store.Open(ctx, store.Config{URL: url, AckWait: 3 * time.Second, Occupied: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		c.queues = append(c.queues, q)
		workers.Go(func() {
			if err := q.Work(ctx, 3, c.handle); err != nil {
				t.Error(err)
			}
		})
	}
	return c
}

func (c *colleagues) handle(ctx context.Context, j *store.Job) error {
	c.mu.Lock()
	if c.active[j.Key] {
		c.t.Errorf("%s is in work twice", j.Key)
	}
	c.active[j.Key] = true
	c.mu.Unlock()
	select {
	case <-time.After(rand.N(100 * time.Millisecond)):
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active[j.Key] = false
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n, err := strconv.Atoi(j.Message.Event)
	if err != nil || n < c.last[j.Key] {
		c.t.Errorf("%s: job %q after %d", j.Key, j.Message.Event, c.last[j.Key])
	}
	c.last[j.Key] = n
	select {
	case c.worked <- struct{}{}:
	default:
	}
	return nil
}

func (c *colleagues) key(n int) store.Key {
	return store.Key{Installation: int64(n%3 + 1), Repository: 1, Target: forge.Target{Number: n + 1}}
}

// publish publishes a job of each key, that often. What was answered is stored, whatever dies.
func (c *colleagues) publish(times int) {
	c.t.Helper()
	for range times {
		c.events++
		for n := range colleaguesKeys {
			message := store.Message{Event: strconv.Itoa(c.events)}
			if err := c.queues[n%len(c.queues)].Publish(c.ctx, c.key(n), message, fmt.Sprintf("d-%d", c.events)); err != nil {
				c.t.Fatalf("event %d: %v", c.events, err)
			}
		}
	}
}

// await waits until the newest job of each key was worked on and is off the queue, and says how long that took.
func (c *colleagues) await() time.Duration {
	c.t.Helper()
	begun := time.Now()
	late := time.After(time.Minute)
	for {
		c.mu.Lock()
		done := 0
		for n := range colleaguesKeys {
			if c.last[c.key(n)] == c.events {
				done++
			}
		}
		c.mu.Unlock()
		if done == colleaguesKeys {
			break
		}
		select {
		case <-c.worked:
		case <-late:
			c.t.Fatalf("%d of %d keys had their newest job", done, colleaguesKeys)
		}
	}
	for n := range colleaguesKeys {
		for {
			has, err := c.queues[0].Has(c.ctx, c.key(n))
			if err == nil && !has {
				break
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-late:
				c.t.Fatalf("%s stays in the queue: %v", c.key(n), err)
			}
		}
	}
	return time.Since(begun)
}

// A queue is not ready without a majority of its servers, though each of them still answers what is only read. It is
// again when they are back, also with empty disks.
func TestReadyNeedsMajority(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	nats := newNATSCluster(t)
	q, err := store.Open(t.Context(), store.Config{URL: nats.url()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	ready := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
		defer cancel()
		return q.Ready(ctx)
	}
	await := func(when string) {
		for late := time.Now().Add(30 * time.Second); ready() != nil; <-time.After(200 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("not ready %s: %v", when, ready())
			}
		}
	}
	await("at first")
	nats.stop(0)
	await("with two of three")
	nats.stop(1)
	for range 8 {
		if ready() == nil {
			t.Error("ready with one of three")
		}
	}
	nats.stop(2)
	for n := range 3 {
		nats.members[n].Dir = t.TempDir()
		nats.start(n)
	}
	await("with three empty ones")
	if err := q.Publish(t.Context(), store.Key{Installation: 1, Repository: 1, Target: forge.Target{Number: 1}}, store.Message{}, ""); err != nil {
		t.Error(err)
	}
}
