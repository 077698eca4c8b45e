package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// ofCommit turns a job for a commit into jobs for the open pull requests with this head. If a check was requested, it
// also adds jobs for other subjects with a check run of ours on the commit.
func (w *Worker) ofCommit(ctx context.Context, t Task, log *slog.Logger) error {
	numbers, err := w.Client.PullRequestsOfCommit(ctx, t.repo(), t.Key.Commit)
	if gone, err := w.reachable(ctx, t, log, "commit", err); gone || err != nil {
		return err
	}
	keys := map[store.Key]bool{}
	for _, n := range numbers {
		keys[store.Key{Installation: t.Key.Installation, Repository: t.Key.Repository, Target: forge.Target{Number: n}}] = true
	}
	var runs []forge.CheckRun
	if t.Message.Fresh || t.Message.Missing {
		if runs, err = w.Client.CheckRuns(ctx, t.repo(), t.Key.Commit); err != nil && !forge.IsGone(err) {
			return fmt.Errorf("looking for check runs of a commit: %w", err)
		}
	}
	for _, run := range runs {
		id, foreign := forge.ParseRunID(run.ExternalID)
		if key, err := t.Key.Of(id.Target); foreign == nil && err == nil {
			keys[key] = true
		}
	}
	for key := range keys {
		if err := w.Jobs.Publish(ctx, key, t.Message, t.Message.Delivery); err != nil {
			return err
		}
	}
	return nil
}

// everything stores jobs for all heads without a result in a repository, or in a whole installation.
func (w *Worker) everything(ctx context.Context, t Task, log *slog.Logger) error {
	if wait := t.Message.After.Sub(w.Now()); wait > 0 {
		return &store.Later{After: wait, Err: errors.New("other repositories whose rules changed are checked first")}
	}
	message := t.following(t.Message.At)
	message.Missing, message.Rules = !t.Message.Rules, t.Message.Rules
	if t.Key.Repository == 0 {
		repos, err := w.Client.Repositories(ctx, t.Key.Installation)
		if gone, err := w.reachable(ctx, t, log, "installation", err); gone || err != nil {
			return err
		}
		for _, repo := range repos {
			message.Owner, message.Name = repo.Owner, repo.Name
			if err := w.Jobs.Publish(ctx, store.Key{Installation: t.Key.Installation, Repository: repo.ID, All: true}, message,
				""); err != nil {
				return err
			}
		}
		return nil
	}
	settings, err := w.Client.Repository(ctx, t.repo())
	if gone, err := w.reachable(ctx, t, log, "repository", err); gone || err != nil || settings.Archived {
		return err
	}
	pulls, err := w.Client.OpenPullRequests(ctx, t.repo(), "")
	if err != nil {
		return fmt.Errorf("listing open pull requests: %w", err)
	}
	key := store.Key{Installation: t.Key.Installation, Repository: t.Key.Repository}
	for _, pr := range pulls {
		key.Number = pr.Number
		if err := w.Jobs.Publish(ctx, key, message, ""); err != nil {
			return err
		}
	}
	if key.Number, key.Branch = 0, settings.DefaultBranch; key.Branch == "" {
		return nil // nothing was pushed yet
	}
	return w.Jobs.Publish(ctx, key, message, "")
}
