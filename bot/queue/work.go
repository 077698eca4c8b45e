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
	// pollPause is between attempts to fetch from a server that is out of reach.
	pollPause = time.Second
	minLater  = time.Second
	maxLater  = 2 * time.Hour
)

// parked is a job that waits, alive, until the older one of its key is done.
type parked struct {
	msg  jetstream.Msg
	stop context.CancelFunc // ends its heartbeat
}

// Work hands jobs to the handler, up to workers at a time and never two of one key, until ctx ends. It
// returns when all handlers have returned and their jobs are settled: done, or handed back.
func (q *Queue) Work(ctx context.Context, workers int, handle Handler) error {
	iterator, err := q.consumer.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return fmt.Errorf("subscribing to the job queue: %w", err)
	}
	defer iterator.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, max(workers, 1))
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		msg, err := iterator.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil:
			if err == nil {
				q.handBack(ctx, msg, 0)
			}
			return nil
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return fmt.Errorf("the subscription to the job queue ended: %w", err)
		case err != nil:
			q.config.Log.Warn("the job queue does not answer", "error", err)
			<-slots
			select {
			case <-time.After(pollPause):
			case <-ctx.Done():
				return nil
			}
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			q.process(ctx, msg, handle)
		})
	}
}

// process works on a message and on those of the same key that arrive meanwhile.
func (q *Queue) process(ctx context.Context, msg jetstream.Msg, handle Handler) {
	key, err := parseKey(msg.Subject())
	if err != nil {
		q.config.Log.Error("a message in the job queue is no job", "error", err)
		_ = msg.Term()
		return
	}
	if !q.begin(ctx, key, msg) {
		return
	}
	for msg != nil {
		q.run(ctx, key, msg, handle)
		msg = q.next(key)
	}
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

// run works on one message and settles it.
func (q *Queue) run(ctx context.Context, key Key, msg jetstream.Msg, handle Handler) {
	if ctx.Err() != nil {
		q.handBack(ctx, msg, 0)
		return
	}
	log := q.config.Log.With("job", key.String())
	job, held, err := q.take(ctx, key, msg)
	switch {
	case err != nil:
		// The server did not answer; should this fail, too, the job comes back by itself.
		log.Warn("a job could not be taken", "error", err)
		q.handBack(ctx, msg, q.config.Occupied)
		return
	case job == nil:
		// Replaced by a newer one, or done by a delivery that was thought dead.
		_ = msg.Ack()
		return
	case held == nil:
		q.handBack(ctx, msg, q.config.Occupied)
		return
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
		if err := msg.DoubleAck(settling); err != nil {
			log.Warn("a finished job could not be taken off the queue; it will run again", "error", err)
		}
	case ended:
		q.handBack(ctx, msg, 0)
	case errors.As(err, &later):
		q.handBack(ctx, msg, min(max(later.After, minLater), maxLater))
	default:
		_ = msg.NakWithDelay(q.config.Backoff[min(job.Try-1, len(q.config.Backoff)-1)])
	}
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
		job := &Job{Key: key, Try: int(meta.NumDelivered), Tries: q.config.Tries, queue: q, seq: newest}
		if meta.NumDelivered > 1 {
			var pardoned uint64
			pardoned, err = q.pardoned(ctx, key, newest)
			job.Try = max(job.Try-int(pardoned), 1)
		}
		if err == nil {
			// What cannot be read leaves a job without hints; its key is enough to work on.
			_ = json.Unmarshal(msg.Data(), &job.Message)
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

// handBack puts a job back without counting the delivery. It works after ctx has ended, too.
func (q *Queue) handBack(ctx context.Context, msg jetstream.Msg, after time.Duration) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer done()
	key, err := parseKey(msg.Subject())
	if err == nil {
		var meta *jetstream.MsgMetadata
		if meta, err = msg.Metadata(); err == nil {
			err = q.pardon(ctx, key, meta.Sequence.Stream)
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
