package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
)

// check checks one head.
type check struct {
	*headRun

	rules  string             // the commit that the rules are read from
	pr     *forge.PullRequest // nil for a branch and a merge group
	want   mirror.Want        // but its head
	change report.Change      // as far as it does not depend on what was fetched
	moved  func(ctx context.Context) (bool, error)
	// reviewedPulls returns the pull requests whose reviews count; nil: pr only.
	reviewedPulls func(ctx context.Context, state mirror.State) ([]*forge.PullRequest, error)

	settings *forge.Settings // of the repository; nil: not asked for yet

	partakers *People  // nil: not asked for yet
	mapped    []string // teams that the settings map to users
	nameless  bool     // rules looked at the user, who has no name because others than the author took part

	remotes *remotes.Resolver // nil: nothing comes from outside
	foreign []results.Foreign // private repositories that the report has lines of
	waited  time.Duration     // for what comes from outside

	page string // the web address of a page with all of the result; "" for none
}

// see runs the check until its check run is completed.
func (c *check) see(ctx context.Context) error {
	if err := c.tidy(ctx); err != nil || c.closed {
		return err
	}
	err := c.do(ctx)
	if c.task.exhausted() && forge.IsGone(err) {
		c.log.Warn("the check run to report to no longer exists", "error", scrub(err.Error()))
		return c.task.Ledger.SetText(ctx, store.Note, "")
	}
	return err
}

func (c *check) do(ctx context.Context) error {
	wanted, err := c.open(ctx)
	if err != nil || !wanted {
		return err
	}
	if c.task.exhausted() {
		return c.giveUp(ctx, noResult("Not checked: the check did not finish", fmt.Sprintf("the check was started %d times "+
			"and never finished. The server's log has the details.", c.task.Try-1)))
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
	if c.remotes, err = c.sources(ctx, state); err != nil {
		return c.fail(ctx, stageRemotes, err)
	}
	change, err := c.describe(ctx, state)
	if err != nil {
		return c.fail(ctx, stageOf(err), err)
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
	rep, err := c.evaluate(ctx, state, &change)
	if err != nil {
		return c.fail(ctx, stageOf(err), err)
	}
	if c.reviewed() {
		decided, err := c.askAgain(ctx, state, in, &change, rep)
		if err != nil {
			return c.fail(ctx, stageReview, err)
		}
		if decided {
			if rep, err = c.evaluate(ctx, state, &change); err != nil {
				return c.fail(ctx, stageOf(err), err)
			}
		}
	}
	return c.post(ctx, change, rep, c.result(state, change, rep))
}

// describe returns the change, without what must be asked from GitHub.
func (c *check) describe(ctx context.Context, state mirror.State) (change report.Change, err error) {
	change = c.change
	change.GitDir, change.Head, change.Now = state.GitDir, c.head, c.Now()
	change.Owner, change.Cache = c.owner(c.repo)
	change.Host = strings.TrimSuffix(c.webURL(forge.Repo{Owner: "o", Name: "n"}), "/o/n")
	change.Rules, change.Base = state.BaseTip, state.MergeBase
	if change.All {
		change.Rules, change.Base = c.head, ""
	}
	c.rules = change.Rules
	change.Differences = c.Results != nil // which the page shows
	change.User.Unasked = c.pr != nil
	if change.Drafts, err = c.Jobs.DraftsAsked(ctx, c.repo.ID, c.head); err != nil {
		return change, err
	}
	change.Defaults, err = c.remotes.DefaultsAddress(ctx)
	return change, err
}

// owner returns the repository's name for the sandboxes, and the folder of its cache. Repositories of one installation
// do not share caches, since who writes to one must not affect the others.
func (w *Worker) owner(repo forge.Repo) (name, cache string) {
	name = fmt.Sprintf("%d.%d", repo.Installation, repo.ID)
	if w.Cache != "" {
		cache = filepath.Join(w.Cache, name)
	}
	return name, cache
}

// reviewed reports whether the change has an author or reviews; a branch has neither.
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
		err = errors.New("the sandbox returned no answer")
	}
	return in, err
}

// evaluate runs the check. GitHub is asked about the people of the change only where rules may look at the user.
func (c *check) evaluate(ctx context.Context, state mirror.State, change *report.Change) (*report.Report, error) {
	begun, waited := c.Now(), c.waited
	defer func() { c.Metrics.stage(stageCheck, c.Now().Sub(begun)-(c.waited-waited)) }()
	rep, err := c.remotes.Run(ctx, c.Sandbox, *change)
	if err == nil && rep != nil && rep.AsksUser {
		if err = c.identify(ctx, state, change); err == nil {
			rep, err = c.remotes.Run(ctx, c.Sandbox, *change)
		}
	}
	if err == nil && rep == nil {
		err = errors.New("the sandbox returned no answer")
	}
	if err == nil {
		c.Metrics.work(rep.Work)
	}
	return rep, err
}

// ask adds the reviews of exceptions to the change, which only GitHub knows.
func (c *check) ask(ctx context.Context, state mirror.State, in *report.Inspection, change *report.Change) (err error) {
	defer c.timed(stageReview)()
	c.mapped = in.Teams
	if slices.ContainsFunc(in.Exceptions, func(e report.Exception) bool { return e.State == report.Pending }) {
		change.Reviews, err = c.reviews(ctx, state, in)
	}
	return err
}

// askAgain adds the reviews of objects that policies look up and without which they would not pass, which only a check
// finds. It reports whether a review decided about one, so that the change must be checked again.
func (c *check) askAgain(ctx context.Context, state mirror.State, in *report.Inspection, change *report.Change,
	rep *report.Report) (decided bool, err error) {
	relied := &report.Inspection{Approvers: in.Approvers, Exceptions: report.Kept(rep.Exceptions,
		func(e report.Exception) bool { return e.Object && e.Review == nil })}
	if len(relied.Exceptions) == 0 {
		return false, nil
	}
	defer c.timed(stageReview)()
	reviews, err := c.reviews(ctx, state, relied)
	if err != nil {
		return false, err
	}
	change.Reviews = append(change.Reviews, reviews...)
	for i := range rep.Exceptions {
		e := &rep.Exceptions[i]
		at := slices.IndexFunc(reviews, func(r report.Review) bool { return e.Object && r.Of(e.Path, e.Blob, e.Terms) })
		if at >= 0 {
			e.Review = &reviews[at]
			decided = decided || reviews[at].State() != report.Pending
		}
	}
	rep.Conclude()
	return decided, nil
}

// teams lists a user's teams among those of the settings. A team that the App cannot see has no members.
func (c *check) teams(ctx context.Context, login string) (member []string, _ error) {
	for _, team := range c.mapped {
		is, err := c.Client.TeamMember(ctx, c.repo, team, login)
		if err != nil && !forge.IsGone(err) {
			return nil, fmt.Errorf("listing the members of a team: %w", err)
		}
		if is {
			member = append(member, team)
		}
	}
	return member, nil
}

// reviews collects the reviews of the change's exceptions from all of its pull requests. For the same content, a
// refusal outweighs an approval, and an approval outweighs a missing one.
func (c *check) reviews(ctx context.Context, state mirror.State,
	in *report.Inspection) (all []report.Review, err error) {
	pulls, err := c.pulls(ctx, state)
	if err != nil {
		return nil, err
	}
	weight := func(r report.Review) int {
		return slices.Index([]report.State{report.Pending, report.Approved, report.Refused}, r.State())
	}
	for _, pr := range pulls {
		found, err := c.decide(ctx, state, pr, in)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			i := slices.IndexFunc(all, func(a report.Review) bool { return a.Of(r.Path, r.Blob, r.Terms) })
			if i < 0 {
				all = append(all, r)
			} else if weight(r) > weight(all[i]) {
				all[i] = r
			}
		}
	}
	return all, nil
}

// sources returns the resolver of remote sources for this check; nil if nothing is fetched.
func (c *check) sources(ctx context.Context, state mirror.State) (*remotes.Resolver, error) {
	change := remotes.Change{Repo: c.repo, Log: c.log, Fork: c.pr != nil && c.pr.Fork, Anew: c.task.Message.Fresh}
	if c.task.Message.Rules {
		change.Since = c.task.Message.At
	}
	if c.reviewed() {
		change.Authors = func(ctx context.Context) ([]string, error) { return c.authors(ctx, state) }
	}
	resolver, err := c.Remotes(ctx, change)
	if err != nil {
		return nil, &remotes.Error{Err: err}
	}
	if resolver != nil {
		resolver.Watch = c.watch
	}
	return resolver, nil
}

// watch measures the duration of a fetch.
func (c *check) watch() func(remote.Lock) {
	begun := c.Now()
	return func(got remote.Lock) {
		took := c.Now().Sub(begun)
		c.waited += took
		c.Metrics.stage(stageRemotes, took)
		outcomes := map[string]int{}
		for _, e := range got {
			outcome := "had"
			if e.Failure != nil {
				outcome = "failed"
			}
			outcomes[outcome]++
			c.Metrics.sources.WithLabelValues(string(e.Want.Kind), outcome).Inc()
		}
		c.log.Info("fetched remote sources", "had", outcomes["had"], "failed", outcomes["failed"], "took", took.String())
	}
}

// again returns when the check is repeated because a source was unreachable; the zero time if all were reached, or
// after the last retry.
func (c *check) again() time.Time {
	if !slices.ContainsFunc(c.remotes.Lock(), func(e remote.Entry) bool { return e.Failure != nil && e.Failure.Passing }) {
		return time.Time{}
	}
	return forge.NextRetry(cmp.Or(c.lacking, c.Now()), c.Now())
}

// stageOf returns the stage of an error of checking.
func stageOf(err error) string {
	if forge.Is[*remotes.Error](err) {
		return stageRemotes
	}
	return stageCheck
}
