package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/webhook"
	"github.com/lintel-bot/lintel/checks"
)

const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"

	conclusionCancelled = "cancelled"
)

// begun starts the digest of a run that has no result yet; the job's number follows.
const begun = "begun-"

// externalID names a result of this pull request. Two pull requests can share a head, and so the list of
// its check runs; and who demands a fresh run gets one, even if its result is the same.
func (c *check) externalID(digest string) string {
	subject := subjectOf(c.pr.Number)
	if c.task.Message.Fresh {
		subject += demanded + c.task.Message.Delivery
	}
	return github.ExternalID(subject, digest)
}

const demanded = "+"

func subjectOf(number int) string { return "pr-" + strconv.Itoa(number) }

// Ours reports whether a check run is about the pull request with that number.
func Ours(run github.CheckRun, number int) bool {
	subject, _ := github.SplitExternalID(run.ExternalID)
	subject, _, _ = strings.Cut(subject, demanded)
	return subject == subjectOf(number)
}

// sameResult compares external ids without the demand that led to them.
func sameResult(a, b string) bool {
	_, x := github.SplitExternalID(a)
	_, y := github.SplitExternalID(b)
	return x == y
}

// digest is the external id of a result: equal for equal inputs and equal states of the exceptions, which
// depend on the clock, too.
func (c *check) digest(state mirror.State, change checks.Change, report *checks.Report) string {
	type exception struct{ Path, Blob, State string }
	inputs := struct {
		Version, Head, Rules, Base, Author string
		Approved                           []checks.Approval
		Conclusion                         checks.Conclusion
		Exceptions                         []exception
	}{Version: c.Version, Head: change.Head, Rules: state.BaseTip, Base: state.MergeBase, Author: c.pr.Author,
		Approved: slices.Clone(change.Approved), Conclusion: report.Conclusion}
	slices.SortFunc(inputs.Approved, func(a, b checks.Approval) int { return strings.Compare(a.Path+a.Blob, b.Path+b.Blob) })
	for _, e := range report.Exceptions {
		inputs.Exceptions = append(inputs.Exceptions, exception{e.Path, e.Blob, e.State})
	}
	data, err := json.Marshal(inputs)
	if err != nil {
		// Strings and lists of them always marshal; if not, a result that equals no other is safe.
		data = []byte(strconv.FormatUint(c.task.Sequence, 10))
	}
	sum := sha256.Sum256(data)
	return c.externalID(hex.EncodeToString(sum[:]))
}

// tidy completes what an earlier job for this pull request left open on another head, or on this one when
// the pull request is closed. The note names the head.
func (c *check) tidy(ctx context.Context) error {
	note, err := c.task.Ledger.Note(ctx)
	if err != nil {
		return err
	}
	if note == "" || note == c.pr.HeadSHA && c.pr.State == "open" {
		return nil
	}
	runs, err := c.Door.CheckRuns(ctx, c.repo, note)
	if err != nil && !isGone(err) {
		return fmt.Errorf("looking for check runs of an earlier head: %w", err)
	}
	for _, run := range runs {
		if !Ours(run, c.pr.Number) || run.Status == statusCompleted {
			continue
		}
		run.HeadSHA = note
		if err := c.cancel(ctx, &run); err != nil && !isGone(err) {
			return err
		}
	}
	return c.task.Ledger.SetNote(ctx, "")
}

// open finds or creates the check run. A head that has a completed one gets another only when the result
// turns out to be another, or when somebody asked for a fresh run.
func (c *check) open(ctx context.Context) error {
	runs, err := c.Door.CheckRuns(ctx, c.repo, c.pr.HeadSHA)
	if err != nil {
		return fmt.Errorf("looking for check runs of the head: %w", err)
	}
	fresh := c.task.Message.Fresh
	for _, run := range slices.Backward(runs) { // newest last, so that it wins
		if !Ours(run, c.pr.Number) {
			continue
		}
		if run.Status != statusCompleted {
			c.run = run
			continue
		}
		c.known = run.ExternalID
		// This very job may have posted before its process died.
		if strings.HasPrefix(run.ExternalID, c.externalID("")) {
			fresh = false
		}
	}
	c.run.HeadSHA = c.pr.HeadSHA
	if c.run.ID == 0 && c.known != "" && !fresh {
		return nil
	}
	// Before the run is created: should the process die right after, the next job knows where to look.
	if err := c.task.Ledger.SetNote(ctx, c.pr.HeadSHA); err != nil {
		return err
	}
	if c.run.ID != 0 {
		return nil
	}
	c.run.Status = statusQueued
	c.run.ExternalID = c.externalID(begun + strconv.FormatUint(c.task.Sequence, 10))
	c.run.Title, c.run.Summary = "Waiting to check", "The commits are being fetched."
	if err := c.Door.Publish(ctx, c.repo, &c.run); err != nil {
		return fmt.Errorf("creating the check run: %w", err)
	}
	c.log.Info("check run created", "check_run", c.run.ID)
	return nil
}

// progress tells people that the check runs. Without an open run there is nothing to tell.
func (c *check) progress(ctx context.Context) error {
	if c.run.ID == 0 || c.run.Status == statusInProgress {
		return nil
	}
	c.run.Status, c.run.StartedAt = statusInProgress, c.Now()
	c.run.Title, c.run.Summary = "Checking", "The manifests are being rendered and evaluated."
	if err := c.Door.Publish(ctx, c.repo, &c.run); err != nil {
		return fmt.Errorf("updating the check run: %w", err)
	}
	return nil
}

// conclude completes the check run as a failure with a reason.
func (c *check) conclude(ctx context.Context, v verdict) error {
	sum := sha256.Sum256([]byte(v.title + v.summary))
	c.run.ExternalID = c.externalID("failed-" + strconv.FormatUint(c.task.Sequence, 10) + "-" + hex.EncodeToString(sum[:8]))
	c.run.Conclusion = string(checks.Failure)
	c.run.Title, c.run.Summary = v.title, v.summary
	return c.complete(ctx)
}

// complete publishes the final state and forgets the note.
func (c *check) complete(ctx context.Context) error {
	started := c.Now()
	c.run.Status, c.run.CompletedAt = statusCompleted, started
	if c.run.StartedAt.IsZero() {
		c.run.StartedAt = started
	}
	c.run.Actions = []github.Action{{Label: "Check again", Description: "Check this commit again", Identifier: webhook.RerunAction}}
	if err := c.Door.Publish(ctx, c.repo, &c.run); err != nil {
		return fmt.Errorf("completing the check run: %w", err)
	}
	c.Metrics.stage(stageReport, c.Now().Sub(started))
	c.Metrics.check(c.run.Conclusion, c.Now().Sub(c.task.Message.At))
	c.log.Info("check run completed", "check_run", c.run.ID, "conclusion", c.run.Conclusion)
	if err := c.task.Ledger.SetNote(ctx, ""); err != nil {
		// The run is complete, which the next job sees; the note costs it one look.
		c.log.Warn("the note of the job stays", "error", err)
	}
	return nil
}

// abandon ends the work on a head that the pull request has left; the new head has its own job.
func (c *check) abandon(ctx context.Context) error {
	c.log.Info("the pull request moved on")
	if c.run.ID != 0 {
		if err := c.cancel(ctx, &c.run); err != nil && !isGone(err) {
			return err
		}
	}
	return c.task.Ledger.SetNote(ctx, "")
}

// cancel completes a run that has no result because nobody needs it any more.
func (c *check) cancel(ctx context.Context, run *github.CheckRun) error {
	run.Status, run.Conclusion, run.CompletedAt = statusCompleted, conclusionCancelled, c.Now()
	run.Title = "Not finished: the pull request moved on"
	run.Summary = "The pull request has another head commit by now, or was closed, so this commit was not checked to the end."
	if err := c.Door.Publish(ctx, c.repo, run); err != nil {
		return fmt.Errorf("canceling a check run: %w", err)
	}
	c.Metrics.check(conclusionCancelled, 0)
	return nil
}
