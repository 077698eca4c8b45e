package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// previewOne finds out what the pull request would change in one repository: in what the tip of its default branch deploys.
// What keeps it from being found out is noted there; again says that this may pass. Errors are about GitHub's limits and
// the end of the job.
func (o *fleetPreview) previewOne(ctx context.Context, u store.Dependent, proposed report.ProposedRules, into *report.UserOutlook) (again bool,
	err error) {
	repo := forge.Repo{Installation: o.repo.Installation, ID: u.ID, Owner: u.Owner, Name: u.Name}
	*into = report.UserOutlook{Repository: repo.String(), Private: true, URL: o.webURL(repo), At: o.Now()}
	settings, err := o.Client.Repository(ctx, repo)
	if err != nil {
		return o.notPreviewed(ctx, into, err)
	}
	if settings.Owner != "" && settings.Name != "" {
		repo.Owner, repo.Name = settings.Owner, settings.Name
		into.Repository, into.URL = repo.String(), o.webURL(repo)
	}
	into.Private = settings.Private
	if !u.Takes(proposed.Refs) || settings.Archived || settings.DefaultBranch == "" || into.Private && !o.private {
		into.State = report.OutlookApart
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
	into.See(c.withhold(ctx, rep)) // who reads the check run may read this repository, and need not what it is made of
	if into.State == report.OutlookFails || into.State == report.OutlookSeen && into.Tells() {
		into.Page = o.recordPage(ctx, c, state, rep)
	}
	if into.Private {
		into.Discreet(proposed.Addresses)
	}
	return false, nil
}

// preview has the sandbox say what would change.
func (o *fleetPreview) preview(ctx context.Context, c *check) (rep *report.Report, state mirror.State, err error) {
	if c.head, err = c.Client.Branch(ctx, c.repo, c.settings.DefaultBranch); err != nil {
		return nil, state, err
	}
	c.want = mirror.Want{BaseRef: c.settings.DefaultBranch, BaseSHA: c.head}
	if state, err = c.fetch(ctx); err != nil {
		return nil, state, err
	}
	change, err := c.describe(ctx, state)
	if err != nil {
		return nil, state, err
	}
	change.Differences, change.Drafts = false, false
	if o.Remotes == nil {
		return nil, state, errors.New("nothing is fetched from outside here")
	}
	// What the proposed rules name is the author's wish.
	c.remotes, err = o.Remotes(ctx, remotes.Change{Repo: c.repo, Log: c.log, Fork: o.pr.Fork,
		Authors: func(context.Context) ([]string, error) { return []string{o.pr.Author}, nil }})
	if err != nil {
		return nil, state, &remotes.Error{Err: err}
	}
	if change.Defaults, err = c.remotes.DefaultsAddress(ctx); err != nil {
		return nil, state, err
	}
	rep, err = c.evaluate(ctx, change)
	return rep, state, err
}

// notPreviewed notes why a repository could not be looked at.
func (o *fleetPreview) notPreviewed(ctx context.Context, into *report.UserOutlook, err error) (again bool, _ error) {
	var (
		limit    *forge.RetryLater
		large    *mirror.TooLarge
		vanished *mirror.Vanished
		crash    *sandbox.Crash
		failed   *sandbox.Failed
		fetching *remotes.Error
	)
	into.State = report.OutlookFails
	switch {
	case ctx.Err() != nil, errors.As(err, &limit):
		return false, err
	case forge.IsGone(err):
		into.Reason = "it is out of the App's reach"
	case errors.As(err, &large):
		into.Reason = fmt.Sprintf("it is larger than the limit of %d MB for a mirror", large.Limit>>20)
	case errors.As(err, &crash):
		into.Reason = "the check " + scrub(crash.Reason)
	case errors.As(err, &failed):
		into.Reason = scrub(failed.Message)
	case errors.As(err, &vanished):
		into.Reason, again = "its default branch moved meanwhile", true
	case errors.As(err, &fetching):
		into.Reason, again = "what it takes from outside could not be fetched", true
	default:
		into.Reason, again = "it could not be fetched from GitHub", true
	}
	if into.Private && (crash != nil || failed != nil) {
		into.Reason = "the check could not be done; the server's log says why"
	}
	o.log.Warn("a repository could not be looked at", "user", into.Repository, "error", scrub(err.Error()))
	return again, nil
}

// recordPage stores what would change in a repository for those who may read it, and returns the address of the page;
// "" where there is none.
func (o *fleetPreview) recordPage(ctx context.Context, c *check, state mirror.State, rep *report.Report) string {
	if o.Results == nil {
		return ""
	}
	web := o.webURL(c.repo)
	stored := &results.Stored{Report: rep, Meta: results.Meta{Foreign: c.foreign, ID: results.ID("outlook/" + o.of),
		Repository: forge.Repository{Repo: c.repo, Private: c.settings.Private},
		Of:         &results.PreviewOf{Number: o.pr.Number, Repository: o.repository()}, Head: c.head, Rules: state.BaseTip, Conclusion: rep.Conclusion,
		Title: rep.Title, Asked: o.task.Message.At, Completed: o.Now(), GitHub: strings.TrimSuffix(web, "/"+c.repo.String()),
		Engine: o.Version}}
	address, err := o.Results.Record(ctx, stored)
	if err != nil && !errors.Is(err, results.ErrPaused) {
		o.log.Warn("the result was not stored; a repository has no page", "user", c.repo.String(), "error", scrub(err.Error()))
	}
	return address
}
