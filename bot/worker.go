package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/box"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/checks"
)

// goneTries is how often a pull request that GitHub does not find is looked for: right after a webhook it
// may not be everywhere yet.
const goneTries = 2

// BlobURL is the web address of a line of a file at the head; line 0 is the file.
type BlobURL func(path string, line int) string

// Worker turns jobs into check runs. All fields but Cache, Log and Metrics are required; it is safe for
// concurrent use.
type Worker struct {
	Door     github.Door
	Mirror   Mirror
	Box      Runner
	Approver Approver
	Jobs     Publisher
	Summary  func(report *checks.Report, blob BlobURL) string // markdown for the check run
	Version  string                                           // of the engine; part of what a result depends on
	Cache    string                                           // folder that checks may use, absolute; empty: none
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  *Metrics
}

// Do works on one task. Nil means that it is done, for good or with a failure that the check run tells;
// *queue.Later asks to come back; any other error asks for the next try.
func (w *Worker) Do(ctx context.Context, t Task) error {
	log := w.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("delivery", t.Message.Delivery, "event", t.Message.Event, "repository", t.repo().String(),
		"job", t.Key.String(), "try", t.Try)
	err := w.route(ctx, t, log)
	var later *github.RetryLater
	switch {
	case err == nil:
		w.Metrics.job("done")
	case ctx.Err() != nil:
		log.Info("job handed back")
		w.Metrics.job("handed_back")
	case errors.As(err, &later):
		log.Warn("job postponed", "after", later.After.String(), "reason", scrub(later.Reason))
		w.Metrics.job("postponed")
		return &queue.Later{After: later.After, Err: err}
	default:
		log.Error("job failed", "error", scrub(err.Error()))
		w.Metrics.job("failed")
	}
	return err
}

func (w *Worker) route(ctx context.Context, t Task, log *slog.Logger) error {
	if t.Key.Commit != "" {
		return w.fanOut(ctx, t, log)
	}
	repo := t.repo()
	pr, err := w.Door.PullRequest(ctx, repo, t.Key.Number)
	var gone *github.Gone
	switch {
	case errors.As(err, &gone) && t.Try > goneTries:
		log.Warn("the pull request is out of reach; nothing to do")
		return t.Ledger.SetNote(ctx, "")
	case err != nil:
		return fmt.Errorf("reading the pull request: %w", err)
	}
	c := &check{Worker: w, task: t, repo: repo, pr: pr,
		log: log.With("pull_request", pr.Number, "head", pr.HeadSHA)}
	if err := c.tidy(ctx); err != nil {
		return err
	}
	if pr.State != "open" {
		return nil
	}
	err = c.do(ctx)
	if t.exhausted() && isGone(err) {
		log.Warn("there is nothing left to report to", "error", scrub(err.Error()))
		return t.Ledger.SetNote(ctx, "")
	}
	return err
}

// fanOut turns a job for a commit into jobs for the open pull requests that have it as their head.
func (w *Worker) fanOut(ctx context.Context, t Task, log *slog.Logger) error {
	numbers, err := w.Door.PullRequestsOfCommit(ctx, t.repo(), t.Key.Commit)
	var gone *github.Gone
	if errors.As(err, &gone) && t.Try > goneTries {
		log.Warn("the commit is out of reach; nothing to do")
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for the pull requests of a commit: %w", err)
	}
	for _, n := range numbers {
		key := queue.Key{Installation: t.Key.Installation, Repository: t.Key.Repository, Number: n}
		if err := w.Jobs.Publish(ctx, key, t.Message, t.Message.Delivery); err != nil {
			return err
		}
	}
	return nil
}

// check is the work on one pull request at one head.
type check struct {
	*Worker
	task Task
	repo github.Repo
	pr   *github.PullRequest
	log  *slog.Logger

	run   github.CheckRun // ID zero: none is open
	known string          // external id of the completed run that stands; "" for none
}

func (c *check) do(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	if c.task.exhausted() {
		return c.conclude(ctx, verdictExhausted(c.task.Tries))
	}
	state, err := c.fetch(ctx)
	if err != nil {
		return c.fail(ctx, stageFetch, err)
	}
	if err := c.progress(ctx); err != nil {
		return c.fail(ctx, stageReport, err)
	}
	change := checks.Change{GitDir: state.GitDir, Cache: c.Cache, Rules: state.BaseTip, Base: state.MergeBase, Head: c.pr.HeadSHA,
		User: checks.User{Login: c.pr.Author}, Now: c.Now()}
	report, err := c.evaluate(ctx, change)
	if err != nil {
		return c.fail(ctx, stageCheck, err)
	}
	if slices.ContainsFunc(report.Exceptions, func(e checks.Exception) bool { return e.State == "pending" }) {
		begun := c.Now()
		change.Approved, err = c.Approver.Approvals(ctx, c.repo, c.pr, state.GitDir, state.BaseTip, report)
		c.Metrics.stage(stageReview, c.Now().Sub(begun))
		if err != nil {
			return c.fail(ctx, stageReview, err)
		}
		if len(change.Approved) > 0 {
			if report, err = c.evaluate(ctx, change); err != nil {
				return c.fail(ctx, stageCheck, err)
			}
		}
	}
	return c.post(ctx, report, c.digest(state, change, report))
}

func (c *check) fetch(ctx context.Context) (mirror.State, error) {
	begun := c.Now()
	defer func() { c.Metrics.stage(stageFetch, c.Now().Sub(begun)) }()
	return c.Mirror.Fetch(ctx, c.repo, mirror.Want{
		Number: c.pr.Number, BaseRef: c.pr.BaseRef, BaseSHA: c.pr.BaseSHA, HeadSHA: c.pr.HeadSHA})
}

func (c *check) evaluate(ctx context.Context, change checks.Change) (*checks.Report, error) {
	begun := c.Now()
	defer func() { c.Metrics.stage(stageCheck, c.Now().Sub(begun)) }()
	report, err := c.Box.Run(ctx, change)
	if err == nil && report == nil {
		err = errors.New("the box answered with nothing")
	}
	return report, err
}

// fail decides what an error in a stage means: to hand back, to wait, to stop, to try again, or to tell.
func (c *check) fail(ctx context.Context, stage string, err error) error {
	var (
		later     *github.RetryLater
		vanished  *mirror.Vanished
		strangers *mirror.NoMergeBase
		large     *mirror.TooLarge
		crash     *box.Crash
		failed    *box.Failed
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
		return c.conclude(ctx, verdictVanished(vanished.SHA))
	case errors.As(err, &strangers):
		return c.conclude(ctx, verdictUnfit(strangers.Error()))
	case errors.As(err, &large):
		return c.conclude(ctx, verdictUnfit(large.Error()))
	case errors.As(err, &crash):
		c.log.Error("the box crashed", "reason", crash.Reason)
		return c.conclude(ctx, verdictCrash(crash))
	case errors.As(err, &failed):
		c.log.Error("the check failed", "reason", scrub(failed.Message))
		return c.conclude(ctx, verdictFailed(failed))
	case !c.task.last():
		return err
	}
	c.log.Error("giving up", "stage", stage, "error", scrub(err.Error()))
	return c.conclude(ctx, verdictGivenUp(stage, c.task.Tries, err))
}

// moved reports whether the pull request has left the head that was checked.
func (c *check) moved(ctx context.Context) (bool, error) {
	pr, err := c.Door.PullRequest(ctx, c.repo, c.pr.Number)
	var gone *github.Gone
	if errors.As(err, &gone) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the pull request again: %w", err)
	}
	return pr.HeadSHA != c.pr.HeadSHA || pr.State != "open", nil
}

// blobURL is a BlobURL.
func (c *check) blobURL(path string, line int) string {
	escaped := (&url.URL{Path: path}).EscapedPath()
	address := strings.TrimSuffix(c.Door.CloneURL(c.repo), ".git") + "/blob/" + c.pr.HeadSHA + "/" + escaped
	if line > 0 {
		address += "#L" + strconv.Itoa(line)
	}
	return address
}

// post publishes the report, unless the head moved on or exactly this result stands already.
func (c *check) post(ctx context.Context, report *checks.Report, externalID string) error {
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
		c.log.Info("nothing changed since the last check", "conclusion", string(report.Conclusion))
		return c.task.Ledger.SetNote(ctx, "")
	}
	c.run.ExternalID = externalID
	c.run.Conclusion = string(report.Conclusion)
	c.run.Title = report.Title
	c.run.Summary = c.Summary(report, c.blobURL)
	c.run.Annotations = annotate(report)
	return c.complete(ctx)
}
