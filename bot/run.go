package bot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/bot/webhook"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"

	conclusionCancelled = "cancelled"
)

const (
	// begun starts the digest of a run that has no result yet; the job's number follows.
	begun = "begun-"
	// gaveUp starts the digest of a run that ended without a result by no fault of the change. How often that
	// happened to this head follows, and the job's number. Such a run is taken up again, see Settled.
	gaveUp = "gave-up-"
	// demanded is between a subject and who asked for a fresh run.
	demanded = "+"
)

// externalID names a result of this subject. Two pull requests can share a head, and so the list of its check
// runs; and who demands a fresh run gets one, even if its result is the same.
func (c *check) externalID(digest string) string {
	subject := webhook.Subject(c.task.Key)
	if c.task.Message.Fresh {
		subject += demanded + cmp.Or(c.task.Message.Demand, c.task.Message.Delivery)
	}
	return github.ExternalID(subject, digest)
}

// Ours reports whether a check run is about the pull request with that number.
func Ours(run github.CheckRun, number int) bool { return about(run, queue.Key{Number: number}) }

// about reports whether a check run is about what the key names.
func about(run github.CheckRun, key queue.Key) bool {
	subject, _ := github.SplitExternalID(run.ExternalID)
	subject, _, _ = strings.Cut(subject, demanded)
	return subject == webhook.Subject(key)
}

// subjectKey is what a check run is about, within the installation and repository of base.
func subjectKey(base queue.Key, run github.CheckRun) (queue.Key, bool) {
	return webhook.SubjectKey(base, run.ExternalID)
}

// retries are the pauses after which a head that was given up is tried again. After the last it takes a
// person, a push or another event.
var retries = []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// givenUp is how often a head had been given up when the run was completed, zero for a result.
func givenUp(run github.CheckRun) int {
	_, digest := github.SplitExternalID(run.ExternalID)
	rest, ok := strings.CutPrefix(digest, gaveUp)
	times, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(times)
	if !ok || err != nil {
		return 0
	}
	return max(n, 1)
}

// Settled judges a check run of ours for the sweep: whether its head needs no other job now, and whether that
// stays so. A run that was given up is final only after the last retry.
func Settled(run github.CheckRun, now time.Time) (settled, final bool) {
	if run.Status != statusCompleted {
		return false, false
	}
	n := givenUp(run)
	switch {
	case n == 0, n > len(retries):
		return true, true
	}
	return now.Sub(run.CompletedAt) < retries[n-1], false
}

// sameResult compares external ids without the demand that led to them.
func sameResult(a, b string) bool {
	_, x := github.SplitExternalID(a)
	_, y := github.SplitExternalID(b)
	return x == y
}

// digest is the external id of a result: equal for equal inputs and equal states of the exceptions, which
// depend on the clock, too.
func (c *check) digest(state mirror.State, change report.Change, rep *report.Report) string {
	type exception struct {
		Path, Blob string
		State      report.State
	}
	inputs := struct {
		Version, Head, Rules, Base, Author string
		Teams                              []string
		Reviews                            []report.Review
		Drafts                             bool
		Conclusion                         report.Conclusion
		Exceptions                         []exception
	}{Version: c.Version, Head: change.Head, Rules: state.BaseTip, Base: state.MergeBase, Author: change.User.Login, Teams: change.User.Teams,
		Reviews: slices.Clone(change.Reviews), Drafts: change.Drafts, Conclusion: rep.Conclusion}
	slices.SortFunc(inputs.Reviews, func(a, b report.Review) int { return strings.Compare(a.Path+a.Blob, b.Path+b.Blob) })
	for _, e := range rep.Exceptions {
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

// tidy completes what is left open on a head that is not (or no longer) to be checked: by an earlier job, whose
// note names the head, or by GitHub, which opens a run again when somebody asks for it on an old head.
func (c *check) tidy(ctx context.Context) error {
	note, err := c.task.Ledger.Note(ctx)
	if err != nil {
		return err
	}
	stale := func(head string) bool { return head != "" && (head != c.head || c.closed) }
	for _, head := range slices.Compact([]string{note, c.task.Message.Head}) {
		if !stale(head) || head != note && !c.task.Message.Fresh {
			continue
		}
		runs, err := c.Door.CheckRuns(ctx, c.repo, head)
		if err != nil && !isGone(err) {
			return fmt.Errorf("looking for check runs of an earlier head: %w", err)
		}
		for _, run := range runs {
			if !about(run, c.task.Key) || run.Status == statusCompleted {
				continue
			}
			run.HeadSHA = head
			if err := c.cancel(ctx, &run); err != nil && !isGone(err) {
				return err
			}
		}
	}
	if !stale(note) {
		return nil
	}
	return c.task.Ledger.SetNote(ctx, "")
}

// open finds or creates the check run; false means that nothing is wanted. A head that has a completed one gets
// another only when the result turns out to be another, or when somebody asked for a fresh run. A completed run
// without a result is opened again.
func (c *check) open(ctx context.Context) (wanted bool, _ error) {
	runs, err := c.Door.CheckRuns(ctx, c.repo, c.head)
	if err != nil {
		return false, fmt.Errorf("looking for check runs of the head: %w", err)
	}
	fresh := c.task.Message.Fresh
	for _, run := range slices.Backward(runs) { // newest last, so that it wins
		if !about(run, c.task.Key) {
			continue
		}
		n := givenUp(run)
		if run.Status != statusCompleted || n > 0 {
			c.run, c.gave = run, n
			continue
		}
		if givenUp(c.run) > 0 {
			c.run = github.CheckRun{Part: c.part} // a later run has the result
		}
		if run.Conclusion == conclusionCancelled {
			continue // of a head that came back
		}
		c.known = run.ExternalID
		// This very job may have posted before its process died.
		if strings.HasPrefix(run.ExternalID, c.externalID("")) {
			fresh = false
		}
	}
	if c.run.Status == statusCompleted && (fresh || c.task.exhausted()) {
		// Who asks for a fresh run gets one; and what cannot be checked is reported once.
		if c.task.exhausted() {
			return false, c.task.Ledger.SetNote(ctx, "")
		}
		c.run = github.CheckRun{Part: c.part}
	}
	c.run.HeadSHA = c.head
	if c.run.ID == 0 && c.known != "" && !fresh {
		return !c.task.Message.Missing, nil
	}
	// Before the run is created: should the process die right after, the next job knows where to look.
	if err := c.task.Ledger.SetNote(ctx, c.head); err != nil {
		return false, err
	}
	if c.run.ID != 0 {
		return true, nil
	}
	c.run.Status = statusQueued
	c.run.ExternalID = c.externalID(begun + strconv.FormatUint(c.task.Sequence, 10))
	c.run.Title, c.run.Summary = "Waiting to check", "The commits are being fetched."
	if err := c.Door.Publish(ctx, c.repo, &c.run); err != nil {
		return false, fmt.Errorf("creating the check run: %w", err)
	}
	c.log.Info("check run created", "check_run", c.run.ID)
	return true, nil
}

// progress tells people that the check runs. Without an open run there is nothing to tell.
func (c *check) progress(ctx context.Context) error {
	if c.run.ID == 0 || c.run.Status == statusInProgress {
		return nil
	}
	c.run.Status, c.run.StartedAt = statusInProgress, c.Now()
	c.run.Conclusion, c.run.CompletedAt = "", time.Time{}
	c.run.Title, c.run.Summary = "Checking", "The manifests are being rendered and evaluated."
	if err := c.Door.Publish(ctx, c.repo, &c.run); err != nil {
		return fmt.Errorf("updating the check run: %w", err)
	}
	return nil
}

// giveUp is conclude for what the change is not to blame for: the sweep has it tried again.
func (c *check) giveUp(ctx context.Context, v verdict) error {
	digest := gaveUp + strconv.Itoa(c.gave+1) + "-" + strconv.FormatUint(c.task.Sequence, 10)
	if c.gave < len(retries) {
		v.summary += "\n\nLintel also tries again by itself after a while."
	}
	return c.concludeAs(ctx, v, digest)
}

// conclude completes the check run as a failure with a reason that another try does not change.
func (c *check) conclude(ctx context.Context, v verdict) error {
	sum := sha256.Sum256([]byte(v.title + v.summary))
	return c.concludeAs(ctx, v, "failed-"+strconv.FormatUint(c.task.Sequence, 10)+"-"+hex.EncodeToString(sum[:8]))
}

func (c *check) concludeAs(ctx context.Context, v verdict, digest string) error {
	c.run.ExternalID = c.externalID(digest)
	c.run.Conclusion = string(report.Failure)
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
	if c.draftable {
		c.run.Actions = append(c.run.Actions, github.Action{Label: "Draft exceptions", Description: "Write exceptions for what blocks", Identifier: webhook.DraftAction})
	}
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
