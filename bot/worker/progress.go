package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
)

// reportProgress has the check run say that the check is under way, unless it already does or the check is done within the
// worker's patience: then its result is the first and only thing that GitHub is told, for half of the requests. Until then
// GitHub shows of a required check that it is expected.
// Without a run that is owed there is nothing to tell. To be followed by told.
func (c *check) reportProgress(ctx context.Context) error {
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
		// Where GitHub's limits are half used, results come first, and are told all the same.
		if err := c.Client.Publish(github.Background(ctx), c.repo, &run); err != nil {
			c.log.Info("the check run does not show that the check is under way", "error", scrub(err.Error()))
		}
	}()
	c.quiet = sync.OnceFunc(func() {
		close(done)
		<-over
		c.run.ID = run.ID
	})
	return nil
}

// endProgress ends tell. Afterwards the run is at GitHub if it has an id.
func (c *check) endProgress() {
	if c.quiet != nil {
		c.quiet()
	}
}
