package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/store"
)

// group checks the merged tree of a merge queue against its base. It has no author. The data of the event is stored for
// later requests of the check.
func (w *Worker) group(ctx context.Context, t Task, log *slog.Logger) error {
	about := t.Message.Group
	if about != nil {
		data, err := json.Marshal(about)
		if err != nil {
			return fmt.Errorf("merge group: %w", err)
		}
		if err := t.Ledger.SetMark(ctx, string(data)); err != nil {
			return err
		}
	} else {
		text, err := t.Ledger.Mark(ctx)
		if err != nil {
			return err
		}
		if about = new(store.Group); json.Unmarshal([]byte(text), about) != nil || about.Base == "" {
			log.Warn("the merge group is no longer known")
			return nil
		}
	}
	c := w.check(t, log.With("merge_group", t.Key.Group, "head", t.Key.Group))
	c.head = t.Key.Group
	if about.BaseRef != "" {
		c.change.Branches = []string{about.BaseRef}
	}
	c.want.BaseSHA = about.Base
	c.moved = func(context.Context) (bool, error) { return false, nil }
	c.reviewedPulls = func(ctx context.Context, state mirror.State) ([]*forge.PullRequest, error) {
		return c.grouped(ctx, state, about)
	}
	return c.see(ctx)
}

// grouped lists the pull requests of a merge group: the one that GitHub names, and those whose head it contains.
func (c *check) grouped(ctx context.Context, state mirror.State, about *store.Group) ([]*forge.PullRequest, error) {
	commits, err := c.Mirror.Commits(ctx, state.GitDir, state.MergeBase, c.head)
	if err != nil {
		return nil, err
	}
	open, err := c.Client.OpenPullRequests(ctx, c.repo, "")
	if err != nil {
		return nil, fmt.Errorf("listing open pull requests: %w", err)
	}
	slices.Sort(commits)
	var pulls []*forge.PullRequest
	for _, pr := range open {
		if _, merged := slices.BinarySearch(commits, pr.HeadSHA); merged || pr.Number == about.Number {
			pulls = append(pulls, &pr)
		}
	}
	return pulls, nil
}
