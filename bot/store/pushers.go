package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// pusherTTL is how long after the last push it is remembered who pushed to a pull request.
	pusherTTL = 2 * 365 * 24 * time.Hour
	// maxPushers bounds the record of one pull request. Above it, everybody counts as a pusher.
	maxPushers = 1000
)

// Everybody in the answer of Pushers means that there are too many to tell.
const Everybody = "*"

// AddPusher remembers, on disk before it returns, that an account pushed to a pull request's head.
func (m *Memory) AddPusher(ctx context.Context, repository int64, number int, login string) error {
	return m.addPusher(ctx, pusherName(repository, number), login)
}

// AddTip remembers, on disk before it returns, that an account pushed a commit as the tip of a branch.
func (m *Memory) AddTip(ctx context.Context, repository int64, commit, login string) error {
	if !IsObjectID(commit) {
		return fmt.Errorf("remembering who pushed: %q is not an object id", commit)
	}
	return m.addPusher(ctx, tipName(repository, commit), login)
}

func (m *Memory) addPusher(ctx context.Context, name, login string) error {
	login = strings.ToLower(login)
	for {
		known, revision, err := m.readPushers(ctx, name)
		if err != nil {
			return err
		}
		if slices.Contains(known, login) || slices.Contains(known, Everybody) {
			return nil
		}
		if known = append(known, login); len(known) > maxPushers {
			known = []string{Everybody}
		}
		data, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("remembering who pushed: %w", err)
		}
		// Otherwise somebody else was faster, or an answer was lost.
		if stored, err := m.pushers.Update(ctx, name, data, revision); err != nil || stored {
			return err
		}
	}
}

// Pushers returns the accounts, in lower case, that are known to have pushed to a pull request's head.
func (m *Memory) Pushers(ctx context.Context, repository int64, number int) ([]string, error) {
	known, _, err := m.readPushers(ctx, pusherName(repository, number))
	return known, err
}

// maxTips is the number of commits above which everybody counts as a pusher: each is a request to the server.
const maxTips = 5000

// TipPushers returns the accounts, in lower case, that are known to have pushed one of the commits as the tip of a
// branch.
func (m *Memory) TipPushers(ctx context.Context, repository int64, commits []string) ([]string, error) {
	if len(commits) > maxTips {
		return []string{Everybody}, nil
	}
	var all []string
	for _, commit := range commits {
		known, _, err := m.readPushers(ctx, tipName(repository, commit))
		if err != nil {
			return nil, err
		}
		all = append(all, known...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func tipName(repository int64, commit string) string {
	return fmt.Sprintf("%d.tip.%s", repository, commit)
}

// pusherName has no installation: it changes when the App is installed again, and the pushes stay.
func pusherName(repository int64, number int) string { return fmt.Sprintf("%d.%d", repository, number) }

func (m *Memory) readPushers(ctx context.Context, name string) ([]string, uint64, error) {
	data, revision, err := m.pushers.Get(ctx, name)
	if err != nil || revision == 0 {
		return nil, 0, err
	}
	var known []string
	if json.Unmarshal(data, &known) != nil {
		return []string{Everybody}, revision, nil // a damaged record excludes nobody less
	}
	return known, revision, nil
}
