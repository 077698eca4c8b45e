package worker

import (
	"context"
	"errors"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
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
