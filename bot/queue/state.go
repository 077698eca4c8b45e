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

// pardon counts the deliveries of one job that were no fault of it: postponed at GitHub's wish, handed
// back at the end of the process, key in work elsewhere.
type pardon struct {
	Seq   uint64 `json:"seq"`
	Count uint64 `json:"count"`
}

func (q *Queue) pardoned(ctx context.Context, key Key, seq uint64) (uint64, error) {
	entry, err := q.state.Get(ctx, "pardon."+key.String())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the state of job %s: %w", key, err)
	}
	var p pardon
	// An unreadable record is as good as none: the job then counts a try too many.
	if json.Unmarshal(entry.Value(), &p) != nil || p.Seq != seq {
		return 0, nil
	}
	return p.Count, nil
}

func (q *Queue) pardon(ctx context.Context, key Key, seq uint64) error {
	count, err := q.pardoned(ctx, key, seq)
	if err != nil {
		return err
	}
	data, err := json.Marshal(pardon{Seq: seq, Count: count + 1})
	if err == nil {
		_, err = q.state.Put(ctx, "pardon."+key.String(), data)
	}
	if err != nil {
		return fmt.Errorf("storing the state of job %s: %w", key, err)
	}
	return nil
}

// note and setNote keep what a job's worker wrote down; see Job.Note.
func (q *Queue) note(ctx context.Context, key Key) (string, error) {
	entry, err := q.state.Get(ctx, "note."+key.String())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the note of job %s: %w", key, err)
	}
	return string(entry.Value()), nil
}

func (q *Queue) setNote(ctx context.Context, key Key, text string) (err error) {
	if text == "" {
		err = q.state.Purge(ctx, "note."+key.String())
	} else {
		_, err = q.state.PutString(ctx, "note."+key.String(), text)
	}
	if err != nil {
		return fmt.Errorf("storing the note of job %s: %w", key, err)
	}
	return nil
}
