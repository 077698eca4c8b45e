package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/report"
)

// fail decides what an error in a stage means: to hand back, to wait, to stop, to try again, or to tell.
func (c *check) fail(ctx context.Context, stage string, err error) error {
	c.endProgress()
	var (
		later     *forge.RetryLater
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

// giveUp is conclude for what the change is not to blame for: the sweep has it tried again.
func (c *check) giveUp(ctx context.Context, v verdict) error {
	id := forge.RunID{State: forge.GaveUp, Job: c.task.Sequence, Times: c.gaveUp + 1}
	if _, again := id.Retry(); again {
		v.summary += "\n\nLintel also tries again by itself after a while."
	}
	return c.concludeAs(ctx, v, id)
}

// conclude completes the check run as a failure with a reason that another try does not change.
func (c *check) conclude(ctx context.Context, v verdict) error {
	sum := sha256.Sum256([]byte(v.title + v.summary))
	return c.concludeAs(ctx, v, forge.RunID{State: forge.HasFailed, Job: c.task.Sequence, Digest: hex.EncodeToString(sum[:8])})
}

func (c *check) concludeAs(ctx context.Context, v verdict, id forge.RunID) error {
	c.run.Conclusion = string(report.Failure)
	c.run.Title, c.run.Summary = v.title, v.summary
	return c.complete(ctx, id)
}
