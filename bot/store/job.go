package store

import (
	"context"
	"time"
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
// has ended, the job is handed back whatever the error. Any other error counts: the job is delivered
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
