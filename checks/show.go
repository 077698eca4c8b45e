package checks

import (
	"context"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/show"
)

// Show answers what a tree deploys, with what earlier checks and answers left. See show.Answer.
func (c *Checker) Show(ctx context.Context, q report.Query) (*report.Showing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(q.GitDir, q.Cache)
	defer k.renderings.Save()
	return show.Answer(ctx, q, show.Kept{Blobs: &k.blobs, Fetched: &k.fetched, Graphs: &k.graphs, Renderings: &k.renderings})
}
