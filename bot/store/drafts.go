package store

import (
	"context"
	"fmt"
)

// AskDrafts remembers, on disk before it returns and for a week, that somebody wants exceptions drafted for what a
// check of this commit finds. A job is only a key, and may be put together with another.
func (q *Queue) AskDrafts(ctx context.Context, repository int64, head string) error {
	name, err := draftsName(repository, head)
	if err == nil {
		err = q.state.Put(ctx, name, nil)
	}
	if err != nil {
		return fmt.Errorf("remembering that drafts are wanted: %w", err)
	}
	return nil
}

// DraftsAsked reports whether somebody wanted drafts for a commit.
func (q *Queue) DraftsAsked(ctx context.Context, repository int64, head string) (bool, error) {
	name, err := draftsName(repository, head)
	var revision uint64
	if err == nil {
		_, revision, err = q.state.Get(ctx, name)
	}
	if err != nil {
		return false, fmt.Errorf("reading whether drafts are wanted: %w", err)
	}
	return revision != 0, nil
}

func draftsName(repository int64, head string) (string, error) {
	if !IsObjectID(head) {
		return "", fmt.Errorf("%q is not an object id", head)
	}
	return fmt.Sprintf("drafts.%d.%s", repository, head), nil
}
