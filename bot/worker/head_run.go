package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// headRun is the check run of one head during one task. It finds an existing run, and completes it or gives it up.
type headRun struct {
	*Worker
	task   Task
	repo   forge.Repo
	log    *slog.Logger
	head   string
	part   string // of the check run's name
	closed bool   // nothing is to be checked any more

	run       forge.CheckRun // ID zero: none is open
	required  bool           // a run is wanted even if nothing changed
	quiet     func()         // see reportProgress; nil: nothing is being reported
	known     string         // outcome of the completed run that stands, as its id has it; "" for none
	lacking   time.Time      // since when results are not for good; zero: the one that stands is
	abandoned int            // how often this head was given up
}

// timed measures a stage until the returned function is called.
func (c *headRun) timed(stage string) func() {
	begun := c.Now()
	return func() { c.Metrics.stage(stage, c.Now().Sub(begun)) }
}

// id completes the id of a check run of ours. Two pull requests can share a head and its list of check runs, and a
// request for a fresh run gets one even with the same result.
func (c *headRun) id(id forge.RunID) forge.RunID {
	id.Target = c.task.Key.Target
	if c.task.Message.Fresh {
		id.Demand = cmp.Or(c.task.Message.Demand, c.task.Message.Delivery)
	}
	return id
}

// ours returns the id of a run with the same subject as this check; false for any other run.
func (c *headRun) ours(run forge.CheckRun) (forge.RunID, bool) {
	id, err := forge.ParseRunID(run.ExternalID)
	return id, err == nil && id.Target == c.task.Key.Target
}

// tidy completes open runs on a head that is not checked any more. They were left by an earlier job, whose note names
// the head, or opened again by GitHub for a request on an old head.
func (c *headRun) tidy(ctx context.Context) error {
	c.run.Part = c.part
	note, err := c.task.Ledger.Text(ctx, store.Note)
	if err != nil {
		return err
	}
	stale := func(head string) bool { return head != "" && (head != c.head || c.closed) }
	for _, head := range slices.Compact([]string{note, c.task.Message.Head}) {
		if !stale(head) || head != note && !c.task.Message.Fresh {
			continue
		}
		runs, err := c.Client.CheckRuns(ctx, c.repo, head)
		if err != nil && !forge.IsGone(err) {
			return fmt.Errorf("looking for check runs of an earlier head: %w", err)
		}
		for _, run := range runs {
			if _, ours := c.ours(run); !ours || run.Status == forge.Completed {
				continue
			}
			run.HeadSHA = head
			if err := c.cancel(ctx, &run); err != nil && !forge.IsGone(err) {
				return err
			}
		}
	}
	if !stale(note) {
		return nil
	}
	return c.task.Ledger.SetText(ctx, store.Note, "")
}

// open finds or creates the check run; false if none is wanted. A head with a completed run gets another one only if
// the result differs or a fresh run was requested. A completed run without a result is opened again.
func (c *headRun) open(ctx context.Context) (wanted bool, _ error) {
	runs, err := c.Client.CheckRuns(ctx, c.repo, c.head)
	if err != nil {
		return false, fmt.Errorf("looking for check runs of the head: %w", err)
	}
	fresh := c.task.Message.Fresh
	for _, run := range slices.Backward(runs) { // newest last, so that it wins
		id, ours := c.ours(run)
		if !ours {
			continue
		}
		if run.Status != forge.Completed || id.State == forge.Abandoned {
			c.run, c.abandoned = run, id.Times
			continue
		}
		if c.abandoned > 0 {
			c.run = forge.CheckRun{Part: c.part} // a later run has the result
		}
		if run.Conclusion == forge.Cancelled {
			continue // of a head that came back
		}
		c.known = id.Outcome()
		if id.Until == 0 {
			c.lacking = time.Time{}
		} else if c.lacking.IsZero() {
			c.lacking = run.CompletedAt
		}
		// This job may have posted the result before its process died.
		if id.Demand == c.id(forge.RunID{}).Demand {
			fresh = false
		}
	}
	if c.run.Status == forge.Completed && (fresh || c.task.exhausted()) {
		// A requested fresh run is created; a failure is reported once.
		if c.task.exhausted() {
			return false, c.task.Ledger.SetText(ctx, store.Note, "")
		}
		c.run = forge.CheckRun{Part: c.part}
	}
	if c.run.HeadSHA = c.head; c.run.ID == 0 {
		c.run.ExternalID = c.begun()
	}
	if c.run.ID == 0 && c.known != "" && !fresh {
		return !c.task.Message.Missing, nil
	}
	// The note is stored before the run is created: if the process dies in between, the next job finds the head.
	if err := c.task.Ledger.SetText(ctx, store.Note, c.head); err != nil {
		return false, err
	}
	c.required = true
	return true, nil
}

// begun is the external id of a run without a result.
func (c *headRun) begun() string {
	return c.id(forge.RunID{State: forge.HasBegun, Job: c.task.Sequence}).String()
}

// complete publishes the final state, unless it is published already, and removes the note. Meanwhile, no other job
// publishes one for the head.
func (c *headRun) complete(ctx context.Context, result forge.RunID) error {
	c.run.ExternalID = c.id(result).String()
	head := store.Key{Installation: c.task.Key.Installation, Repository: c.task.Key.Repository, Commit: c.head}
	return c.task.Ledger.Exclusively(ctx, head, func(ctx context.Context) error {
		shared, err := c.sharedHead(ctx)
		if err != nil {
			return err
		}
		if err := c.share(ctx, shared); err != nil {
			return err
		}
		if !c.required && c.run.ID == 0 && c.known == result.Outcome() && shared.newest.Conclusion == c.run.Conclusion {
			c.log.Info("nothing changed since the last check", "conclusion", c.run.Conclusion)
			c.Alarm.Set(c.task.Key, c.repo, result.Ends())
			return c.task.Ledger.SetText(ctx, store.Note, "")
		}
		if shared.newest.ID > c.run.ID {
			c.run.ID = 0 // what is not the newest run decides nothing; it is cancelled if it is open
		}
		started := c.Now()
		if err := c.publishFinal(ctx); err != nil {
			if c.run.ID == 0 && forge.Is[*forge.RetryLater](err) {
				c.revoke(ctx, shared.newest)
			}
			return err
		}
		c.Metrics.stage(stageReport, c.Now().Sub(started))
		c.Metrics.check(c.run.Conclusion, c.Now().Sub(c.task.Message.At))
		c.Alarm.Set(c.task.Key, c.repo, result.Ends()) // for another check when the result expires
		return nil
	})
}

// revoke takes away the newest result of the head if it is better than that of this check, for which GitHub's limits have
// no room now: an update needs none.
func (c *headRun) revoke(ctx context.Context, newest forge.CheckRun) {
	if newest.Status != forge.Completed || badness(report.Conclusion(newest.Conclusion)) >= badness(report.Conclusion(c.run.Conclusion)) {
		return
	}
	run := forge.CheckRun{ID: newest.ID, Part: c.part, HeadSHA: c.head, Status: forge.InProgress, StartedAt: c.Now(),
		ExternalID: c.begun(), Title: "Out of date",
		Summary: "The result changed. The new one is published when GitHub's limits have room for it."}
	if err := c.Client.Publish(ctx, c.repo, &run); err != nil {
		c.log.Warn("a result that is out of date still stands", "check_run", run.ID, "error", scrub(err.Error()))
	}
}

// publishFinal completes the run with what was found out.
func (c *headRun) publishFinal(ctx context.Context) error {
	started := c.Now()
	c.run.Status, c.run.CompletedAt = forge.Completed, started
	if c.run.StartedAt.IsZero() {
		c.run.StartedAt = started
	}
	c.run.Actions = append([]forge.Action{{Label: "Check again", Description: "Check this commit again",
		Identifier: github.RerunAction}}, c.run.Actions...)
	if err := c.Client.Publish(ctx, c.repo, &c.run); err != nil {
		return fmt.Errorf("completing the check run: %w", err)
	}
	c.log.Info("check run completed", "check_run", c.run.ID, "conclusion", c.run.Conclusion)
	if err := c.task.Ledger.SetText(ctx, store.Note, ""); err != nil {
		// The run is complete, which the next job sees; the remaining note costs it one request.
		c.log.Warn("the state of the job was not removed", "error", err)
	}
	return nil
}

// abandon ends the work on a head that the pull request has left; the new head has its own job.
func (c *headRun) abandon(ctx context.Context) error {
	c.log.Info("the pull request has changed")
	if c.run.ID != 0 {
		if err := c.cancel(ctx, &c.run); err != nil && !forge.IsGone(err) {
			return err
		}
	}
	return c.task.Ledger.SetText(ctx, store.Note, "")
}

// cancel completes a run without a result that is no longer needed.
func (c *headRun) cancel(ctx context.Context, run *forge.CheckRun) error {
	run.Status, run.Conclusion, run.CompletedAt = forge.Completed, forge.Cancelled, c.Now()
	run.Title = "Not finished: the pull request has changed"
	run.Summary = "The pull request was closed or has a newer head commit, so the check of this commit was stopped."
	if err := c.Client.Publish(ctx, c.repo, run); err != nil {
		return fmt.Errorf("canceling a check run: %w", err)
	}
	c.Metrics.check(forge.Cancelled, 0)
	return nil
}

// reportProgress sets the check run to "in progress", unless it is already or the check completes within the worker's
// patience. In that case the result is the only update, which halves the requests. Until then, GitHub shows a required
// check as expected. Without a run to complete, it does nothing. It must be followed by endProgress.
func (c *headRun) reportProgress(ctx context.Context) error {
	if !c.required || c.run.Status == forge.InProgress && c.run.ID != 0 {
		return nil
	}
	c.run.Status, c.run.StartedAt = forge.InProgress, c.Now()
	c.run.Conclusion, c.run.CompletedAt = "", time.Time{}
	c.run.Title, c.run.Summary = "Checking", "The manifests are being fetched, rendered and evaluated."
	if c.Patience <= 0 {
		if err := c.Client.Publish(ctx, c.repo, &c.run); err != nil {
			return fmt.Errorf("creating the check run: %w", err)
		}
		return nil
	}
	timer := time.NewTimer(c.Patience)
	run, done, over := c.run, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		defer timer.Stop()
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		// If GitHub's limits are half used, results have priority, and are published without this update.
		if err := c.Client.Publish(github.Background(ctx), c.repo, &run); err != nil {
			c.log.Info("the check run could not be marked as in progress", "error", scrub(err.Error()))
		}
	}()
	c.quiet = sync.OnceFunc(func() {
		close(done)
		<-over
		c.run.ID = run.ID
	})
	return nil
}

// endProgress ends reportProgress. Afterwards the run exists on GitHub if it has an id.
func (c *headRun) endProgress() {
	if c.quiet != nil {
		c.quiet()
	}
}

// giveUp is conclude for reasons outside of the change: the sweep retries the check.
func (c *headRun) giveUp(ctx context.Context, v verdict) error {
	id := forge.RunID{State: forge.Abandoned, Job: c.task.Sequence, Times: c.abandoned + 1}
	if _, again := id.Retry(); again {
		v.summary += "\n\nLintel also tries again automatically after some time."
	}
	return c.concludeAs(ctx, v, id)
}

// conclude completes the check run as a failure with a reason that another try does not change.
func (c *headRun) conclude(ctx context.Context, v verdict) error {
	sum := sha256.Sum256([]byte(v.title + v.summary))
	return c.concludeAs(ctx, v, forge.RunID{State: forge.HasFailed, Job: c.task.Sequence, Digest: hex.EncodeToString(sum[:8])})
}

func (c *headRun) concludeAs(ctx context.Context, v verdict, id forge.RunID) error {
	c.run.Conclusion = string(report.Failure)
	c.run.Title, c.run.Summary = v.title, v.summary
	return c.complete(ctx, id)
}
