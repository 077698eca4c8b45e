package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

const (
	// previewPart is the part of the name of the check run.
	previewPart = "other repositories"
	// previewTurn is how long one turn checks repositories before other jobs run. previewPause is the pause until the
	// next turn.
	previewTurn  = 10 * time.Second
	previewPause = 2 * time.Second
	// previewReported is the time between updates of the check run.
	previewReported = 30 * time.Second
	// previewTries is how often a repository is tried if GitHub or the network fails.
	previewTries = 2
	// previewShare is the fraction of GitHub's hourly limit that stays for other work.
	previewShare = 4
)

// requestPreview stores a job that previews the pull request's effect on the repositories that take rules from this
// one.
func (c *check) requestPreview(ctx context.Context) error {
	if c.pr == nil {
		return nil
	}
	users, err := c.Jobs.Dependents(ctx, c.repo.Installation, c.repo.ID)
	if err != nil || len(users) == 0 {
		return err
	}
	key := store.Key{Installation: c.repo.Installation, Repository: c.repo.ID, Target: forge.Target{Preview: c.pr.Number}}
	return c.Jobs.Publish(ctx, key, c.task.following(c.Now()), "")
}

// fleetPreview previews a pull request's effect on the repositories that take rules from its repository. Its own check
// run reports the effect and never blocks merging. The work is done in turns, so that other jobs can run in between.
type fleetPreview struct {
	*headRun
	pr         *forge.PullRequest
	proposing  *check // of the pull request, for its people
	state      mirror.State
	dependents []store.Dependent
	private    bool // the repository of the pull request
	of         string
	previews   map[int64]store.Preview // by repository
}

// fleetPreview works on a preview for one turn.
func (w *Worker) fleetPreview(ctx context.Context, t Task, log *slog.Logger) error {
	pr, err := w.Client.PullRequest(ctx, t.repo(), t.Key.Preview)
	if gone, err := w.reachable(ctx, t, log, "pull request", err); gone || err != nil {
		return err
	}
	o := &fleetPreview{headRun: w.headRun(t, log.With("pull_request", pr.Number, "head", pr.HeadSHA, "outlook", true)), pr: pr}
	o.head, o.part, o.closed = pr.HeadSHA, previewPart, pr.State != "open"
	o.proposing = w.check(t, log)
	o.proposing.pr = pr
	if err := o.tidy(ctx); err != nil || o.closed {
		return err
	}
	err = o.turn(ctx)
	if err == nil || ctx.Err() != nil || forge.Is[*forge.RetryLater](err) || forge.Is[*store.Later](err) || !t.last() {
		return err
	}
	log.Error("giving up", "error", scrub(err.Error()))
	return o.giveUp(ctx)
}

// giveUp records that the preview failed.
func (o *fleetPreview) giveUp(ctx context.Context) error {
	return o.conclude(ctx, report.Neutral, "Not known: the preview could not be created", "The effect of this pull "+
		"request on other repositories is not known. The server's log has the details."+askAgain)
}

// turn checks repositories for a while and updates the check run.
func (o *fleetPreview) turn(ctx context.Context) error {
	concerned, err := o.concerns(ctx)
	if err != nil {
		return err
	}
	if !concerned { // any more, perhaps
		o.closed = true
		return o.tidy(ctx)
	}
	demand := o.id(forge.RunID{}).Demand
	// A person who requests a preview of a fork's rules has seen this head, and no later one.
	strange := o.pr.Fork && (demand == "" || o.task.Message.Head != o.head)
	digest := func(of ...any) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", of))) }
	if o.of = digest(o.Version, o.state.MergeBase, o.head, demand); strange {
		o.of = digest(o.of, "fork")
	}
	if wanted, err := o.open(ctx); err != nil || !wanted {
		return err
	}
	if !o.required && o.known == (forge.RunID{Digest: o.of}).Outcome() { // the check run that exists is complete
		return o.task.Ledger.SetText(ctx, store.Note, "")
	}
	if o.task.exhausted() {
		return o.giveUp(ctx)
	}
	if strange {
		return o.conclude(ctx, report.Neutral, "No preview for a pull request from a fork", "The rules of this pull "+
			"request were not evaluated for other repositories, since the results could reveal content that its "+
			"author may not see. To start the preview, somebody with write access can use **Re-run** or **Check "+
			"again**.")
	}
	if o.previews, err = o.Jobs.Previews(ctx, o.task.Key, o.of); err != nil {
		return err
	}
	settings, err := o.settingsOf(ctx, o.repo)
	if err != nil {
		return err
	}
	o.private = settings.Private
	proposed := &report.ProposedRules{Refs: refsOf(o.pr.BaseRef, settings.DefaultBranch), Base: o.state.MergeBase, Head: o.head}
	done, err := o.previewAll(ctx, proposed)
	if err != nil {
		return err
	}
	return o.publishPreview(ctx, done)
}

// concerns reports whether the pull request may change rules of other repositories, and lists these repositories.
func (o *fleetPreview) concerns(ctx context.Context) (bool, error) {
	var err error
	if o.dependents, err = o.Jobs.Dependents(ctx, o.repo.Installation, o.repo.ID); err != nil || len(o.dependents) == 0 {
		return false, err
	}
	want := mirror.Want{Number: o.pr.Number, BaseRef: o.pr.BaseRef, BaseSHA: o.pr.BaseSHA, HeadSHA: o.head}
	if o.state, err = o.Mirror.Fetch(ctx, o.repo, want); err != nil {
		return false, fmt.Errorf("fetching the proposed rules: %w", err)
	}
	paths, err := o.Mirror.Changed(ctx, o.state.GitDir, o.state.MergeBase, o.head)
	if err != nil {
		return false, fmt.Errorf("reading the changes of the rules: %w", err)
	}
	return slices.ContainsFunc(paths, mayHoldRules), nil
}

// previewAll checks repositories until the turn is over; done is true when none is left.
func (o *fleetPreview) previewAll(ctx context.Context, proposed *report.ProposedRules) (done bool, err error) {
	begun := o.Now()
	for tries := range previewTries {
		for _, u := range o.dependents {
			seen := o.previews[u.ID]
			waits := seen.Repository.State == report.DependentWaits || seen.Repository.State == report.DependentFails
			if !waits || seen.Tries > tries {
				continue
			}
			if o.Now().Sub(begun) >= previewTurn {
				return false, nil
			}
			paced, looked, err := o.afford(ctx)
			if err != nil {
				if told := o.publishPreview(ctx, false); !forge.Is[*store.Later](told) {
					return false, told
				}
				return false, err
			}
			again, err := o.previewOne(paced, u, *proposed, &seen.Repository)
			looked()
			if err != nil {
				return false, err
			}
			seen.Of, seen.Tries = o.of, seen.Tries+1
			if !again {
				seen.Tries = previewTries
			}
			o.previews[u.ID] = seen
			if err := o.Jobs.PutPreview(ctx, o.task.Key, u.ID, seen); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// afford waits until one repository may be checked; the caller calls done afterwards. It returns *store.Later if
// GitHub's limits have no room for background work. A turn is admitted as one check, but needs the requests of many.
func (o *fleetPreview) afford(ctx context.Context) (_ context.Context, done func(), _ error) {
	b, known := o.Client.Budget(o.repo.Installation)
	if known && b.Remaining < b.Limit/previewShare && b.Reset.After(o.Now()) {
		return nil, nil, &store.Later{After: b.Reset.Sub(o.Now()),
			Err: errors.New("the rest of GitHub's hourly limit is reserved for checks")}
	}
	return o.admit(ctx, o.task)
}

// publishPreview updates the check run with the present state; done says that it is complete.
func (o *fleetPreview) publishPreview(ctx context.Context, done bool) error {
	out := &report.FleetPreview{}
	if o.Results != nil {
		out.Page = o.Results.Overview(o.repository())
	}
	for _, u := range o.dependents {
		seen, known := o.previews[u.ID]
		if !known {
			seen.Repository = report.DependentPreview{Repository: u.Owner + "/" + u.Name, Private: true}
			seen.Repository.URL = o.webURL(forge.Repo{Owner: u.Owner, Name: u.Name})
		}
		if !o.private && seen.Repository.Private {
			out.Hidden++
			continue
		}
		if seen.Repository.Private { // who may read the rules need not know of all who take them
			seen.Repository.Anonymize()
		}
		out.Dependents = append(out.Dependents, seen.Repository)
	}
	out.Sort()
	o.run.Annotations = o.annotations(out)
	conclusion := report.Success
	if out.Sum().Worse() || !out.Complete() || out.Hidden > 0 {
		conclusion = report.Neutral
	}
	if done {
		return o.conclude(ctx, conclusion, out.Title(), o.PreviewSummary(out))
	}
	later := &store.Later{After: previewPause, Err: errors.New("other jobs have their turn")}
	last, err := o.task.Ledger.Text(ctx, store.Mark)
	if err != nil {
		return err
	}
	if at, err := strconv.ParseInt(last, 10, 64); err == nil && o.Now().Sub(time.Unix(at, 0)) < previewReported {
		return later
	}
	if o.run.StartedAt.IsZero() {
		o.run.StartedAt = o.Now()
	}
	o.run.Status, o.run.Conclusion, o.run.CompletedAt = forge.InProgress, "", time.Time{}
	o.run.Title, o.run.Summary, o.run.Annotations = out.Title(), o.PreviewSummary(out), nil
	if err := o.Client.Publish(ctx, o.repo, &o.run); err != nil {
		return fmt.Errorf("updating the check run: %w", err)
	}
	return cmp.Or(o.task.Ledger.SetText(ctx, store.Mark, strconv.FormatInt(o.Now().Unix(), 10)), error(later))
}

// conclude completes the check run.
func (o *fleetPreview) conclude(ctx context.Context, conclusion report.Conclusion, title, summary string) error {
	if o.run.HeadSHA == "" {
		return nil // nobody knows yet whether one is wanted
	}
	o.run.Conclusion, o.run.Title, o.run.Summary = string(conclusion), title, summary
	o.run.ExternalID = o.id(forge.RunID{Digest: o.of}).String()
	return o.publishFinal(ctx)
}

// annotations returns for each policy of the pull request its effect on other repositories.
func (o *fleetPreview) annotations(out *report.FleetPreview) (list []report.Annotation) {
	for _, p := range out.Policies() {
		_, path, ok := strings.Cut(p.Path, "@"+o.head+"//") // as package rules has files of other repositories
		if !ok || p.PreviewCounts == (report.PreviewCounts{}) {
			continue
		}
		words := "Once this is merged: policy " + p.Policy + ": " + p.PreviewCounts.Words() + " in " +
			report.Count(p.Roots, "other repository", "other repositories")
		list = append(list, output.ProblemAnnotation(report.Problem{Path: path, Line: p.Line, Message: words}, view.Notice,
			"Other repositories"))
	}
	return list
}

// repository is the repository of the pull request.
func (o *fleetPreview) repository() forge.Repository {
	return forge.Repository{Repo: o.repo, Private: o.private}
}

// previewOne previews the effect on one repository, at the tip of its default branch. It records why a preview failed;
// again says that a retry may help. It fails for GitHub's limits and the end of the job.
func (o *fleetPreview) previewOne(ctx context.Context, u store.Dependent, proposed report.ProposedRules, into *report.DependentPreview) (again bool,
	err error) {
	repo := forge.Repo{Installation: o.repo.Installation, ID: u.ID, Owner: u.Owner, Name: u.Name}
	*into = report.DependentPreview{Repository: repo.String(), Private: true, URL: o.webURL(repo), At: o.Now()}
	settings, err := o.Client.Repository(ctx, repo)
	if err != nil {
		return o.notPreviewed(ctx, into, err)
	}
	if settings.Owner != "" && settings.Name != "" {
		repo.Owner, repo.Name = settings.Owner, settings.Name
		into.Repository, into.URL = repo.String(), o.webURL(repo)
	}
	into.Private = settings.Private
	if !u.UsesRulesOf(proposed.Refs) || settings.Archived || settings.DefaultBranch == "" || into.Private && !o.private {
		into.State = report.DependentUnrelated
		return false, nil
	}
	if proposed.Addresses = u.Addresses(); len(proposed.Addresses) == 0 {
		address := o.webURL(o.repo)
		proposed.Addresses = []string{address, address + ".git"}
	}
	c := o.check(o.task, o.log.With("user", repo.String()))
	c.repo, c.settings, c.change.Repository = repo, settings, []string{repo.Name}
	c.change.All, c.change.Branches, c.change.Proposed = true, []string{settings.DefaultBranch}, &proposed
	rep, state, err := o.preview(ctx, c)
	if err != nil {
		return o.notPreviewed(ctx, into, err)
	}
	into.Head = c.head
	into.Fill(c.withhold(ctx, rep)) // who reads the check run may read this repository, and need not what it is made of
	if into.State == report.DependentFails || into.State == report.DependentSeen && !into.Unchanged() {
		into.Page = o.recordPage(ctx, c, state, rep)
	}
	if into.Private {
		into.Redact(proposed.Addresses)
	}
	return false, nil
}

// preview runs the preview in the sandbox.
func (o *fleetPreview) preview(ctx context.Context, c *check) (rep *report.Report, state mirror.State, err error) {
	if c.head, err = c.Client.Branch(ctx, c.repo, c.settings.DefaultBranch); err != nil {
		return nil, state, err
	}
	c.want = mirror.Want{BaseRef: c.settings.DefaultBranch, BaseSHA: c.head}
	if state, err = c.fetch(ctx); err != nil {
		return nil, state, err
	}
	// What the proposed rules name is the wish of the people of the pull request.
	c.remotes, err = o.Remotes(ctx, remotes.Change{Repo: c.repo, Log: c.log, Fork: o.pr.Fork,
		Authors: func(ctx context.Context) ([]string, error) { return o.proposing.authors(ctx, o.state) }})
	if err != nil {
		return nil, state, &remotes.Error{Err: err}
	}
	change, err := c.describe(ctx, state)
	if err != nil {
		return nil, state, err
	}
	change.Differences, change.Drafts = false, false
	rep, err = c.evaluate(ctx, state, &change)
	return rep, state, err
}

// notPreviewed records why a repository could not be checked.
func (o *fleetPreview) notPreviewed(ctx context.Context, into *report.DependentPreview, err error) (again bool, _ error) {
	var (
		large  *mirror.TooLarge
		crash  *sandbox.Crash
		failed *sandbox.Failed
	)
	into.State = report.DependentFails
	switch {
	case ctx.Err() != nil, forge.Is[*forge.RetryLater](err):
		return false, err
	case forge.IsGone(err):
		into.Reason = "the App has no access to it"
	case errors.As(err, &large):
		into.Reason = fmt.Sprintf("it is larger than the limit of %d MB for a mirror", large.Limit>>20)
	case errors.As(err, &crash):
		into.Reason = "the check " + scrub(crash.Reason)
	case errors.As(err, &failed):
		into.Reason = scrub(failed.Message)
	case forge.Is[*mirror.Vanished](err):
		into.Reason, again = "its default branch changed during the check", true
	case forge.Is[*remotes.Error](err):
		into.Reason, again = "its remote sources could not be fetched", true
	default:
		into.Reason, again = "it could not be fetched from GitHub", true
	}
	if into.Private && (crash != nil || failed != nil) {
		into.Reason = "the check could not be run; the server's log has the reason"
	}
	o.log.Warn("a repository could not be checked", "user", into.Repository, "error", scrub(err.Error()))
	return again, nil
}

// recordPage stores the effect on a repository for its readers, and returns the address of the page; "" if there is
// none.
func (o *fleetPreview) recordPage(ctx context.Context, c *check, state mirror.State, rep *report.Report) string {
	if o.Results == nil {
		return ""
	}
	web := o.webURL(c.repo)
	stored := &results.Stored{Report: rep, Meta: results.Meta{Foreign: c.foreign, ID: results.ID("outlook/" + o.of),
		Repository: forge.Repository{Repo: c.repo, Private: c.settings.Private},
		Of:         &results.PreviewOf{Number: o.pr.Number, Repository: o.repository()}, Head: c.head, Rules: state.BaseTip, Conclusion: rep.Conclusion,
		Title: rep.Title, Completed: o.Now(), GitHub: strings.TrimSuffix(web, "/"+c.repo.String())}}
	address, err := o.Results.Record(ctx, stored)
	if err != nil && !errors.Is(err, results.ErrPaused) {
		o.log.Warn("the result was not stored; a repository has no page", "user", c.repo.String(), "error", scrub(err.Error()))
	}
	return address
}
