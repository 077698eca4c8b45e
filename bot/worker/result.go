package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// MaxSummary leaves room, within GitHub's 65,535 bytes, for the text that the client adds about annotations.
const MaxSummary = 65535 - 1024

// post publishes the report, unless the head moved on or the same result is published already.
func (c *check) post(ctx context.Context, change report.Change, rep *report.Report, id forge.RunID) error {
	c.endProgress()
	superseded, err := c.task.Ledger.Superseded(ctx)
	if err != nil {
		return err
	}
	if superseded {
		// A newer job for the same head finds this result and keeps it; only another head makes it void.
		moved, err := c.moved(ctx)
		if err != nil {
			return err
		}
		if moved {
			return c.abandon(ctx)
		}
	}
	c.recordDependency(ctx, rep)
	shown := c.withhold(ctx, rep)
	suggestions, failed := c.suggest(ctx, shown)
	if at := forge.NextRetry(cmp.Or(c.lacking, c.Now()), c.Now()); failed && !at.IsZero() && (id.Until == 0 || at.Unix() < id.Until) {
		id.Until = at.Unix()
	}
	kept := c.record(ctx, change, rep, id)
	if kept != nil {
		c.page = c.run.DetailsURL
	}
	rep = shown
	c.run.Conclusion = string(rep.Conclusion)
	c.run.Title = rep.Title
	web := c.webURL(c.repo)
	options := output.MarkdownOptions{BlobURL: output.Blob(web, c.head), PolicyURL: output.Blob(web, c.rules),
		MaxBytes: MaxSummary, Button: true, Page: c.page}
	c.run.Summary = output.Markdown(rep, options)
	if options.Button = false; c.pr != nil {
		options.NewFileURL = c.newFileURL
	}
	c.run.Text = output.Details(rep, options)
	if slices.ContainsFunc(rep.Findings, func(f report.Finding) bool { return f.Blocks && !f.Waits() }) {
		c.run.Actions = []forge.Action{{Label: "Draft exceptions", Description: "Write exceptions for what blocks",
			Identifier: github.DraftAction}}
	}

	var left int
	c.run.Annotations, left = output.Annotations(rep)
	c.run.Summary += output.Unannotated(len(c.run.Annotations), left, c.page) + suggestions
	if c.nameless {
		c.run.Summary += "\n" + results.Nameless + ".\n"
	}
	return c.send(ctx, result{id: id, run: c.run, kept: kept})
}

// result returns the id of a result. It is equal for equal inputs, equal states of exceptions, which also depend on the
// clock, and equal findings, which also depend on the version: where two versions work side by side, neither replaces the
// other's result by the same.
func (c *check) result(state mirror.State, change report.Change, rep *report.Report) forge.RunID {
	type exception struct {
		Path, Blob string
		State      report.State
	}
	inputs := struct {
		Title, Head, Rules, Base, Author string
		Findings                         []string
		Teams, Branches                  []string
		Reviews                          []report.Review
		Drafts                           bool
		Conclusion                       report.Conclusion
		Exceptions                       []exception
		Outside                          string `json:",omitempty"` // what was fetched: a tag may have moved
		Until                            int64  // of the exceptions in effect: one that ended changes findings
	}{Title: rep.Title, Findings: found(rep), Head: change.Head, Rules: state.BaseTip, Base: state.MergeBase, Author: change.User.Login,
		Teams: change.User.Teams, Branches: change.Branches, Reviews: slices.Clone(change.Reviews),
		Drafts: change.Drafts, Conclusion: rep.Conclusion, Outside: c.remotes.ID(),
		Until: rep.Until.Unix()}
	slices.SortFunc(inputs.Reviews, func(a, b report.Review) int { return strings.Compare(a.Path+a.Blob, b.Path+b.Blob) })
	for _, e := range rep.Exceptions {
		inputs.Exceptions = append(inputs.Exceptions, exception{e.Path, e.Blob, e.State})
	}
	data, _ := json.Marshal(inputs) // texts, numbers and lists of them always marshal
	id := forge.RunID{Digest: fmt.Sprintf("%x", sha256.Sum256(data))}
	if !rep.Until.IsZero() {
		id.Until = rep.Until.Unix() + 1 // what ends within a second has ended after it
	}
	if at := c.again(); !at.IsZero() && (id.Until == 0 || at.Unix() < id.Until) {
		id.Until = at.Unix()
	}
	return id
}

// found lists what a report finds, without its prose, in one order.
func found(rep *report.Report) (list []string) {
	for _, f := range rep.Findings {
		var at report.Origin
		if f.Origin != nil {
			at = report.Origin{Path: f.Origin.Path, StartLine: f.Origin.StartLine}
		}
		list = append(list, fmt.Sprintf("%q %q %v %v %t %t %q %q %q %d", f.Policy, f.Rule, f.Result, f.Action, f.New, f.Blocks, f.Resource, f.Field,
			at.Path, at.StartLine))
	}
	for _, p := range rep.Errors {
		list = append(list, fmt.Sprintf("%q %d", p.Path, p.Line))
	}
	slices.Sort(list)
	return list
}

// settingsTimeout bounds what a check waits to hear whether its repository is private.
const settingsTimeout = 5 * time.Second

// record stores the result and links the check run to its page. A result whose page nobody could open is not stored. If
// storing fails, the check run keeps GitHub's link. It returns nil if nothing was stored.
func (c *check) record(ctx context.Context, change report.Change, rep *report.Report, id forge.RunID) *results.Stored {
	if c.Results == nil {
		return nil
	}
	kept := c.stored(change, rep, id)
	kept.Foreign = c.foreign
	settings, err := c.settings, error(nil)
	if settings == nil {
		settings, err = c.settingsOf(ctx, c.repo)
	}
	var address string
	if err == nil {
		kept.Repository.Private = settings.Private
		if settings.Owner != "" && settings.Name != "" { // after a renaming the job still has the name before
			kept.Repository.Owner, kept.Repository.Name = settings.Owner, settings.Name
		}
		address, err = c.Results.Record(ctx, kept)
	}
	outcome := "stored"
	switch {
	case errors.Is(err, results.ErrPaused):
		outcome = "failed"
	case err != nil:
		outcome = "failed"
		c.log.Warn("the result was not stored; the check run has no page", "error", scrub(err.Error()))
	case address == "":
		outcome = "unwanted"
	case kept.TooLarge || len(kept.LeftOut) > 0:
		outcome = "reduced"
		c.log.Info("the result was too large to be stored completely", "left_out", kept.LeftOut, "all", kept.TooLarge)
	}
	c.Metrics.results.WithLabelValues(outcome).Inc()
	if err != nil || address == "" {
		return nil
	}
	c.run.DetailsURL = address
	return kept
}

// withhold finds the private repositories of which the report has lines. It returns the report without these lines, for
// the check run, which all readers of this repository can see.
func (c *check) withhold(ctx context.Context, rep *report.Report) *report.Report {
	if c.remotes == nil || c.remotes.Private == nil {
		return rep
	}
	c.foreign = nil
	var urls []string
	for _, o := range rep.RemoteSources {
		if repo, private := c.remotes.Private(ctx, o.URL); private && (repo.ID != c.repo.ID || repo.ID == 0) {
			urls = append(urls, o.URL)
			c.foreign = append(c.foreign, results.Foreign{URL: o.URL, Repository: forge.Repository{Repo: repo, Private: true}})
		}
	}
	return rep.Withhold(urls)
}

// settingsOf asks GitHub for a repository's settings.
func (w *Worker) settingsOf(ctx context.Context, repo forge.Repo) (*forge.Settings, error) {
	asking, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	settings, err := w.Client.Repository(asking, repo)
	if err != nil {
		return nil, fmt.Errorf("reading whether the repository is private: %w", err)
	}
	return settings, nil
}

// stored is the result as it is kept.
func (c *check) stored(change report.Change, rep *report.Report, id forge.RunID) *results.Stored {
	m := results.Meta{
		ID: results.ID(c.id(id).String()), Repository: forge.Repository{Repo: c.repo}, Branch: c.task.Key.Branch, Head: c.head, Base: change.Base, Rules: c.rules, CheckRun: c.run.ID,
		Conclusion: rep.Conclusion, Title: rep.Title, Started: c.run.StartedAt,
		Completed: c.Now(), GitHub: strings.TrimSuffix(c.webURL(c.repo), "/"+c.repo.String()), Command: laptop(change)}
	if c.pr != nil {
		m.Pull = &results.Pull{Number: c.pr.Number, Title: c.pr.Title, Author: c.pr.Author, Nameless: c.nameless}
	}
	if c.task.Key.Group != "" && len(change.Branches) > 0 {
		m.Group = change.Branches[0]
	}
	kept := *rep
	kept.Edits = nil
	return &results.Stored{Meta: m, Report: &kept}
}

// laptop returns the command that shows the same in a clone: the rules are those of the base.
func laptop(change report.Change) string {
	above := ""
	if change.Defaults != "" {
		above = " --defaults " + change.Defaults
	}
	if change.All {
		return "git fetch origin " + change.Head + " && lintel check --all --head " + change.Head + above
	}
	command := "git fetch origin " + change.Rules + " " + change.Head + " && lintel check --base " + change.Rules +
		" --head " + change.Head + above
	if change.User.Login != "" {
		command += " --user '" + strings.ReplaceAll(change.User.Login, "'", "") + "'"
	}
	return command
}

const (
	// maxOutbox limits the results in memory: at most all workers meet a rate limit at once.
	maxOutbox = 64
	// outboxAge is longer than any wait that GitHub has asked for.
	outboxAge = 2 * time.Hour
)

// result is the result of a check, ready to be sent.
type result struct {
	id   forge.RunID
	run  forge.CheckRun // its prose
	kept *results.Stored

	sequence uint64
	head     string
	at       time.Time
}

// outbox contains results that GitHub has not accepted yet. The next delivery of the same job sends them without
// another check. A newer job of the key checks again, since something changed. They are lost with the process, and are
// then checked again. The zero value is empty; it is safe for concurrent use.
type outbox struct {
	mu    sync.Mutex
	byKey map[store.Key]result
}

func (u *outbox) put(t Task, head string, r result, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, old := range u.byKey {
		if now.Sub(old.at) > outboxAge {
			delete(u.byKey, key)
		}
	}
	if u.byKey == nil {
		u.byKey = map[store.Key]result{}
	}
	if len(u.byKey) < maxOutbox {
		if r.sequence, r.head = t.Sequence, head; r.at.IsZero() { // it gets no younger by being refused again
			r.at = now
		}
		u.byKey[t.Key] = r
	}
}

// take removes the result of a key. It returns the result if it is of the same job and head, and still valid.
func (u *outbox) take(t Task, head string, now time.Time) (result, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, ok := u.byKey[t.Key]
	delete(u.byKey, t.Key)
	ends := r.id.Ends()
	return r, ok && r.sequence == t.Sequence && r.head == head && now.Sub(r.at) <= outboxAge &&
		(ends.IsZero() || now.Before(ends))
}

// send completes the check run with a result. If GitHub does not accept it now, or the job is returned to the queue, it
// is put into the outbox.
func (c *check) send(ctx context.Context, r result) error {
	c.run.Conclusion, c.run.Title, c.run.Summary, c.run.Text = r.run.Conclusion, r.run.Title, r.run.Summary, r.run.Text
	c.run.Annotations, c.run.DetailsURL, c.run.Actions = r.run.Annotations, r.run.DetailsURL, r.run.Actions
	if err := c.complete(ctx, r.id); err != nil {
		if !forge.IsGone(err) {
			c.outbox.put(c.task, c.head, r, c.Now())
		}
		return err
	}
	if r.kept != nil && c.run.ID != 0 && c.run.ID != r.kept.CheckRun {
		if err := c.Results.Published(ctx, r.kept, c.run.ID); err != nil {
			c.log.Warn("the stored result could not be linked to its check run", "error", scrub(err.Error()))
		}
	}
	return c.requestPreview(ctx)
}

// suggest has the pull request carry what the findings suggest, where the settings ask for that. It returns what the
// summary says of it, and whether it failed, so that another check tries again: this one does not fail for it.
func (c *check) suggest(ctx context.Context, rep *report.Report) (says string, failed bool) {
	if !rep.Suggest || c.pr == nil {
		return "", false
	}
	left, err := c.Client.Suggest(ctx, c.repo, c.pr.Number, c.head, output.Suggestions(rep))
	var lacks *forge.NotGranted
	switch {
	case errors.As(err, &lacks):
		return fmt.Sprintf("\nSuggested changes (`suggestions: review` in `.lintel.yaml`) were not posted: the App "+
			"lacks the permission *%s*. The App's owner can add it on the App's page; then the owner of this account "+
			"has to accept it.\n", lacks.Permission), false
	case err != nil:
		c.log.Warn("the suggestions were not posted", "error", scrub(err.Error()))
		return "\nGitHub did not accept the suggested changes; a later check tries again.\n", true
	case left > 0:
		return fmt.Sprintf("\n%s not posted: the limit is %d.\n",
			report.Count(left, "more suggested change is", "more suggested changes are"), forge.MaxSuggestions), false
	}
	return "", false
}
