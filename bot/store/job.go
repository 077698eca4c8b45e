package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Job is one delivery of a job to a worker.
type Job struct {
	Key     Key
	Message Message
	Try     int // 1 for the first delivery that counts
	// how many tries count; the first deaths of a process add to it. What the last of them cannot do has to be reported
	// at once; beyond it (the process died, or its report failed) the work is not tried again, only reported.
	Tries int

	queue  *Queue
	seq    uint64
	demand uint64 // revision of the demand that it meets; zero for none
}

// Sequence is the job's number in the queue: the same for each delivery of it, another for each publication.
func (j *Job) Sequence() uint64 { return j.seq }

// Superseded reports whether a newer job of the same key waits.
func (j *Job) Superseded(ctx context.Context) (bool, error) {
	seq, err := j.queue.newest(ctx, j.Key)
	return seq != j.seq, err
}

// Note is what SetNote last stored for the key, "" for nothing. It outlives the job and the process (for a
// week), so that a job can clear up after one that died.
func (j *Job) Note(ctx context.Context) (string, error) { return j.queue.text(ctx, "note", j.Key) }

// SetNote stores a short text for the key; "" removes it.
func (j *Job) SetNote(ctx context.Context, text string) error {
	return j.queue.setText(ctx, "note", j.Key, text)
}

// Mark is what SetMark last stored for the key, like Note but about what was done: up to which commit a branch
// was looked at, or what a merge group consists of.
func (j *Job) Mark(ctx context.Context) (string, error) { return j.queue.text(ctx, "mark", j.Key) }

// SetMark stores a short text for the key; "" removes it.
func (j *Job) SetMark(ctx context.Context, text string) error {
	return j.queue.setText(ctx, "mark", j.Key, text)
}

// Handler works on one job. Nil means done. A *Later puts the job back without counting the try. When ctx
// has ended, the job is returned to the queue whatever the error. Any other error counts: the job is delivered
// again after a pause, for ever, so a handler must conclude what is beyond its Tries.
type Handler func(ctx context.Context, job *Job) error

// Later asks to deliver the job again after a while; the try does not count.
type Later struct {
	After time.Duration
	Pause bool // the whole installation has to wait, as with a rate limit: none of its jobs is begun here before
	Err   error
}

func (e *Later) Error() string { return "put back: " + e.Err.Error() }
func (e *Later) Unwrap() error { return e.Err }

// counts are what happened to one job so far. Only who holds the lease of its key writes them.
type counts struct {
	Seq     uint64    `json:"seq"`
	Begun   int       `json:"begun"`
	Pardons int       `json:"pardons"` // no fault of the job: postponed at GitHub's wish, or handed back
	Errors  int       `json:"errors"`  // the handler failed. What is left over of those begun are deaths of the process
	Until   time.Time `json:"until"`   // postponed
}

// waits returns until when a job is postponed, the zero time if it is not. What a wrong clock wrote does not count.
func (c counts) waits(now time.Time) time.Time {
	if now.Before(c.Until) && c.Until.Before(now.Add(maxLater+time.Minute)) {
		return c.Until
	}
	return time.Time{}
}

// forgiven is how many deaths of the process, on top of the tries, a job survives: mostly it is not to blame.
const forgiven = 2

// try is the number of the try that has begun, and how many there are.
func (c counts) try(tries int) (n, of int) {
	n = max(c.Begun-c.Pardons, 1)
	deaths := max(n-1-c.Errors, 0)
	return n, tries + min(deaths, forgiven)
}

func (q *Queue) counted(ctx context.Context, key Key, seq uint64) (counts, error) {
	c, _, err := readRecord[counts](ctx, q.state, "tries."+key.String())
	if err != nil {
		return counts{}, fmt.Errorf("reading the state of job %s: %w", key, err)
	}
	if c.Seq != seq { // an unreadable record is as good as none: the job then gets some tries too many
		return counts{Seq: seq}, nil
	}
	return c, nil
}

func (q *Queue) count(ctx context.Context, key Key, c counts) error {
	if err := writeRecord(ctx, q.state, "tries."+key.String(), c); err != nil {
		return fmt.Errorf("storing the state of job %s: %w", key, err)
	}
	return nil
}

// demand remembers that somebody wants a fresh check run, until a job of the key is done: a newer job, which
// knows nothing of it, may take the place of the one that does.
func (q *Queue) demand(ctx context.Context, key Key, id string) error {
	if err := q.state.Put(ctx, "demand."+key.String(), []byte(id)); err != nil {
		return fmt.Errorf("storing the demand for job %s: %w", key, err)
	}
	return nil
}

// demanded passes a demand on to a job.
func (q *Queue) demanded(ctx context.Context, job *Job) error {
	id, revision, err := q.state.Get(ctx, "demand."+job.Key.String())
	if err != nil {
		return fmt.Errorf("reading the state of job %s: %w", job.Key, err)
	}
	if revision != 0 {
		job.Message.Fresh, job.Message.Missing, job.Message.Demand = true, false, string(id)
		job.demand = revision
	}
	return nil
}

// fulfil forgets the demand that a job has met, unless there is a newer one. Should that fail, the next job
// finds the run that met it.
func (q *Queue) fulfil(ctx context.Context, job *Job) {
	if job.demand != 0 {
		_ = q.state.delete(ctx, "demand."+job.Key.String(), jetstream.LastRevision(job.demand))
	}
}

// text and setText keep what a job's worker wrote down; see Job.Note and Job.Mark.
func (q *Queue) text(ctx context.Context, kind string, key Key) (string, error) {
	text, _, err := q.state.Get(ctx, kind+"."+key.String())
	if err != nil {
		return "", fmt.Errorf("reading the %s of job %s: %w", kind, key, err)
	}
	return string(text), nil
}

func (q *Queue) setText(ctx context.Context, kind string, key Key, text string) (err error) {
	if text == "" {
		err = q.state.delete(ctx, kind+"."+key.String())
	} else {
		err = q.state.Put(ctx, kind+"."+key.String(), []byte(text))
	}
	if err != nil {
		return fmt.Errorf("storing the %s of job %s: %w", kind, key, err)
	}
	return nil
}
