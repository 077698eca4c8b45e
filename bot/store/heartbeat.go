package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// alivePrefix begins the subject, followed by a random name of a process, on which the process announces itself.
	alivePrefix = "lintel.alive."
	aliveEvery  = 5 * time.Second
	// aliveFor is how long a process counts after its last announcement.
	aliveFor = 4 * aliveEvery
)

// processes are the processes that announced themselves on this queue.
type processes struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// hear records a process, and reports whether it is new.
func (p *processes) hear(name string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]time.Time{}
	}
	_, known := p.seen[name]
	p.seen[name] = now
	return !known
}

func (p *processes) count(now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.seen, func(_ string, at time.Time) bool { return now.Sub(at) > aliveFor })
	return max(len(p.seen), 1)
}

// Processes is the number of processes that work on the queue, including this one.
func (q *Queue) Processes() int { return q.processes.count(time.Now()) }

// announceProcess announces this process to the others and records theirs, until stop is called. A process answers the
// first announcement of another one, so that this one knows all before it begins.
func (q *Queue) announceProcess(ctx context.Context) (stop func(), err error) {
	name := rand.Text()
	q.processes.hear(name, time.Now())
	say := func() { _ = q.conn.Publish(alivePrefix+name, nil) }
	subscription, err := q.conn.Subscribe(alivePrefix+"*", func(m *nats.Msg) {
		if q.processes.hear(m.Subject[len(alivePrefix):], time.Now()) {
			say()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribing to the other servers: %w", err)
	}
	say()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				q.processes.hear(name, time.Now())
				say()
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		_ = subscription.Unsubscribe()
	}, nil
}
