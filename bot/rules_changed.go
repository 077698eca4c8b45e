package bot

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
)

const (
	// ruleFiles is how many changed manifests are looked into; a larger push counts as one that changes rules.
	ruleFiles = 200
	settings  = report.SettingsPath
)

// rulesChanged reports whether what changed in a branch may bear on the checks of pull requests into it: the
// settings, the code owners, and whatever looks like a policy or an exception on either side. It may be wrong
// in one direction only: a check too many finds the same result and leaves it.
func (w *Worker) rulesChanged(ctx context.Context, t Task, seen, tip string) (bool, error) {
	if seen == "" {
		return true, nil
	}
	state, err := w.Mirror.Fetch(ctx, t.repo(), mirror.Want{BaseRef: t.Key.Branch, BaseSHA: tip, HeadSHA: tip})
	if err != nil {
		return unknown(ctx, err)
	}
	paths, err := w.Mirror.Changed(ctx, state.GitDir, seen, tip)
	if err != nil {
		return unknown(ctx, err)
	}
	var manifests []string
	built := false
	for _, p := range paths {
		name := path.Base(p)
		built = built || strings.HasPrefix(strings.ToLower(name), "kustomization")
		switch {
		case p == settings, name == "CODEOWNERS":
			return true, nil
		case slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name))):
			manifests = append(manifests, p)
		}
	}
	if len(manifests) > ruleFiles {
		return true, nil
	}
	if built { // it may build the policies that the settings name
		if found, err := w.Mirror.Holds(ctx, state.GitDir, tip, []string{settings}, []string{"policies"}); err != nil ||
			found {
			if err != nil {
				return unknown(ctx, err)
			}
			return true, nil
		}
	}
	for _, commit := range []string{seen, tip} {
		found, err := w.Mirror.Holds(ctx, state.GitDir, commit, manifests, engine.RuleMarks())
		if err != nil {
			return unknown(ctx, err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

// unknown takes what cannot be found out for a change, and leaves it to the checks to say why; only what
// another try cures is an error.
func unknown(ctx context.Context, err error) (bool, error) {
	var later *github.RetryLater
	if ctx.Err() != nil || errors.As(err, &later) {
		return false, err
	}
	return true, nil
}
