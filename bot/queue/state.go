package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Claim reports whether nobody claimed the name within the last week, and claims it. Of several callers,
// in any process, one gets true. A name consists of letters, digits, dots, dashes and underscores.
func (q *Queue) Claim(ctx context.Context, name string) (bool, error) {
	_, err := q.state.Create(ctx, "claim."+name, nil)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claiming %q: %w", name, err)
	}
	return true, nil
}

// Forget takes a claim back.
func (q *Queue) Forget(ctx context.Context, name string) error {
	if err := q.state.Purge(ctx, "claim."+name); err != nil {
		return fmt.Errorf("forgetting the claim %q: %w", name, err)
	}
	return nil
}

// counts are the deliveries of one job of which we know the end. What is left over are deaths of the process.
type counts struct {
	Seq     uint64 `json:"seq"`
	Pardons int    `json:"count"`  // no fault of the job: postponed at GitHub's wish, handed back, key in work elsewhere
	Errors  int    `json:"errors"` // the handler failed
}

func (q *Queue) counted(ctx context.Context, key Key, seq uint64) (counts, error) {
	entry, err := q.state.Get(ctx, "pardon."+key.String())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return counts{Seq: seq}, nil
	}
	if err != nil {
		return counts{}, fmt.Errorf("reading the state of job %s: %w", key, err)
	}
	var c counts
	// An unreadable record is as good as none: the job then counts a try too many.
	if json.Unmarshal(entry.Value(), &c) != nil || c.Seq != seq {
		return counts{Seq: seq}, nil
	}
	return c, nil
}

func (q *Queue) count(ctx context.Context, key Key, seq uint64, add func(*counts)) error {
	c, err := q.counted(ctx, key, seq)
	if err != nil {
		return err
	}
	add(&c)
	data, err := json.Marshal(c)
	if err == nil {
		_, err = q.state.Put(ctx, "pardon."+key.String(), data)
	}
	if err != nil {
		return fmt.Errorf("storing the state of job %s: %w", key, err)
	}
	return nil
}

// demand remembers that somebody wants a fresh check run, until a job of the key is done: a newer job, which
// knows nothing of it, may take the place of the one that does.
func (q *Queue) demand(ctx context.Context, key Key, id string) error {
	if _, err := q.state.PutString(ctx, "demand."+key.String(), id); err != nil {
		return fmt.Errorf("storing the demand for job %s: %w", key, err)
	}
	return nil
}

// demanded passes a demand on to a job.
func (q *Queue) demanded(ctx context.Context, job *Job) error {
	entry, err := q.state.Get(ctx, "demand."+job.Key.String())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the state of job %s: %w", job.Key, err)
	}
	job.Message.Fresh, job.Message.Missing, job.Message.Demand = true, false, string(entry.Value())
	job.demand = entry.Revision()
	return nil
}

// fulfil forgets the demand that a job has met, unless there is a newer one. Should that fail, the next job
// finds the run that met it.
func (q *Queue) fulfil(ctx context.Context, job *Job) {
	if job.demand != 0 {
		_ = q.state.Purge(ctx, "demand."+job.Key.String(), jetstream.LastRevision(job.demand))
	}
}

// text and setText keep what a job's worker wrote down; see Job.Note and Job.Mark.
func (q *Queue) text(ctx context.Context, kind string, key Key) (string, error) {
	entry, err := q.state.Get(ctx, kind+"."+key.String())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the %s of job %s: %w", kind, key, err)
	}
	return string(entry.Value()), nil
}

func (q *Queue) setText(ctx context.Context, kind string, key Key, text string) (err error) {
	if text == "" {
		err = q.state.Purge(ctx, kind+"."+key.String())
	} else {
		_, err = q.state.PutString(ctx, kind+"."+key.String(), text)
	}
	if err != nil {
		return fmt.Errorf("storing the %s of job %s: %w", kind, key, err)
	}
	return nil
}
