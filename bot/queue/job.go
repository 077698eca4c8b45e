package queue

import (
	"context"
	"time"
)

// Job is one delivery of a job to a worker.
type Job struct {
	Key     Key
	Message Message
	Try     int // 1 for the first delivery that counts
	Tries   int // how many count before the job is given up

	queue *Queue
	seq   uint64
}

// Last reports whether no further try follows a failure of this one: what the worker cannot do now, it
// must report now.
func (j *Job) Last() bool { return j.Try >= j.Tries }

// Exhausted reports whether the process died, or its report failed, in the last try: the work itself must
// not be tried again, only be reported.
func (j *Job) Exhausted() bool { return j.Try > j.Tries }

// Sequence is the job's number in the queue: the same for each delivery of it, another for each
// publication.
func (j *Job) Sequence() uint64 { return j.seq }

// Superseded reports whether a newer job of the same key waits.
func (j *Job) Superseded(ctx context.Context) (bool, error) {
	seq, err := j.queue.newest(ctx, j.Key)
	return seq != j.seq, err
}

// Note is what SetNote last stored for the key, "" for nothing. It outlives the job and the process (for a
// week), so that a job can clear up after one that died.
func (j *Job) Note(ctx context.Context) (string, error) { return j.queue.note(ctx, j.Key) }

// SetNote stores a short text for the key; "" removes it.
func (j *Job) SetNote(ctx context.Context, text string) error {
	return j.queue.setNote(ctx, j.Key, text)
}

// Handler works on one job. Nil means done. A *Later puts the job back without counting the try. When ctx
// has ended, the job is handed back whatever the error. Any other error counts: the job is delivered
// again after a pause, for ever, so a handler must conclude what is Exhausted.
type Handler func(ctx context.Context, job *Job) error

// Later asks to deliver the job again after a while; the try does not count.
type Later struct {
	After time.Duration
	Err   error
}

func (e *Later) Error() string { return "put back: " + e.Err.Error() }
func (e *Later) Unwrap() error { return e.Err }
