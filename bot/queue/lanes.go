package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pollPause is between looks for jobs that nothing announced: put back, or left behind by a dead process.
	pollPause = time.Second
	// laneTry bounds the preparation of a lane, during which no job of another is begun.
	laneTry = time.Second
	// idleLane is after how long without any worker the server forgets how far a lane is; its jobs stay.
	idleLane = 7 * 24 * time.Hour
)

// lane is the queue of one installation, with a consumer of its own: a worker that is free takes its next job
// from the lane with the fewest jobs in work, so that a busy installation does not starve the others.
type lane struct {
	id       int64
	consumer jetstream.Consumer // nil before the first use
	awake    bool               // it may hold a job that can be taken
	quiet    time.Time          // take nothing before
	working  int                // jobs in work here
	turn     uint64             // when it was served last
}

// lanes are the lanes that this process knows. Only the goroutine of Work uses them, except for done.
type lanes struct {
	queue *Queue
	byID  map[int64]*lane
	turns uint64
	ended chan ended // from the goroutines of jobs
}

// ended tells that a job of a lane is settled.
type ended struct {
	id    int64
	pause time.Duration // GitHub wants no requests of this installation for so long
}

func (l *lanes) wake(id int64) {
	if l.byID[id] == nil {
		l.byID[id] = &lane{id: id}
	}
	l.byID[id].awake = true
}

// settle takes note of the end of a job.
func (l *lanes) settle(e ended) {
	at := l.byID[e.id]
	at.working--
	at.awake = true
	if until := time.Now().Add(e.pause); e.pause > 0 && until.After(at.quiet) {
		at.quiet = until
	}
}

// pick returns the lane whose turn it is, nil when none may have a job.
func (l *lanes) pick() (best *lane) {
	now := time.Now()
	for _, at := range l.byID {
		if !at.awake || now.Before(at.quiet) {
			continue
		}
		if best == nil || at.working < best.working || at.working == best.working && at.turn < best.turn {
			best = at
		}
	}
	return best
}

// next takes a job, or returns nil when there is none to take now.
func (l *lanes) next(ctx context.Context) (jetstream.Msg, *lane) {
	for ctx.Err() == nil {
		at := l.pick()
		if at == nil {
			return nil, nil
		}
		l.turns++
		at.turn = l.turns
		msg, err := l.take(ctx, at)
		if msg != nil {
			at.working++
			return msg, at
		}
		at.awake = false // until a job is announced or found by looking
		if err != nil && ctx.Err() == nil {
			at.consumer = nil // it may be gone
			l.queue.config.Log.Warn("the job queue does not answer", "installation", at.id, "error", err)
		}
	}
	return nil, nil
}

func (l *lanes) take(ctx context.Context, at *lane) (jetstream.Msg, error) {
	var err error
	if at.consumer == nil {
		if at.consumer, err = l.queue.laneConsumer(ctx, at.id); err != nil {
			return nil, err
		}
	}
	batch, err := at.consumer.FetchNoWait(1)
	if err != nil {
		return nil, err
	}
	for msg := range batch.Messages() {
		return msg, nil
	}
	return nil, batch.Error()
}

// look wakes every lane that has jobs in the stream.
func (l *lanes) look(ctx context.Context) error {
	info, err := l.queue.stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if id, ok := installationOf(subject); ok {
			l.wake(id)
		}
	}
	return nil
}

func installationOf(subject string) (int64, bool) {
	rest, ok := strings.CutPrefix(subject, prefix)
	first, _, more := strings.Cut(rest, ".")
	id, err := strconv.ParseInt(first, 10, 64)
	return id, ok && more && err == nil
}

// laneConsumer finds the consumer of an installation, or makes it. It looks first: a cluster that has just lost
// a server may leave a request to make what is there without an answer.
func (q *Queue) laneConsumer(ctx context.Context, id int64) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, laneTry)
	defer cancel()
	name := consumerPrefix + strconv.FormatInt(id, 10)
	found, err := q.stream.Consumer(ctx, name)
	if err == nil {
		return found, nil
	}
	if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, fmt.Errorf("looking for the jobs of installation %d: %w", id, err)
	}
	c, err := q.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: prefix + strconv.FormatInt(id, 10) + ".>",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       q.config.AckWait,
		// Postponed jobs count as pending and deliveries that were no fault of the job count as
		// deliveries, so both limits are kept here and not by the server.
		MaxDeliver:        -1,
		MaxAckPending:     -1,
		InactiveThreshold: idleLane,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the jobs of installation %d: %w", id, err)
	}
	return c, nil
}

// Work hands jobs to the handler, up to workers at a time and never two of one key, until ctx ends.
// Installations take turns. It returns when all handlers have returned and their jobs are settled: done, or
// handed back. An error means that the connection was closed.
func (q *Queue) Work(ctx context.Context, workers int, handle Handler) error {
	workers = max(workers, 1)
	l := &lanes{queue: q, byID: map[int64]*lane{}, ended: make(chan ended, workers)}
	// Whatever is published to the stream passes by here, too; what does not is found by looking.
	announced := make(chan *nats.Msg, 1024)
	subscription, err := q.conn.ChanSubscribe(prefix+">", announced)
	if err != nil {
		return fmt.Errorf("subscribing to the job queue: %w", err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	ticker := time.NewTicker(pollPause)
	defer ticker.Stop()

	running := 0
	defer func() {
		for ; running > 0; running-- {
			<-l.ended
		}
	}()
	if err := l.look(ctx); err != nil && ctx.Err() == nil {
		q.config.Log.Warn("the job queue does not answer", "error", err)
	}
	for {
		for running < workers {
			msg, at := l.next(ctx)
			if msg == nil {
				break
			}
			running++
			go func() { l.ended <- ended{at.id, q.process(ctx, msg, handle)} }()
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-l.ended:
			running--
			l.settle(e)
		case m := <-announced:
			if id, ok := installationOf(m.Subject); ok {
				l.wake(id)
			}
		case <-ticker.C:
			if q.conn.IsClosed() {
				return fmt.Errorf("working on the job queue: %w", nats.ErrConnectionClosed)
			}
			if err := l.look(ctx); err != nil && ctx.Err() == nil {
				q.config.Log.Warn("the job queue does not answer", "error", err)
			}
		}
	}
}

// Drop removes the jobs of an installation, or of one of its repositories unless that is zero. A job in work
// learns of it by Superseded.
func (q *Queue) Drop(ctx context.Context, installation, repository int64) error {
	subject := prefix + strconv.FormatInt(installation, 10) + ".>"
	if repository != 0 {
		subject = prefix + strconv.FormatInt(installation, 10) + "." + strconv.FormatInt(repository, 10) + ".*"
	}
	if err := q.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		return fmt.Errorf("dropping jobs: %w", err)
	}
	return nil
}

// Depth is how much there is to do.
type Depth struct {
	Waiting int       // not yet delivered
	Taken   int       // in work or postponed, over all processes
	Oldest  time.Time // when the oldest of them was published; zero when there is none
}

// Depth asks the server; an error means that the queue is out of reach.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	info, err := q.stream.Info(ctx)
	if err != nil {
		return Depth{}, fmt.Errorf("asking for the depth of the queue: %w", err)
	}
	d := Depth{}
	if info.State.Msgs > 0 {
		d.Oldest = info.State.FirstTime
	}
	consumers := q.stream.ListConsumers(ctx)
	for c := range consumers.Info() {
		d.Taken += c.NumAckPending
	}
	if err := consumers.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return Depth{}, fmt.Errorf("asking for the depth of the queue: %w", err)
	}
	// The consumers' own counts of what waits lag behind the stream.
	d.Waiting = max(int(info.State.Msgs)-d.Taken, 0)
	return d, nil
}

// Ready reports whether the queue answers.
func (q *Queue) Ready(ctx context.Context) error {
	if _, err := q.stream.Info(ctx); err != nil {
		return fmt.Errorf("asking the job queue: %w", err)
	}
	return nil
}
