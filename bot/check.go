package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/report"
)

// check is the work on one head.
type check struct {
	*Worker
	task Task
	repo github.Repo
	log  *slog.Logger

	head   string
	part   string              // of the check run's name
	closed bool                // nothing is to be checked any more
	pr     *github.PullRequest // nil for a branch and a merge group
	want   mirror.Want         // but its head
	change report.Change       // as far as it does not depend on what was fetched
	moved  func(ctx context.Context) (bool, error)
	judges func(ctx context.Context, state mirror.State) ([]*github.PullRequest, error) // nil: pr

	draftable bool // something blocks that exceptions can be drafted for

	run   github.CheckRun // ID zero: none is open
	known string          // external id of the completed run that stands; "" for none
	gave  int             // how often this head was given up
}

// see sees the check through to a completed check run.
func (c *check) see(ctx context.Context) error {
	c.run.Part = c.part
	if err := c.tidy(ctx); err != nil {
		return err
	}
	if c.closed {
		return nil
	}
	err := c.do(ctx)
	if c.task.exhausted() && isGone(err) {
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
	state, err := c.fetch(ctx)
	if err != nil {
		return c.fail(ctx, stageFetch, err)
	}
	if err := c.progress(ctx); err != nil {
		return c.fail(ctx, stageReport, err)
	}
	change, err := c.describe(ctx, state)
	if err != nil {
		return c.fail(ctx, stageReport, err)
	}
	if c.reviewed() {
		in, err := c.inspect(ctx, change)
		if err != nil {
			return c.fail(ctx, stageInspect, err)
		}
		if err := c.ask(ctx, state, in, &change); err != nil {
			return c.fail(ctx, stageReview, err)
		}
	}
	rep, err := c.evaluate(ctx, change)
	if err != nil {
		return c.fail(ctx, stageCheck, err)
	}
	return c.post(ctx, rep, c.digest(state, change, rep))
}

// describe is the change as far as GitHub need not be asked for it.
func (c *check) describe(ctx context.Context, state mirror.State) (change report.Change, err error) {
	change = c.change
	change.GitDir, change.Cache, change.Head, change.Now = state.GitDir, c.Cache, c.head, c.Now()
	change.Rules, change.Base = state.BaseTip, state.MergeBase
	if change.All {
		change.Rules, change.Base = c.head, ""
	}
	if c.Drafts != nil {
		change.Drafts, err = c.Drafts(ctx, c.repo.ID, c.head)
	}
	return change, err
}

// reviewed reports whether the change has an author or reviews, of which GitHub could be asked; a branch has neither.
func (c *check) reviewed() bool { return c.pr != nil || c.judges != nil }

func (c *check) fetch(ctx context.Context) (mirror.State, error) {
	begun := c.Now()
	defer func() { c.Metrics.stage(stageFetch, c.Now().Sub(begun)) }()
	want := c.want
	want.HeadSHA = c.head
	return c.Mirror.Fetch(ctx, c.repo, want)
}

func (c *check) inspect(ctx context.Context, change report.Change) (*report.Inspection, error) {
	begun := c.Now()
	defer func() { c.Metrics.stage(stageInspect, c.Now().Sub(begun)) }()
	in, err := c.Sandbox.Inspect(ctx, change)
	if err == nil && in == nil {
		err = errors.New("the sandbox answered with nothing")
	}
	return in, err
}

func (c *check) evaluate(ctx context.Context, change report.Change) (*report.Report, error) {
	begun := c.Now()
	defer func() { c.Metrics.stage(stageCheck, c.Now().Sub(begun)) }()
	rep, err := c.Sandbox.Run(ctx, change)
	if err == nil && rep == nil {
		err = errors.New("the sandbox answered with nothing")
	}
	if err == nil {
		c.Metrics.work(rep.Work)
	}
	return rep, err
}

// ask adds what only GitHub knows to the change: the author's teams, and what the reviews say about exceptions.
func (c *check) ask(ctx context.Context, state mirror.State, in *report.Inspection, change *report.Change) (err error) {
	begun := c.Now()
	defer func() { c.Metrics.stage(stageReview, c.Now().Sub(begun)) }()
	if change.User.Teams, err = c.teams(ctx, in.Teams); err != nil {
		return err
	}
	if slices.ContainsFunc(in.Exceptions, func(e report.Exception) bool { return e.State == report.Pending }) {
		change.Reviews, err = c.reviews(ctx, state, in)
	}
	return err
}

// teams are those that the author is a member of. A team that the App may not see has no members.
func (c *check) teams(ctx context.Context, all []string) (member []string, _ error) {
	if c.change.User.Login == "" {
		return nil, nil
	}
	for _, team := range all {
		is, err := c.Door.TeamMember(ctx, c.repo, team, c.change.User.Login)
		if err != nil && !isGone(err) {
			return nil, fmt.Errorf("asking for the members of a team: %w", err)
		}
		if is {
			member = append(member, team)
		}
	}
	return member, nil
}

// reviews asks what the reviews of all pull requests that are part of the change say about its exceptions. Where
// several decide about the same content, a refusal outweighs an approval, and that what is missing.
func (c *check) reviews(ctx context.Context, state mirror.State, in *report.Inspection) (all []report.Review, err error) {
	pulls := []*github.PullRequest{c.pr}
	if c.judges != nil {
		if pulls, err = c.judges(ctx, state); err != nil {
			return nil, err
		}
	}
	weight := func(r report.Review) int {
		return slices.Index([]report.State{report.Pending, report.Approved, report.Refused}, r.State())
	}
	for _, pr := range pulls {
		if pr == nil {
			continue
		}
		found, err := c.Approver.Decide(ctx, c.repo, pr, state.GitDir, state.BaseTip, in)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			i := slices.IndexFunc(all, func(a report.Review) bool { return a.Path == r.Path && a.Blob == r.Blob })
			if i < 0 {
				all = append(all, r)
			} else if weight(r) > weight(all[i]) {
				all[i] = r
			}
		}
	}
	return all, nil
}

// fail decides what an error in a stage means: to hand back, to wait, to stop, to try again, or to tell.
func (c *check) fail(ctx context.Context, stage string, err error) error {
	var (
		later     *github.RetryLater
		vanished  *mirror.Vanished
		strangers *mirror.NoMergeBase
		large     *mirror.TooLarge
		crash     *sandbox.Crash
		failed    *sandbox.Failed
	)
	switch {
	case ctx.Err() != nil, errors.As(err, &later):
		return err
	case errors.As(err, &vanished):
		moved, lookup := c.moved(ctx)
		if lookup != nil {
			return lookup
		}
		if moved {
			return c.abandon(ctx)
		}
		if !c.task.last() {
			return err
		}
		return c.giveUp(ctx, verdictVanished(vanished.SHA))
	case errors.As(err, &strangers):
		return c.conclude(ctx, verdictUnfit(strangers.Error()))
	case errors.As(err, &large):
		return c.conclude(ctx, verdictUnfit(large.Error()))
	case errors.As(err, &crash):
		c.log.Error("the sandbox crashed", "reason", crash.Reason)
		return c.conclude(ctx, verdictCrash(crash))
	case errors.As(err, &failed):
		c.log.Error("the check failed", "reason", scrub(failed.Message))
		return c.conclude(ctx, verdictFailed(failed))
	case !c.task.last():
		return err
	}
	c.log.Error("giving up", "stage", stage, "error", scrub(err.Error()))
	return c.giveUp(ctx, verdictGivenUp(stage, c.task.Try, err))
}

// post publishes the report, unless the head moved on or exactly this result stands already.
func (c *check) post(ctx context.Context, rep *report.Report, externalID string) error {
	superseded, err := c.task.Ledger.Superseded(ctx)
	if err != nil {
		return err
	}
	if superseded {
		// A newer job for the same head finds this result and leaves it; only another head makes it void.
		moved, err := c.moved(ctx)
		if err != nil {
			return err
		}
		if moved {
			return c.abandon(ctx)
		}
	}
	if c.run.ID == 0 && sameResult(c.known, externalID) {
		c.log.Info("nothing changed since the last check", "conclusion", string(rep.Conclusion))
		return c.task.Ledger.SetNote(ctx, "")
	}
	c.run.ExternalID = externalID
	c.run.Conclusion = string(rep.Conclusion)
	c.run.Title = rep.Title
	c.run.Summary = c.Summary(rep, c.blobURL)
	if c.Text != nil {
		c.run.Text = c.Text(rep, c.blobURL)
	}
	c.draftable = slices.ContainsFunc(rep.Findings, func(f report.Finding) bool {
		return f.Blocks && !f.Waits()
	})
	c.run.Annotations = annotate(rep)
	return c.complete(ctx)
}
