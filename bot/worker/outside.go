package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/render/remote"
)

// sources is what gets things from outside for this check, nil where nothing does.
func (c *check) sources(ctx context.Context, state mirror.State) (*remotes.Resolver, error) {
	if c.Remotes == nil {
		return nil, nil
	}
	change := remotes.Change{Repo: c.repo, Log: c.log, Fork: c.pr != nil && c.pr.Fork}
	if c.task.Message.Rules {
		change.Since = c.task.Message.At
	}
	if c.reviewed() {
		change.Authors = func(ctx context.Context) ([]string, error) { return c.authors(ctx, state) }
	}
	store, err := c.Remotes(ctx, change)
	if err != nil {
		return nil, &remotes.Error{Err: err}
	}
	if store != nil {
		store.Watch = c.watch
	}
	return store, nil
}

// authors are those of all pull requests that are part of the change; none where that is not known.
func (c *check) authors(ctx context.Context, state mirror.State) (logins []string, err error) {
	if c.pr != nil {
		return []string{c.pr.Author}, nil
	}
	pulls, err := c.reviewedPulls(ctx, state)
	for _, pr := range pulls {
		logins = append(logins, pr.Author)
	}
	return logins, err
}

// watch measures a fetching.
func (c *check) watch() func(remote.Lock) {
	begun := c.Now()
	return func(got remote.Lock) {
		took := c.Now().Sub(begun)
		c.waited += took
		c.Metrics.stage(stageRemotes, took)
		var had, refused int
		for _, e := range got {
			if e.Failure != nil {
				refused++
				c.Metrics.source(string(e.Want.Kind), "failed")
				continue
			}
			had++
			c.Metrics.source(string(e.Want.Kind), "had")
		}
		c.log.Info("fetched from outside", "had", had, "failed", refused, "took", took.String())
	}
}

// again is when the check is done once more because something from outside did not answer; the zero time where all did,
// or had their time.
func (c *check) again() time.Time {
	if !slices.ContainsFunc(c.remotes.Lock(), func(e remote.Entry) bool { return e.Failure != nil && e.Failure.Passing }) {
		return time.Time{}
	}
	return forge.NextRetry(cmp.Or(c.lacking, c.Now()), c.Now())
}

// stageOf is the stage that an error of checking belongs to.
func stageOf(err error) string {
	var fetching *remotes.Error
	if errors.As(err, &fetching) {
		return stageRemotes
	}
	return stageCheck
}
