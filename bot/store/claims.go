package store

import (
	"context"
	"crypto/rand"
	"fmt"
)

// AskDrafts remembers, on disk before it returns and for a week, that somebody wants exceptions drafted for what a
// check of this commit finds. A job is only a key, and may be put together with another.
func (m *Memory) AskDrafts(ctx context.Context, repository int64, head string) error {
	name, err := draftsName(repository, head)
	if err == nil {
		err = m.state.Put(ctx, name, nil)
	}
	if err != nil {
		return fmt.Errorf("remembering that drafts are wanted: %w", err)
	}
	return nil
}

// DraftsAsked reports whether somebody wanted drafts for a commit.
func (m *Memory) DraftsAsked(ctx context.Context, repository int64, head string) (bool, error) {
	name, err := draftsName(repository, head)
	var revision uint64
	if err == nil {
		_, revision, err = m.state.Get(ctx, name)
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

// Claim reports whether nobody claimed the name within the last week, and claims it. Of several callers,
// in any process, one gets true. A name consists of letters, digits, dots, dashes and underscores.
func (m *Memory) Claim(ctx context.Context, name string) (bool, error) {
	name = "claim." + name
	mine := rand.Text()
	stored, err := m.state.Update(ctx, name, []byte(mine), 0)
	if err == nil && !stored {
		// Perhaps an earlier attempt was stored whose answer was lost.
		var holder []byte
		holder, _, err = m.state.Get(ctx, name)
		stored = string(holder) == mine
	}
	if err != nil {
		return false, fmt.Errorf("claiming %q: %w", name, err)
	}
	return stored, nil
}

// Forget takes a claim back.
func (m *Memory) Forget(ctx context.Context, name string) error {
	if err := m.state.delete(ctx, "claim."+name); err != nil {
		return fmt.Errorf("forgetting the claim %q: %w", name, err)
	}
	return nil
}
