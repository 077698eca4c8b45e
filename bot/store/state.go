package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Claim reports whether nobody claimed the name within the last week, and claims it. Of several callers,
// in any process, one gets true. A name consists of letters, digits, dots, dashes and underscores.
func (q *Queue) Claim(ctx context.Context, name string) (bool, error) {
	name = "claim." + name
	mine := rand.Text()
	_, err := ask(ctx, requestFor, func(ctx context.Context) (uint64, error) {
		return q.state.Create(ctx, name, []byte(mine))
	})
	if errors.Is(err, jetstream.ErrKeyExists) || isConflict(err) {
		// Perhaps an earlier attempt was stored whose answer was lost.
		var entry jetstream.KeyValueEntry
		if entry, err = get(ctx, q.state, name); err == nil {
			return entry != nil && string(entry.Value()) == mine, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("claiming %q: %w", name, err)
	}
	return true, nil
}

// Forget takes a claim back.
func (q *Queue) Forget(ctx context.Context, name string) error {
	if err := purge(ctx, q.state, "claim."+name); err != nil {
		return fmt.Errorf("forgetting the claim %q: %w", name, err)
	}
	return nil
}

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
	entry, err := get(ctx, q.state, "tries."+key.String())
	if err != nil {
		return counts{}, fmt.Errorf("reading the state of job %s: %w", key, err)
	}
	var c counts
	// An unreadable record is as good as none: the job then gets some tries too many.
	if entry == nil || json.Unmarshal(entry.Value(), &c) != nil || c.Seq != seq {
		return counts{Seq: seq}, nil
	}
	return c, nil
}

func (q *Queue) count(ctx context.Context, key Key, c counts) error {
	data, err := json.Marshal(c)
	if err == nil {
		err = put(ctx, q.state, "tries."+key.String(), data)
	}
	if err != nil {
		return fmt.Errorf("storing the state of job %s: %w", key, err)
	}
	return nil
}

// demand remembers that somebody wants a fresh check run, until a job of the key is done: a newer job, which
// knows nothing of it, may take the place of the one that does.
func (q *Queue) demand(ctx context.Context, key Key, id string) error {
	if err := put(ctx, q.state, "demand."+key.String(), []byte(id)); err != nil {
		return fmt.Errorf("storing the demand for job %s: %w", key, err)
	}
	return nil
}

// demanded passes a demand on to a job.
func (q *Queue) demanded(ctx context.Context, job *Job) error {
	entry, err := get(ctx, q.state, "demand."+job.Key.String())
	if err != nil {
		return fmt.Errorf("reading the state of job %s: %w", job.Key, err)
	}
	if entry == nil {
		return nil
	}
	job.Message.Fresh, job.Message.Missing, job.Message.Demand = true, false, string(entry.Value())
	job.demand = entry.Revision()
	return nil
}

// fulfil forgets the demand that a job has met, unless there is a newer one. Should that fail, the next job
// finds the run that met it.
func (q *Queue) fulfil(ctx context.Context, job *Job) {
	if job.demand != 0 {
		_ = purge(ctx, q.state, "demand."+job.Key.String(), jetstream.LastRevision(job.demand))
	}
}

// text and setText keep what a job's worker wrote down; see Job.Note and Job.Mark.
func (q *Queue) text(ctx context.Context, kind string, key Key) (string, error) {
	entry, err := get(ctx, q.state, kind+"."+key.String())
	if err != nil {
		return "", fmt.Errorf("reading the %s of job %s: %w", kind, key, err)
	}
	if entry == nil {
		return "", nil
	}
	return string(entry.Value()), nil
}

func (q *Queue) setText(ctx context.Context, kind string, key Key, text string) (err error) {
	if text == "" {
		err = purge(ctx, q.state, kind+"."+key.String())
	} else {
		err = put(ctx, q.state, kind+"."+key.String(), []byte(text))
	}
	if err != nil {
		return fmt.Errorf("storing the %s of job %s: %w", kind, key, err)
	}
	return nil
}
