package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/checks/report"
)

// branch looks at a branch that was pushed to: if its rules may have changed, the open pull requests that go
// into it are checked again; and the default branch gets a report of its own.
func (w *Worker) branch(ctx context.Context, t Task, log *slog.Logger) error {
	repo, name := t.repo(), t.Key.Branch
	settings, err := w.Door.Repository(ctx, repo)
	var tip string
	if err == nil {
		tip, err = w.Door.Branch(ctx, repo, name)
	}
	switch {
	case isGone(err) && t.Try > goneTries:
		log.Warn("the branch is out of reach; nothing to do")
		return t.Ledger.SetNote(ctx, "")
	case err != nil:
		return fmt.Errorf("reading the branch: %w", err)
	case settings.Archived:
		return nil
	}
	log = log.With("branch", name, "head", tip)
	if !t.Message.Missing {
		if err := w.announce(ctx, t, tip, log); err != nil {
			return err
		}
	}
	if name != settings.DefaultBranch {
		return nil
	}
	c := w.check(t, log)
	c.head, c.part, c.change.All = tip, "branch", true
	c.want.BaseRef, c.want.BaseSHA = name, tip
	c.moved = func(ctx context.Context) (bool, error) {
		now, err := w.Door.Branch(ctx, repo, name)
		if isGone(err) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the branch again: %w", err)
		}
		return now != tip, nil
	}
	return c.see(ctx)
}

// announce stores jobs for the open pull requests into a branch whose rules may have changed since it was
// last looked at. The mark is how far that was; without one the rules count as changed.
func (w *Worker) announce(ctx context.Context, t Task, tip string, log *slog.Logger) error {
	seen, err := t.Ledger.Mark(ctx)
	if err != nil || seen == tip {
		return err
	}
	open, err := w.Door.OpenPullRequests(ctx, t.repo())
	if err != nil {
		return fmt.Errorf("asking for open pull requests: %w", err)
	}
	open = slices.DeleteFunc(open, func(pr github.PullRequest) bool { return pr.BaseRef != t.Key.Branch })
	if len(open) > 0 {
		changed, err := w.rulesChanged(ctx, t, seen, tip)
		if err != nil {
			return err
		}
		log.Info("branch pushed", "rules_changed", changed, "pull_requests", len(open))
		if !changed {
			open = nil
		}
	}
	for _, pr := range open {
		key := queue.Key{Installation: t.Key.Installation, Repository: t.Key.Repository, Number: pr.Number}
		message := queue.Message{Delivery: t.Message.Delivery, Event: t.Message.Event, Owner: t.Message.Owner, Name: t.Message.Name, At: t.Message.At}
		if err := w.Jobs.Publish(ctx, key, message, t.Message.Delivery+"-"+tip); err != nil {
			return err
		}
	}
	return t.Ledger.SetMark(ctx, tip)
}

const (
	// ruleFiles is how many changed manifests are looked into; a larger push counts as one that changes rules.
	ruleFiles = 200
	settings  = report.SettingsPath
)

// ruleWords are what a file of policies or exceptions cannot be without.
var ruleWords = []string{"kyverno.io/", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}

// rulesChanged says whether what changed in a branch may bear on the checks of pull requests into it: the
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
		if found, err := w.Mirror.Holds(ctx, state.GitDir, tip, []string{settings}, []string{"policies"}); err != nil || found {
			if err != nil {
				return unknown(ctx, err)
			}
			return true, nil
		}
	}
	for _, commit := range []string{seen, tip} {
		found, err := w.Mirror.Holds(ctx, state.GitDir, commit, manifests, ruleWords)
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

// group checks what a merge queue wants to merge, against what it is put on. It has no author. What the event
// said about it is kept for those who ask for the check again.
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
		if about = new(queue.Group); json.Unmarshal([]byte(text), about) != nil || about.Base == "" {
			log.Warn("nothing is known about the merge group any more")
			return nil
		}
	}
	c := w.check(t, log.With("merge_group", t.Key.Group, "head", t.Key.Group))
	c.head = t.Key.Group
	c.want.BaseSHA = about.Base
	c.moved = func(context.Context) (bool, error) { return false, nil }
	c.judges = func(ctx context.Context, state mirror.State) ([]*github.PullRequest, error) {
		return c.grouped(ctx, state, about)
	}
	return c.see(ctx)
}

// grouped are the pull requests of a merge group: the one that GitHub names, and those whose head it has.
func (c *check) grouped(ctx context.Context, state mirror.State, about *queue.Group) ([]*github.PullRequest, error) {
	commits, err := c.Mirror.Commits(ctx, state.GitDir, state.MergeBase, c.head)
	if err != nil {
		return nil, err
	}
	open, err := c.Door.OpenPullRequests(ctx, c.repo)
	if err != nil {
		return nil, fmt.Errorf("asking for open pull requests: %w", err)
	}
	slices.Sort(commits)
	var pulls []*github.PullRequest
	for _, pr := range open {
		if _, merged := slices.BinarySearch(commits, pr.HeadSHA); merged || pr.Number == about.Number {
			pulls = append(pulls, &pr)
		}
	}
	return pulls, nil
}
