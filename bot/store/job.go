package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Job is one delivery of a job to a worker.
type Job struct {
	Key      Key
	Message  Message
	Sequence uint64 // in the queue: the same for each delivery of the job, another for each publication
	Try      int    // 1 for the first delivery that counts
	// how many tries count; the first deaths of a process add to it. What the last of them cannot do has to be reported
	// at once; beyond it (the process died, or its report failed) the work is not tried again, only reported.
	Tries int

	queue  *Queue
	demand uint64 // revision of the demand that it meets; zero for none
}

// Superseded reports whether a newer job of the same key waits.
func (j *Job) Superseded(ctx context.Context) (bool, error) {
	seq, err := j.queue.newest(ctx, j.Key)
	return seq != j.Sequence, err
}

// Text is a kind of text that is kept for a key, for a week.
type Text string

const (
	// Note is about unfinished work: it outlives the job and the process, so that a job can clean up after one that died.
	Note Text = "note"
	// Mark is about finished work: the last handled commit of a branch, or the members of a merge group.
	Mark Text = "mark"
)

// Text returns the text that SetText last stored for the key; "" if there is none.
func (j *Job) Text(ctx context.Context, kind Text) (string, error) {
	text, _, err := j.queue.state.Get(ctx, string(kind)+"."+j.Key.String())
	return string(text), err
}

// SetText stores a short text for the key; "" removes it.
func (j *Job) SetText(ctx context.Context, kind Text, text string) error {
	name := string(kind) + "." + j.Key.String()
	if text == "" {
		return j.queue.state.delete(ctx, name)
	}
	return j.queue.state.Put(ctx, name, []byte(text))
}

// Handler works on one job. Nil means that it is done. *Later returns the job to the queue without counting the try. If
// ctx ended, the job is returned whatever the error is. Any other error counts as a try. The job is then delivered
// again after a pause, without limit, so a handler must itself give up after Tries.
type Handler func(ctx context.Context, job *Job) error

// Later asks to deliver the job again after a while; the try does not count.
type Later struct {
	After time.Duration
	Pause bool // the whole installation has to wait, as with a rate limit: none of its jobs is begun here before
	// this process has to wait, which cannot work at the moment: it begins no job before, but another may at once
	Elsewhere bool
	Err       error
}

func (e *Later) Error() string { return "put back: " + e.Err.Error() }
func (e *Later) Unwrap() error { return e.Err }

// counts are the counters of one job. Only the holder of its key's lease writes them.
type counts struct {
	Seq     uint64    `json:"seq"`
	Begun   int       `json:"begun"`
	Pardons int       `json:"pardons"` // no fault of the job: postponed at GitHub's wish, or handed back
	Errors  int       `json:"errors"`  // the handler failed. What is left over of those begun are deaths of the process
	Until   time.Time `json:"until"`   // postponed
}

// waits returns until when a job is postponed; the zero time if it is not. A time that a wrong clock wrote is ignored.
func (c counts) waits(now time.Time) time.Time {
	if now.Before(c.Until) && c.Until.Before(now.Add(maxLater+time.Minute)) {
		return c.Until
	}
	return time.Time{}
}

// forgiven is how many deaths of the process a job survives in addition to its tries, since the job is mostly not the
// cause.
const forgiven = 2

// try returns the number of the current try, and the number of tries.
func (c counts) try(tries int) (n, of int) {
	n = max(c.Begun-c.Pardons, 1)
	deaths := max(n-1-c.Errors, 0)
	return n, tries + min(deaths, forgiven)
}

func (q *Queue) counted(ctx context.Context, key Key, seq uint64) (counts, error) {
	c, _, err := readRecord[counts](ctx, q.state, "tries."+key.String())
	if c.Seq != seq { // an unreadable record is as good as none: the job then gets some tries too many
		c = counts{Seq: seq}
	}
	return c, err
}

func (q *Queue) count(ctx context.Context, key Key, c counts) error {
	return writeRecord(ctx, q.state, "tries."+key.String(), c)
}

// demanded adds the stored request for a fresh check run to a job, see Publish.
func (q *Queue) demanded(ctx context.Context, job *Job) error {
	id, revision, err := q.state.Get(ctx, "demand."+job.Key.String())
	if revision != 0 {
		job.Message.Fresh, job.Message.Missing, job.Message.Demand = true, false, string(id)
		job.demand = revision
	}
	return err
}

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
	if ctx.Err() != nil || o.idle > 0 {
		q.wake(key.Installation) // of the others
	}
	return o
}

// work is the part of process under the lease of the key. keeping ends with the lease; ctx may end before.
func (q *Queue) work(ctx, keeping context.Context, key Key, handle Handler) (outcome, error) {
	msg, err := q.last(ctx, q.stream, key.natsSubject())
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
	job := &Job{Key: key, queue: q, Sequence: msg.Sequence}
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
		// Its request is fulfilled, unless there is a newer one. If this fails, the next job finds the check run.
		if job.demand != 0 {
			_ = q.state.delete(keeping, "demand."+job.Key.String(), jetstream.LastRevision(job.demand))
		}
		if err := q.finish(keeping, msg); err != nil {
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
		switch {
		case later.Elsewhere:
			c.Until, o.idle = time.Time{}, after
		case later.Pause:
			o.pause = after
		}
		return o, q.count(keeping, key, c)
	default:
		c.Errors++
		c.Until = time.Now().Add(q.config.Backoff[min(job.Try, len(q.config.Backoff))-1])
		return outcome{seq: msg.Sequence, again: c.Until}, q.count(keeping, key, c)
	}
}

// finish removes a job that is done. A stream that was made again counts from one, so that the number of the message may
// be that of another one.
func (q *Queue) finish(ctx context.Context, done *jetstream.RawStreamMsg) error {
	now, err := q.last(ctx, q.stream, done.Subject)
	if err != nil || now == nil || now.Sequence != done.Sequence || !now.Time.Equal(done.Time) {
		return err
	}
	return q.remove(ctx, q.stream, done.Sequence)
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
