package worker

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// dependentPause is how long after a repository the next one begins to be checked again for rules that changed elsewhere.
const dependentPause = 5 * time.Second

// recordDependency remembers from which repositories the check took rules. What cannot be remembered is not missed here: only
// what changes there is seen later, by the next check.
func (c *check) recordDependency(ctx context.Context, rep *report.Report) {
	if c.Dependents == nil || c.remotes == nil || c.remotes.Private == nil {
		return
	}
	sources := map[forge.Repo][]report.RuleSource{}
	for _, s := range rep.RuleSources {
		from, _ := c.remotes.Private(ctx, s.Name)
		if from.ID != 0 && from.ID != c.repo.ID { // else it is on another host, or out of sight
			sources[from] = append(sources[from], s)
		}
	}
	for from, list := range sources {
		user := store.Dependent{ID: c.repo.ID, Owner: c.repo.Owner, Name: c.repo.Name, At: c.Now(), RuleSources: list}
		if err := c.Dependents.AddDependent(ctx, c.repo.Installation, from.ID, user); err != nil {
			c.log.Warn("it was not noted where rules come from", "repository", from.String(), "error", scrub(err.Error()))
		}
	}
}

// checkDependents stores a job for each repository that takes rules from one whose branch was pushed to, if these may have
// changed; refs are the names by which it would. They begin one after the other, those that were checked last first, so
// that what people wait for finds room between them.
func (w *Worker) checkDependents(ctx context.Context, t Task, refs []string, seen, tip string) error {
	users, err := w.dependentsOf(ctx, t, refs)
	if err != nil || len(users) == 0 {
		return err
	}
	if seen != "" {
		state, err := w.Mirror.Fetch(ctx, t.repo(), mirror.Want{BaseRef: t.Key.Branch, BaseSHA: tip, HeadSHA: tip})
		if err != nil {
			return fmt.Errorf("reading what changed of the rules: %w", err)
		}
		paths, err := w.Mirror.Changed(ctx, state.GitDir, seen, tip)
		if err == nil && !slices.ContainsFunc(paths, mayHoldRules) {
			return nil
		}
	}
	for i, u := range users {
		key := store.Key{Installation: t.Key.Installation, Repository: u.ID, All: true}
		message := store.Message{Delivery: t.Message.Delivery, Event: t.Message.Event, Owner: u.Owner, Name: u.Name, Rules: true,
			At: t.Message.At, After: w.Now().Add(time.Duration(i) * dependentPause)}
		if err := w.Jobs.Publish(ctx, key, message, t.Message.Delivery+"-"+tip); err != nil {
			return err
		}
	}
	return nil
}

// dependentsOf are the repositories that may take rules from a branch of the task's repository; refs are its names.
func (w *Worker) dependentsOf(ctx context.Context, t Task, refs []string) ([]store.Dependent, error) {
	if w.Dependents == nil {
		return nil, nil
	}
	users, err := w.Dependents.Dependents(ctx, t.Key.Installation, t.Key.Repository)
	return slices.DeleteFunc(users, func(u store.Dependent) bool { return !u.Takes(refs) }), err
}

// refsOf are the names by which settings name a branch.
func refsOf(branch, defaultBranch string) []string {
	refs := []string{branch, "refs/heads/" + branch}
	if branch == defaultBranch {
		refs = append(refs, "")
	}
	return refs
}

// mayHoldRules reports whether a file may hold rules, or what they are built from.
func mayHoldRules(p string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(p))
}
