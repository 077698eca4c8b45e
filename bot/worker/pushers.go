package worker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/mirror"
)

// findPushers asks GitHub who made the commits, and what is remembered about who pushed them.
func (d *decision) findPushers(ctx context.Context, rulesCommit string) error {
	pushers, err := d.client.Pushers(ctx, d.repo, d.pr.Number)
	if err != nil {
		return err
	}
	if d.pushes != nil {
		known, err := d.pushes.Pushers(ctx, d.repo.ID, d.pr.Number)
		if err != nil {
			return err
		}
		commits, err := d.commits(ctx, rulesCommit)
		if err != nil {
			return err
		}
		tips, err := d.pushes.TipPushers(ctx, d.repo.ID, commits)
		if err != nil {
			return err
		}
		pushers = slices.Concat(pushers, known, tips)
	}
	for _, login := range pushers {
		d.pushers[strings.ToLower(login)] = true
	}
	return nil
}

// commits are those that the pull request brings. A merge group that squashes does not have its head.
func (d *decision) commits(ctx context.Context, base string) ([]string, error) {
	list, err := d.git.Commits(ctx, d.gitDir, base, d.pr.HeadSHA)
	var vanished *mirror.Vanished
	if errors.As(err, &vanished) {
		if err := d.git.Ensure(ctx, d.repo, d.pr.HeadSHA); err != nil {
			return nil, err
		}
		list, err = d.git.Commits(ctx, d.gitDir, base, d.pr.HeadSHA)
	}
	return list, err
}
