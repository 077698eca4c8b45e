package worker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/checks/report"
)

// check is the work on one head.
type check struct {
	*headRun

	rules  string             // the commit that the rules are read from
	pr     *forge.PullRequest // nil for a branch and a merge group
	want   mirror.Want        // but its head
	change report.Change      // as far as it does not depend on what was fetched
	moved  func(ctx context.Context) (bool, error)
	// reviewedPulls are those whose reviews count; nil: pr.
	reviewedPulls func(ctx context.Context, state mirror.State) ([]*forge.PullRequest, error)

	settings *forge.Settings // of the repository; nil: not asked for yet

	remotes *remotes.Resolver // nil: nothing comes from outside
	foreign []results.Foreign // private repositories that the report has lines of
	waited  time.Duration     // for what comes from outside

	page string // the web address of a page with all of the result; "" for none
}

// see sees the check through to a completed check run.
func (c *check) see(ctx context.Context) error {
	if err := c.tidy(ctx); err != nil || c.closed {
		return err
	}
	err := c.do(ctx)
	if c.task.exhausted() && forge.IsGone(err) {
		c.log.Warn("there is nothing left to report to", "error", scrub(err.Error()))
		return c.task.Ledger.SetNote(ctx, "")
	}
	return err
}

func (c *check) do(ctx context.Context) error {
	wanted, err := c.open(ctx)
	if err != nil || !wanted {
		return err
	}
	if c.task.exhausted() {
		return c.giveUp(ctx, verdictExhausted(c.task.Try-1))
	}
	if ready, ok := c.outbox.take(c.task, c.head, c.Now()); ok {
		return c.send(ctx, ready)
	}
	if err := c.reportProgress(ctx); err != nil {
		return c.fail(ctx, stageReport, err)
	}
	defer c.endProgress()
	state, err := c.fetch(ctx)
	if err != nil {
		return c.fail(ctx, stageFetch, err)
	}
	change, err := c.describe(ctx, state)
	if err != nil {
		return c.fail(ctx, stageReport, err)
	}
	if c.remotes, err = c.sources(ctx, state); err != nil {
		return c.fail(ctx, stageRemotes, err)
	}
	if change.Defaults, err = c.remotes.DefaultsAddress(ctx); err != nil {
		return c.fail(ctx, stageRemotes, err)
	}
	var in *report.Inspection
	if c.reviewed() {
		if in, err = c.inspect(ctx, change); err != nil {
			return c.fail(ctx, stageInspect, err)
		}
		if err := c.ask(ctx, state, in, &change); err != nil {
			return c.fail(ctx, stageReview, err)
		}
	}
	rep, err := c.evaluate(ctx, change)
	if err != nil {
		return c.fail(ctx, stageOf(err), err)
	}
	if c.reviewed() {
		decided, err := c.askAgain(ctx, state, in, &change, rep)
		if err != nil {
			return c.fail(ctx, stageReview, err)
		}
		if decided {
			if rep, err = c.evaluate(ctx, change); err != nil {
				return c.fail(ctx, stageOf(err), err)
			}
		}
	}
	return c.post(ctx, change, rep, c.result(state, change, rep))
}

// describe is the change as far as GitHub need not be asked for it.
func (c *check) describe(ctx context.Context, state mirror.State) (change report.Change, err error) {
	change = c.change
	change.GitDir, change.Head, change.Now = state.GitDir, c.head, c.Now()
	change.Owner, change.Cache = c.owner(c.repo)
	change.Host = strings.TrimSuffix(c.Client.CloneURL(forge.Repo{Owner: "o", Name: "n"}), "/o/n.git")
	change.Rules, change.Base = state.BaseTip, state.MergeBase
	if change.All {
		change.Rules, change.Base = c.head, ""
	}
	c.rules = change.Rules
	change.Differences = c.Results != nil // which the page shows
	if c.Drafts != nil {
		change.Drafts, err = c.Drafts(ctx, c.repo.ID, c.head)
	}
	return change, err
}

// owner names a repository to the sandboxes, with the folder of its cache. What one repository's checks keep, no other's
// believe, also of the same installation: who writes to one may not decide about all.
func (w *Worker) owner(repo forge.Repo) (name, cache string) {
	name = fmt.Sprintf("%d.%d", repo.Installation, repo.ID)
	if w.Cache != "" {
		cache = filepath.Join(w.Cache, name)
	}
	return name, cache
}

// reviewed reports whether the change has an author or reviews, of which GitHub could be asked; a branch has neither.
func (c *check) reviewed() bool { return c.pr != nil || c.reviewedPulls != nil }

func (c *check) fetch(ctx context.Context) (mirror.State, error) {
	defer c.timed(stageFetch)()
	want := c.want
	want.HeadSHA = c.head
	return c.Mirror.Fetch(ctx, c.repo, want)
}

func (c *check) inspect(ctx context.Context, change report.Change) (*report.Inspection, error) {
	defer c.timed(stageInspect)()
	in, err := c.remotes.Inspect(ctx, c.Sandbox, change)
	if err == nil && in == nil {
		err = errors.New("the sandbox answered with nothing")
	}
	return in, err
}

func (c *check) evaluate(ctx context.Context, change report.Change) (*report.Report, error) {
	begun, waited := c.Now(), c.waited
	defer func() { c.Metrics.stage(stageCheck, c.Now().Sub(begun)-(c.waited-waited)) }()
	rep, err := c.remotes.Run(ctx, c.Sandbox, change)
	if err == nil && rep == nil {
		err = errors.New("the sandbox answered with nothing")
	}
	if err == nil {
		c.Metrics.work(rep.Work)
	}
	return rep, err
}
