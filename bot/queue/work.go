package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// settleTimeout is for telling the server what became of a job, also when the work was canceled.
	settleTimeout = 5 * time.Second
	minLater      = time.Second
	maxLater      = 2 * time.Hour
)

// parked is a job that waits, alive, until the older one of its key is done.
type parked struct {
	msg  jetstream.Msg
	stop context.CancelFunc // ends its heartbeat
}

// process works on a message and on those of the same key that arrive meanwhile. It returns for how long the
// installation is to be left in peace.
func (q *Queue) process(ctx context.Context, msg jetstream.Msg, handle Handler) (pause time.Duration) {
	key, err := parseKey(msg.Subject())
	if err != nil {
		q.config.Log.Error("a message in the job queue is no job", "error", err)
		_ = msg.Term()
		return 0
	}
	if !q.begin(ctx, key, msg) {
		return 0
	}
	for msg != nil {
		pause = max(pause, q.run(ctx, key, msg, handle))
		msg = q.next(key)
	}
	return pause
}

// begin reports whether the key is free. If not, the message is parked; one that was parked before is
// forgotten, since the stream has replaced it.
func (q *Queue) begin(ctx context.Context, key Key, msg jetstream.Msg) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, taken := q.busy[key]
	if !taken {
		q.busy[key] = nil
		return true
	}
	if waiting != nil {
		waiting.stop()
	}
	alive, stop := context.WithCancel(ctx)
	q.busy[key] = &parked{msg: msg, stop: stop}
	go q.heartbeat(alive, msg, nil, stop)
	return false
}

// next frees the key or returns the message that waits for it.
func (q *Queue) next(key Key) jetstream.Msg {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.busy[key]
	if waiting == nil {
		delete(q.busy, key)
		return nil
	}
	q.busy[key] = nil
	waiting.stop()
	return waiting.msg
}

// run works on one message and settles it. It returns for how long the installation is to be left in peace.
func (q *Queue) run(ctx context.Context, key Key, msg jetstream.Msg, handle Handler) (pause time.Duration) {
	if ctx.Err() != nil {
		q.handBack(ctx, msg, 0)
		return 0
	}
	log := q.config.Log.With("job", key.String())
	job, held, err := q.take(ctx, key, msg)
	switch {
	case err != nil:
		// The server did not answer; should this fail, too, the job comes back by itself.
		log.Warn("a job could not be taken", "error", err)
		q.handBack(ctx, msg, q.config.Occupied)
		return 0
	case job == nil:
		// Replaced by a newer one, or done by a delivery that was thought dead.
		_ = msg.Ack()
		return 0
	case held == nil:
		q.handBack(ctx, msg, q.config.Occupied)
		return 0
	}

	working, cancel := context.WithCancelCause(ctx)
	beating, quiet := context.WithCancel(working)
	var heart sync.WaitGroup
	heart.Go(func() { q.heartbeat(beating, msg, held, func() { cancel(errLost) }) })
	err = guard(working, job, handle)
	quiet()
	heart.Wait()

	ended := working.Err() != nil
	cancel(nil)
	settling, done := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer done()
	held.release(settling)
	var later *Later
	switch {
	case err == nil:
		q.fulfil(settling, job)
		if err := msg.DoubleAck(settling); err != nil {
			log.Warn("a finished job could not be taken off the queue; it will run again", "error", err)
		}
	case ended:
		q.handBack(ctx, msg, 0)
	case errors.As(err, &later):
		after := min(max(later.After, minLater), maxLater)
		q.handBack(ctx, msg, after)
		if later.Pause {
			return after
		}
	default:
		if err := q.count(settling, key, job.seq, func(c *counts) { c.Errors++ }); err != nil {
			log.Warn("a failed try counts as a death of the worker", "error", err)
		}
		_ = msg.NakWithDelay(q.config.Backoff[min(job.Try-1, len(q.config.Backoff)-1)])
	}
	return 0
}

// take prepares a delivery. No job: the message is out of date. No lease: the key is in work elsewhere.
func (q *Queue) take(ctx context.Context, key Key, msg jetstream.Msg) (*Job, *lease, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, nil, err
	}
	held, err := q.acquire(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	// Only the holder of the lease takes messages off, so the order matters: first lease, then look.
	newest, err := q.newest(ctx, key)
	if err == nil && newest == meta.Sequence.Stream && held != nil {
		job := &Job{Key: key, Try: 1, Tries: q.config.Tries, queue: q, seq: newest}
		// What cannot be read leaves a job without hints; its key is enough to work on.
		_ = json.Unmarshal(msg.Data(), &job.Message)
		if meta.NumDelivered > 1 {
			err = q.tries(ctx, job, int(meta.NumDelivered))
		}
		if err == nil {
			err = q.demanded(ctx, job)
		}
		if err == nil {
			return job, held, nil
		}
	}
	if held != nil {
		held.release(ctx)
	}
	if err != nil || newest != meta.Sequence.Stream {
		return nil, nil, err
	}
	return &Job{Key: key}, nil, nil
}

// forgiven is how many deaths of the process, on top of the tries, a job survives: mostly it is not to blame.
const forgiven = 2

// tries counts the deliveries that were not pardoned.
func (q *Queue) tries(ctx context.Context, job *Job, deliveries int) error {
	c, err := q.counted(ctx, job.Key, job.seq)
	if err != nil {
		return err
	}
	job.Try = max(deliveries-c.Pardons, 1)
	deaths := max(job.Try-1-c.Errors, 0)
	job.Tries += min(deaths, forgiven)
	return nil
}

// handBack puts a job back without counting the delivery. It works after ctx has ended, too.
func (q *Queue) handBack(ctx context.Context, msg jetstream.Msg, after time.Duration) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer done()
	key, err := parseKey(msg.Subject())
	if err == nil {
		var meta *jetstream.MsgMetadata
		if meta, err = msg.Metadata(); err == nil {
			err = q.count(ctx, key, meta.Sequence.Stream, func(c *counts) { c.Pardons++ })
		}
	}
	if err != nil {
		q.config.Log.Warn("a job that is put back counts a try", "error", err)
	}
	_ = msg.NakWithDelay(after)
	if err := q.conn.FlushWithContext(ctx); err != nil {
		q.config.Log.Warn("a job could not be put back at once; it comes back by itself", "error", err)
	}
}

// heartbeat keeps a message, and the lease if there is one, from being given to others. It calls lost
// when the lease is.
func (q *Queue) heartbeat(ctx context.Context, msg jetstream.Msg, held *lease, lost func()) {
	ticker := time.NewTicker(max(q.config.AckWait/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_ = msg.InProgress()
		if held == nil {
			continue
		}
		switch err := held.renew(ctx, q.config.AckWait); {
		case errors.Is(err, errLost) && ctx.Err() == nil:
			lost()
			return
		case err != nil && ctx.Err() == nil:
			q.config.Log.Warn("the lease of a job could not be renewed", "error", err)
		}
	}
}

// guard turns a panic of the handler into an error, so that it costs one try and not the process.
func guard(ctx context.Context, job *Job, handle Handler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			job.queue.config.Log.Error("panic while working on a job", "job", job.Key.String(),
				"panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return handle(ctx, job)
}
