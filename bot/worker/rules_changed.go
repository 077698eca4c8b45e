package worker

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/checks/report"
)

// rulesChanged reports whether what changed in a branch may bear on the checks of pull requests into it: its rules, as
// the sandbox reads them on both sides, the code owners, and whatever else there is where rules look other objects up.
// It may be wrong in one direction only: a check too many finds the same result and leaves it.
func (w *Worker) rulesChanged(ctx context.Context, t Task, seen, tip string) (bool, error) {
	if seen == "" {
		return true, nil
	}
	state, err := w.Mirror.Fetch(ctx, t.repo(), mirror.Want{BaseRef: t.Key.Branch, BaseSHA: tip, HeadSHA: tip,
		Also: seen})
	if err != nil {
		return unknown(ctx, err)
	}
	paths, err := w.Mirror.Changed(ctx, state.GitDir, seen, tip)
	if err != nil {
		return unknown(ctx, err)
	}
	if slices.ContainsFunc(paths, func(p string) bool { return path.Base(p) == "CODEOWNERS" }) {
		return true, nil
	}
	var sides [2]*report.Inspection
	for i, commit := range []string{seen, tip} {
		change := report.Change{GitDir: state.GitDir, Head: commit, Rules: commit, All: true, Now: w.Now()}
		change.Owner, change.Cache = w.owner(t.repo())
		if sides[i], err = w.Sandbox.Inspect(ctx, change); err != nil || sides[i] == nil {
			return unknown(ctx, err)
		}
	}
	return sides[0].Rules != sides[1].Rules || sides[1].LooksUp && len(paths) > 0, nil
}

// unknown takes what cannot be found out for a change, and leaves it to the checks to say why; only what
// another try cures is an error.
func unknown(ctx context.Context, err error) (bool, error) {
	var later *forge.RetryLater
	if ctx.Err() != nil || errors.As(err, &later) {
		return false, err
	}
	return true, nil
}
