package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	// settleTimeout limits storing the outcome of a job when the process ends.
	settleTimeout = 5 * time.Second
	minLater      = time.Second
	maxLater      = 2 * time.Hour
)

// errYielded ends the work on a job whose worker is for another installation.
var errYielded = errors.New("the worker was given to another installation")

// process works on the newest job of a key, if there is one and no other process works on it.
func (q *Queue) process(ctx context.Context, key Key, owner string, handle Handler) outcome {
	soon := outcome{again: time.Now().Add(q.config.Occupied)}
	held, err := q.acquire(ctx, key, owner)
	if err != nil && ctx.Err() == nil {
		q.config.Log.Warn("a job could not be taken", "job", key.String(), "error", err)
	}
	if held == nil {
		return soon
	}
	var o outcome
	// The outcome is stored under the lease, also after ctx ended.
	lost := held.during(ctx, func(working, keeping context.Context) { o, err = q.work(working, keeping, key, handle) })
	if err != nil && ctx.Err() == nil {
		q.config.Log.Warn("the job queue does not answer; the job will be tried again", "job", key.String(), "error", err)
	}
	if err != nil || lost {
		o.again = soon.again
	}
	if ctx.Err() != nil {
		q.wake(key.Installation) // of the others
	}
	return o
}

// work is the part of process under the lease of the key. keeping ends with the lease; ctx may end before.
func (q *Queue) work(ctx, keeping context.Context, key Key, handle Handler) (outcome, error) {
	msg, err := last(ctx, q.stream, key.natsSubject())
	if err != nil || msg == nil {
		return outcome{}, err
	}
	c, err := q.counted(ctx, key, msg.Sequence)
	if err != nil {
		return outcome{}, err
	}
	if until := c.waits(time.Now()); !until.IsZero() {
		return outcome{seq: msg.Sequence, again: until}, nil
	}
	c.Begun++ // on disk before the work begins: the process may die of it
	if err := q.count(ctx, key, c); err != nil {
		return outcome{}, err
	}
	job := &Job{Key: key, queue: q, seq: msg.Sequence}
	job.Try, job.Tries = c.try(q.config.Tries)
	// What cannot be read leaves a job without hints; its key is enough to work on.
	_ = json.Unmarshal(msg.Data, &job.Message)
	if err := q.demanded(ctx, job); err != nil {
		return outcome{}, err
	}

	err = guard(ctx, job, handle)
	if ctx.Err() != nil {
		brief, done := context.WithTimeout(keeping, settleTimeout)
		defer done()
		keeping = brief
	}
	var later *Later
	switch {
	case keeping.Err() != nil:
		return outcome{}, nil // who has the lease now decides
	case err == nil:
		q.fulfil(keeping, job)
		if err := remove(keeping, q.stream, job.seq); err != nil {
			return outcome{}, fmt.Errorf("a finished job could not be taken off the queue and runs again: %w", err)
		}
		return outcome{}, nil
	case ctx.Err() != nil:
		c.Pardons++
		return outcome{seq: msg.Sequence, again: time.Now()}, q.count(keeping, key, c)
	case errors.As(err, &later):
		after := min(max(later.After, minLater), maxLater)
		c.Pardons++
		c.Until = time.Now().Add(after)
		o := outcome{seq: msg.Sequence, again: c.Until}
		if later.Pause {
			o.pause = after
		}
		return o, q.count(keeping, key, c)
	default:
		c.Errors++
		c.Until = time.Now().Add(q.config.Backoff[min(job.Try, len(q.config.Backoff))-1])
		return outcome{seq: msg.Sequence, again: c.Until}, q.count(keeping, key, c)
	}
}

// waits returns until when a job must not begin, because it is postponed, gone, or running in another process. The zero
// time: it may begin.
func (q *Queue) waits(ctx context.Context, key Key, now time.Time) (time.Time, error) {
	occupied := now.Add(q.config.Occupied)
	if _, held, err := q.leases.Get(ctx, key.String()); err != nil || held != 0 {
		return occupied, err
	}
	seq, err := q.newest(ctx, key)
	if err != nil || seq == 0 {
		return occupied, err
	}
	c, err := q.counted(ctx, key, seq)
	return c.waits(now), err
}

// guard converts a panic of the handler to an error, so that the process continues.
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
