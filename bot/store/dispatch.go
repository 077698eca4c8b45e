package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// wakePrefix begins the subject, followed by an installation, on which processes announce new jobs. An announcement may
// be lost, since processes also poll.
const wakePrefix = "lintel.wake."

// wake tells all processes that there is a job.
func (q *Queue) wake(installation int64) {
	_ = q.conn.Publish(wakePrefix+strconv.FormatInt(installation, 10), nil)
}

// Work passes jobs to the handler until ctx ends: at most workers at a time, and one for each key. Installations take
// turns. A single installation may use all workers. If another one has waited for longer than Config.Courtesy without a
// worker, the context of a job ends whose installation has several, and that job is started again later. Work returns
// when all handlers have returned and their jobs are done or returned to the queue. It fails if the connection was
// closed.
func (q *Queue) Work(ctx context.Context, workers int, handle Handler) error {
	workers = max(workers, 1)
	l := &tenants{queue: q, byID: map[int64]*tenant{}}
	owner := rand.Text()
	announced := make(chan *nats.Msg, 1024)
	subscription, err := q.conn.ChanSubscribe(wakePrefix+"*", announced)
	if err != nil {
		return fmt.Errorf("subscribing to the job queue: %w", err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	leave, err := q.announceProcess(ctx)
	if err != nil {
		return err
	}
	defer leave()

	type end struct {
		key Key
		outcome
	}
	ended := make(chan end, workers)
	running := 0
	defer func() {
		for ; running > 0; running-- {
			<-ended
		}
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if !time.Now().Before(l.nextSearch) {
			if q.conn.IsClosed() {
				return fmt.Errorf("working on the job queue: %w", nats.ErrConnectionClosed)
			}
			if err := l.search(ctx); err != nil && ctx.Err() == nil {
				q.config.Log.Warn("the job queue does not answer", "error", err)
			}
		}
		idle := time.Now().Before(l.idle)
		for running < workers && !idle {
			working, yield := context.WithCancelCause(ctx)
			key, found := l.take(ctx, func() { yield(errYielded) })
			if !found {
				yield(nil)
				break
			}
			running++
			go func() {
				defer yield(nil)
				ended <- end{key, q.process(working, key, owner, handle)}
			}()
		}
		l.preempt(ctx, time.Now(), running < workers)
		timer.Reset(l.untilNext(time.Now(), running < workers && !idle))
		select {
		case <-ctx.Done():
			return nil
		case e := <-ended:
			running--
			l.settle(e.key, e.outcome)
		case m := <-announced:
			if id, err := strconv.ParseInt(m.Subject[len(wakePrefix):], 10, 64); err == nil {
				l.tenant(id).awake = true
			}
		case <-timer.C:
		}
	}
}

// Drop removes the jobs of an installation, or of one repository unless that is zero. A running job finds out by
// Superseded.
func (q *Queue) Drop(ctx context.Context, installation, repository int64) error {
	subject := prefix + strconv.FormatInt(installation, 10) + ".>"
	if repository != 0 {
		subject = prefix + strconv.FormatInt(installation, 10) + "." + strconv.FormatInt(repository, 10) + ".*"
	}
	err := q.do(ctx, requestFor, func(ctx context.Context) error {
		return q.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
	if err != nil {
		return fmt.Errorf("removing jobs: %w", err)
	}
	return nil
}

// Depth is the number of jobs in the queue.
type Depth struct {
	Waiting int       // not in work, postponed ones included
	InWork  int       // in work, over all processes
	Oldest  time.Time // when the oldest of them was published; zero when there is none
}

// Depth asks the server; an error means that the queue is out of reach.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	jobs, err := q.stream.Info(ctx)
	var leases *jetstream.StreamInfo
	if err == nil {
		leases, err = q.leases.stream.Info(ctx)
	}
	if err != nil {
		return Depth{}, fmt.Errorf("reading the depth of the queue: %w", err)
	}
	d := Depth{InWork: min(int(leases.State.Msgs), int(jobs.State.Msgs))}
	d.Waiting = int(jobs.State.Msgs) - d.InWork
	if jobs.State.Msgs > 0 {
		d.Oldest = jobs.State.FirstTime
	}
	return d, nil
}

// Ready reports whether jobs can be stored and taken. What is only read may be answered by a server that lost the others
// of its cluster, so it removes what does not exist from each stream that a job needs, which they have to agree to.
func (q *Queue) Ready(ctx context.Context) error {
	streams, ctx := errgroup.WithContext(ctx)
	for _, s := range []struct {
		stream  jetstream.Stream
		subject string
	}{{q.stream, prefix + "0.0.0"}, {q.leases.stream, q.leases.subject("0")}, {q.state.stream, q.state.subject("0")},
		{q.pushers.stream, q.pushers.subject("0")}} {
		streams.Go(func() error {
			return q.repeat(ctx, requestTry, func(ctx context.Context) error {
				return s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.subject))
			})
		})
	}
	if err := streams.Wait(); err != nil {
		return fmt.Errorf("writing to the job queue: %w", err)
	}
	return nil
}

const (
	// alivePrefix begins the subject, followed by a random name of a process, on which the process announces itself.
	alivePrefix = "lintel.alive."
	aliveEvery  = 5 * time.Second
	// aliveFor is how long a process counts after its last announcement.
	aliveFor = 4 * aliveEvery
)

// processes are the processes that announced themselves on this queue, by name, with the time.
type processes struct{ seen sync.Map }

// hear records a process, and reports whether it is new.
func (p *processes) hear(name string, now time.Time) bool {
	_, known := p.seen.Swap(name, now)
	return !known
}

func (p *processes) count(now time.Time) (n int) {
	for name, at := range p.seen.Range {
		if now.Sub(at.(time.Time)) <= aliveFor {
			n++
		} else {
			p.seen.CompareAndDelete(name, at)
		}
	}
	return max(n, 1)
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
