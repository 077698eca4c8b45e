package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// branch looks at a branch that was pushed to: if its rules may have changed, the open pull requests that go
// into it are checked again; and the default branch gets a report of its own.
func (w *Worker) branch(ctx context.Context, t Task, log *slog.Logger) error {
	repo, name := t.repo(), t.Key.Branch
	open := sync.OnceValues(func() ([]forge.PullRequest, error) { return w.Client.OpenPullRequests(ctx, repo, name) })
	if told := t.Message.Default; told != "" && told != name {
		if idle, err := w.nobodys(ctx, t, refsOf(name, told), open); err != nil || idle {
			return err
		}
	}
	settings, err := w.Client.Repository(ctx, repo)
	var tip string
	if err == nil {
		tip, err = w.Client.Branch(ctx, repo, name)
	}
	switch {
	case forge.IsGone(err) && !w.early(t):
		log.Warn("the branch is out of reach; nothing to do")
		return t.Ledger.SetNote(ctx, "")
	case err != nil:
		return fmt.Errorf("reading the branch: %w", err)
	case settings.Archived:
		return nil
	}
	log = log.With("branch", name, "head", tip)
	if !t.Message.Missing {
		if err := w.announce(ctx, t, settings.DefaultBranch, tip, open, log); err != nil {
			return err
		}
	}
	if name != settings.DefaultBranch {
		return nil
	}
	c := w.check(t, log)
	c.head, c.part, c.change.All = tip, "branch", true
	c.settings = settings
	c.want.BaseRef, c.want.BaseSHA = name, tip
	c.change.Branches = []string{name}
	c.moved = func(ctx context.Context) (bool, error) {
		now, err := w.Client.Branch(ctx, repo, name)
		if forge.IsGone(err) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the branch again: %w", err)
		}
		return now != tip, nil
	}
	return c.see(ctx)
}

// nobodys reports whether nothing depends on a branch that is not the default one: no open pull request goes into it, and
// nobody takes rules from it. Most pushes are to such branches, and cost one request. The mark goes: what comes into the
// branch later is checked with rules that nobody compared with those before.
func (w *Worker) nobodys(ctx context.Context, t Task, refs []string,
	open func() ([]forge.PullRequest, error)) (bool, error) {
	pulls, err := open()
	if forge.IsGone(err) || len(pulls) > 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for open pull requests: %w", err)
	}
	users, err := w.dependentsOf(ctx, t, refs)
	if err != nil || len(users) > 0 {
		return false, err
	}
	mark, err := t.Ledger.Mark(ctx)
	if err == nil && mark != "" {
		err = t.Ledger.SetMark(ctx, "")
	}
	return err == nil, err
}

// announce stores jobs for the open pull requests into a branch whose rules may have changed since it was
// last looked at. The mark is how far that was; without one the rules count as changed.
func (w *Worker) announce(ctx context.Context, t Task, defaultBranch, tip string,
	open func() ([]forge.PullRequest, error), log *slog.Logger) error {
	seen, err := t.Ledger.Mark(ctx)
	if err != nil || seen == tip {
		return err
	}
	pulls, err := open()
	if err != nil {
		return fmt.Errorf("asking for open pull requests: %w", err)
	}
	if len(pulls) > 0 {
		changed, err := w.rulesChanged(ctx, t, seen, tip)
		if err != nil {
			return err
		}
		log.Info("branch pushed", "rules_changed", changed, "pull_requests", len(pulls))
		if !changed {
			pulls = nil
		}
	}
	for _, pr := range pulls {
		key := store.Key{Installation: t.Key.Installation, Repository: t.Key.Repository, Number: pr.Number}
		if err := w.Jobs.Publish(ctx, key, t.following(t.Message.At), t.Message.Delivery+"-"+tip); err != nil {
			return err
		}
	}
	if err := w.checkDependents(ctx, t, refsOf(t.Key.Branch, defaultBranch), seen, tip); err != nil {
		return err
	}
	return t.Ledger.SetMark(ctx, tip)
}
