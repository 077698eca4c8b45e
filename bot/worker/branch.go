package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// branch handles a push to a branch. If its rules may have changed, open pull requests into it are checked again. The
// default branch also gets its own report.
func (w *Worker) branch(ctx context.Context, t Task, log *slog.Logger) error {
	repo, name := t.repo(), t.Key.Branch
	open := sync.OnceValues(func() ([]forge.PullRequest, error) { return w.Client.OpenPullRequests(ctx, repo, name) })
	if told := t.Message.Default; told != "" && told != name {
		if idle, err := w.nobodys(ctx, t, refsOf(name, told), open); err != nil || idle {
			return err
		}
	}
	settings, err := w.Client.Repository(ctx, repo)
	var tip string
	if err == nil {
		tip, err = w.Client.Branch(ctx, repo, name)
	}
	if gone, err := w.reachable(ctx, t, log, "branch", err); gone || err != nil || settings.Archived {
		return err
	}
	log = log.With("branch", name, "head", tip)
	if !t.Message.Missing {
		if err := w.announce(ctx, t, settings.DefaultBranch, tip, open, log); err != nil {
			return err
		}
	}
	if name != settings.DefaultBranch {
		return nil
	}
	c := w.check(t, log)
	c.head, c.part, c.change.All = tip, "branch", true
	c.settings = settings
	c.want.BaseRef, c.want.BaseSHA = name, tip
	c.change.Branches = []string{name}
	c.moved = func(ctx context.Context) (bool, error) {
		now, err := w.Client.Branch(ctx, repo, name)
		if forge.IsGone(err) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the branch again: %w", err)
		}
		return now != tip, nil
	}
	return c.see(ctx)
}

// nobodys reports whether nothing depends on a branch that is not the default one: it has no open pull requests, and no
// repository takes rules from it. Most pushes are to such branches and cost one request. It removes the mark, since the
// branch's rules may change unseen from now on.
func (w *Worker) nobodys(ctx context.Context, t Task, refs []string,
	open func() ([]forge.PullRequest, error)) (bool, error) {
	pulls, err := open()
	if forge.IsGone(err) || len(pulls) > 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listing open pull requests: %w", err)
	}
	users, err := w.dependentsOf(ctx, t, refs)
	if err != nil || len(users) > 0 {
		return false, err
	}
	mark, err := t.Ledger.Text(ctx, store.Mark)
	if err == nil && mark != "" {
		err = t.Ledger.SetText(ctx, store.Mark, "")
	}
	return err == nil, err
}

// announce stores jobs for the open pull requests into a branch if its rules may have changed since the marked commit.
// Without a mark, they count as changed.
func (w *Worker) announce(ctx context.Context, t Task, defaultBranch, tip string,
	open func() ([]forge.PullRequest, error), log *slog.Logger) error {
	seen, err := t.Ledger.Text(ctx, store.Mark)
	if err != nil || seen == tip {
		return err
	}
	pulls, err := open()
	if err != nil {
		return fmt.Errorf("listing open pull requests: %w", err)
	}
	if len(pulls) > 0 {
		changed, err := w.rulesChanged(ctx, t, seen, tip)
		if err != nil {
			return err
		}
		log.Info("branch pushed", "rules_changed", changed, "pull_requests", len(pulls))
		if !changed {
			pulls = nil
		}
	}
	for _, pr := range pulls {
		key := store.Key{Installation: t.Key.Installation, Repository: t.Key.Repository, Target: forge.Target{Number: pr.Number}}
		if err := w.Jobs.Publish(ctx, key, t.following(t.Message.At), t.Message.Delivery+"-"+tip); err != nil {
			return err
		}
	}
	if err := w.checkDependents(ctx, t, refsOf(t.Key.Branch, defaultBranch), seen, tip); err != nil {
		return err
	}
	return t.Ledger.SetText(ctx, store.Mark, tip)
}

// rulesChanged reports whether changes in a branch may affect the checks of pull requests into it: its rules, as the
// sandbox reads them on both sides, the code owners, and objects that rules look up. It may only err by returning true:
// an unneeded check finds the same result and changes nothing.
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

// unknown treats an error as a change, so that the check reports it. It returns errors that a retry may fix.
func unknown(ctx context.Context, err error) (bool, error) {
	if ctx.Err() != nil || forge.Is[*forge.RetryLater](err) {
		return false, err
	}
	return true, nil
}

// dependentPause is the time between the checks of two repositories after a change of their shared rules.
const dependentPause = 5 * time.Second

// recordDependency records the repositories from which the check took rules. If that fails, changes there are only seen
// by the next check.
func (c *check) recordDependency(ctx context.Context, rep *report.Report) {
	if c.remotes == nil || c.remotes.Private == nil {
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
		if err := c.Jobs.AddDependent(ctx, c.repo.Installation, from.ID, user); err != nil {
			c.log.Warn("the sources of the rules were not stored", "repository", from.String(), "error", scrub(err.Error()))
		}
	}
}

// checkDependents stores a job for each repository that takes rules from the pushed branch, if these may have changed;
// refs are the branch's names in references. The jobs begin one after the other, the most recently checked repositories
// first, so that urgent jobs run in between.
func (w *Worker) checkDependents(ctx context.Context, t Task, refs []string, seen, tip string) error {
	users, err := w.dependentsOf(ctx, t, refs)
	if err != nil || len(users) == 0 {
		return err
	}
	if seen != "" {
		state, err := w.Mirror.Fetch(ctx, t.repo(), mirror.Want{BaseRef: t.Key.Branch, BaseSHA: tip, HeadSHA: tip})
		if err != nil {
			return fmt.Errorf("reading the changes of the rules: %w", err)
		}
		paths, err := w.Mirror.Changed(ctx, state.GitDir, seen, tip)
		if err == nil && !slices.ContainsFunc(paths, mayHoldRules) {
			return nil
		}
	}
	for i, u := range users {
		key := store.Key{Installation: t.Key.Installation, Repository: u.ID, All: true}
		message := t.following(t.Message.At)
		message.Owner, message.Name, message.Rules = u.Owner, u.Name, true
		message.After = w.Now().Add(time.Duration(i) * dependentPause)
		if err := w.Jobs.Publish(ctx, key, message, t.Message.Delivery+"-"+tip); err != nil {
			return err
		}
	}
	return nil
}

// dependentsOf are the repositories that may take rules from a branch of the task's repository; refs are its names.
func (w *Worker) dependentsOf(ctx context.Context, t Task, refs []string) ([]store.Dependent, error) {
	users, err := w.Jobs.Dependents(ctx, t.Key.Installation, t.Key.Repository)
	return slices.DeleteFunc(users, func(u store.Dependent) bool { return !u.UsesRulesOf(refs) }), err
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

// ofCommit turns a job for a commit into jobs for the open pull requests with this head. If a check was requested, it
// also adds jobs for other subjects with a check run of ours on the commit.
func (w *Worker) ofCommit(ctx context.Context, t Task, log *slog.Logger) error {
	numbers, err := w.Client.PullRequestsOfCommit(ctx, t.repo(), t.Key.Commit)
	if gone, err := w.reachable(ctx, t, log, "commit", err); gone || err != nil {
		return err
	}
	keys := map[store.Key]bool{}
	for _, n := range numbers {
		keys[store.Key{Installation: t.Key.Installation, Repository: t.Key.Repository, Target: forge.Target{Number: n}}] = true
	}
	var runs []forge.CheckRun
	if t.Message.Fresh || t.Message.Missing {
		if runs, err = w.Client.CheckRuns(ctx, t.repo(), t.Key.Commit); err != nil && !forge.IsGone(err) {
			return fmt.Errorf("looking for check runs of a commit: %w", err)
		}
	}
	for _, run := range runs {
		id, foreign := forge.ParseRunID(run.ExternalID)
		if key, err := t.Key.Of(id.Target); foreign == nil && err == nil {
			keys[key] = true
		}
	}
	for key := range keys {
		if err := w.Jobs.Publish(ctx, key, t.Message, t.Message.Delivery); err != nil {
			return err
		}
	}
	return nil
}

// everything stores jobs for all heads in a repository, or in a whole installation.
func (w *Worker) everything(ctx context.Context, t Task, log *slog.Logger) error {
	if wait := t.Message.After.Sub(w.Now()); wait > 0 {
		return &store.Later{After: wait, Err: errors.New("other repositories whose rules changed are checked first")}
	}
	message := t.following(t.Message.At)
	message.Missing, message.Rules = t.Message.Missing, t.Message.Rules
	if t.Key.Repository == 0 {
		repos, err := w.Client.Repositories(ctx, t.Key.Installation)
		if gone, err := w.reachable(ctx, t, log, "installation", err); gone || err != nil {
			return err
		}
		for _, repo := range repos {
			message.Owner, message.Name = repo.Owner, repo.Name
			if err := w.Jobs.Publish(ctx, store.Key{Installation: t.Key.Installation, Repository: repo.ID, All: true}, message,
				""); err != nil {
				return err
			}
		}
		return nil
	}
	settings, err := w.Client.Repository(ctx, t.repo())
	if gone, err := w.reachable(ctx, t, log, "repository", err); gone || err != nil || settings.Archived {
		return err
	}
	pulls, err := w.Client.OpenPullRequests(ctx, t.repo(), "")
	if err != nil {
		return fmt.Errorf("listing open pull requests: %w", err)
	}
	key := store.Key{Installation: t.Key.Installation, Repository: t.Key.Repository}
	for _, pr := range pulls {
		key.Number = pr.Number
		if err := w.Jobs.Publish(ctx, key, message, ""); err != nil {
			return err
		}
	}
	if key.Number, key.Branch = 0, settings.DefaultBranch; key.Branch == "" {
		return nil // nothing was pushed yet
	}
	return w.Jobs.Publish(ctx, key, message, "")
}

// group checks the merged tree of a merge queue against its base. It has no author. The data of the event is stored for
// later requests of the check.
func (w *Worker) group(ctx context.Context, t Task, log *slog.Logger) error {
	about := t.Message.Group
	if about != nil {
		data, _ := json.Marshal(about) // it has only texts
		if err := t.Ledger.SetText(ctx, store.Mark, string(data)); err != nil {
			return err
		}
	} else {
		text, err := t.Ledger.Text(ctx, store.Mark)
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
