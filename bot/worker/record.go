package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/checks/report"
)

// settingsTimeout bounds what a check waits to hear whether its repository is private.
const settingsTimeout = 5 * time.Second

// record stores the result and has the check run lead to its page. A result whose page nobody could open is not kept, and
// one that could not be stored leaves the check as it is, with the link that GitHub gives it. Nil: it was not kept.
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
	switch {
	case errors.Is(err, results.ErrPaused):
		c.Metrics.result("failed")
		return nil
	case err != nil:
		c.log.Warn("the result was not stored; the check run has no page", "error", scrub(err.Error()))
		c.Metrics.result("failed")
		return nil
	case address == "":
		c.Metrics.result("unwanted")
		return nil
	case kept.TooLarge || len(kept.LeftOut) > 0:
		c.log.Info("the result was too large to be stored whole", "left_out", kept.LeftOut, "all", kept.TooLarge)
		c.Metrics.result("reduced")
	default:
		c.Metrics.result("stored")
	}
	c.run.DetailsURL = address
	return kept
}

// withhold finds out which private repositories the report has lines of. It returns the report as the check run shows
// it to all who may read this repository: without those.
func (c *check) withhold(ctx context.Context, rep *report.Report) *report.Report {
	if c.remotes == nil || c.remotes.Private == nil {
		return rep
	}
	c.foreign = nil
	var urls []string
	for _, o := range rep.Outside {
		if repo, private := c.remotes.Private(ctx, o.URL); private && (repo.ID != c.repo.ID || repo.ID == 0) {
			urls = append(urls, o.URL)
			c.foreign = append(c.foreign, results.Foreign{URL: o.URL, Repository: forge.Repository{Repo: repo, Private: true}})
		}
	}
	return rep.Withhold(urls)
}

// published tells the stored result which check run shows it.
func (c *check) published(ctx context.Context, kept *results.Stored) {
	if kept == nil || c.run.ID == 0 || c.run.ID == kept.CheckRun {
		return
	}
	if err := c.Results.Published(ctx, kept, c.run.ID); err != nil {
		c.log.Warn("the stored result does not know its check run", "error", scrub(err.Error()))
	}
}

// settingsOf asks GitHub for a repository's settings.
func (w *Worker) settingsOf(ctx context.Context, repo forge.Repo) (*forge.Settings, error) {
	asking, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	settings, err := w.Client.Repository(asking, repo)
	if err != nil {
		return nil, fmt.Errorf("asking whether the repository is private: %w", err)
	}
	return settings, nil
}

// stored is the result as it is kept.
func (c *check) stored(change report.Change, rep *report.Report, id forge.RunID) *results.Stored {
	address := strings.TrimSuffix(c.Client.CloneURL(c.repo), ".git")
	m := results.Meta{
		ID: results.ID(c.id(id).String()), Repository: forge.Repository{Repo: c.repo}, Branch: c.task.Key.Branch, Head: c.head, Base: change.Base, Rules: c.rules, CheckRun: c.run.ID,
		Conclusion: rep.Conclusion, Title: rep.Title, Asked: c.task.Message.At, Started: c.run.StartedAt,
		Completed: c.Now(), GitHub: strings.TrimSuffix(address, "/"+c.repo.String()), Command: laptop(change),
		Engine: c.Version,
	}
	if c.pr != nil {
		m.Pull = &results.Pull{Number: c.pr.Number, Title: c.pr.Title, Author: c.pr.Author, BaseRef: c.pr.BaseRef,
			HeadRef: c.pr.HeadRef, HeadRepo: c.pr.HeadRepo, Fork: c.pr.Fork}
	}
	if c.task.Key.Group != "" && len(change.Branches) > 0 {
		m.Group = change.Branches[0]
	}
	return &results.Stored{Meta: m, Report: rep}
}

// laptop is the command that shows the same in a clone: the rules are those of the base.
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
