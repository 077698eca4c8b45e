package checks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/preview"
	"github.com/lintel-bot/lintel/checks/rendered"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Run checks one change and returns the report, which contains the errors of the change itself. It fails for errors of
// the repository or the machine.
func (c *Checker) Run(ctx context.Context, change report.Change) (out *report.Report, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(change.GitDir, change.Cache)
	if out := k.report(change, c.PreviewTime); out != nil {
		return out, nil
	}
	defer c.forgetAfter(&err, k)
	begun := time.Now()
	repo, err := open(ctx, change, k)
	if err != nil {
		return nil, err
	}
	out, err = c.check(ctx, repo)
	if err = repo.close(err); err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		k.renderings.Save() // also before a fetch, since another process may run the next round
	}
	if !repo.asksTime {
		k.keep(ctx, change, c.PreviewTime, out, repo.remote.Answers(), begun)
	}
	return out, nil
}

// inEffect returns an error for the name of a policy (--fix) that is not in effect. It returns none where policies have
// errors, since the name may be that of one of them.
func inEffect(named []string, outcomes []*outcome) error {
	known := []string{"*", builtin.Policy}
	for _, one := range outcomes {
		if len(one.rules.standing) > 0 {
			return nil
		}
		known = append(known, report.Mapped(one.rules.Policies.List(), engine.PolicyInfo.FullName)...)
	}
	for _, name := range named {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--fix=%s: no policy with this name is in effect%s", name, policy.DidYouMean(policy.Nearest(name, known)))
		}
	}
	return nil
}

// check runs the steps of a check: it pairs the objects, evaluates the rules of each cluster, previews proposed rules,
// and writes the report.
func (c *Checker) check(ctx context.Context, repo *repository) (*report.Report, error) {
	change := repo.change
	if change.Proposed != nil {
		repo.asksTime = true // whether the rules ask for the time is not determined
		return c.proposed(ctx, repo)
	}
	repo.trees.Settle()
	pairs, err := pair(ctx, repo)
	if err != nil {
		return nil, err
	}
	if wanted := repo.remote.Wanted(); wanted != nil {
		return &report.Report{Wanted: wanted}, nil
	}
	if change.OnlyDifferences {
		return differences(ctx, repo, pairs)
	}
	if err := pairs.survey(ctx, repo.settings.Checks); err != nil {
		return nil, err
	}
	var outcomes []*outcome
	for _, s := range scopes(repo, pairs) {
		one, err := judge(ctx, s)
		if errors.Is(err, errAsksUser) {
			return &report.Report{AsksUser: true}, nil
		}
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one)
	}
	repo.asksTime = askTime(outcomes)
	if wanted := repo.remote.LookupsWanted(); wanted != nil {
		return &report.Report{Wanted: wanted}, nil
	}
	if err := inEffect(change.Edits, outcomes); err != nil {
		return nil, err
	}
	for _, one := range outcomes {
		if err := c.foretell(ctx, one); err != nil {
			return nil, err
		}
	}
	if wanted := repo.remote.PreviewWanted(); wanted != nil {
		return &report.Report{Wanted: wanted}, nil
	}
	whom := repo.settings.AllApprovers()
	out := &report.Report{All: change.All, Same: !change.All && len(repo.trees.Differences) == 0, Approvers: &whom, Teams: repo.settings.Teams(),
		Annotations: repo.settings.Annotations.Max,
		Suggest:     repo.settings.Suggestions == settings.SuggestionsReview && !change.All && len(change.Edits) == 0}
	out.Fail(repo.problems...)
	out.Warnings = append(out.Warnings, repo.advice...)
	pairs.tell(out)
	seen := map[string]bool{}
	met := map[deployed]bool{}
	var warnings, missing, unknown []report.Problem
	standing := repo.standing
	for _, one := range outcomes {
		one.tell(out, seen)
		standing, missing = append(standing, one.rules.standing...), append(missing, one.rules.missing...)
		for _, w := range one.rules.Warnings {
			if repo.trees.Changed(w.Path) {
				out.Warnings = append(out.Warnings, w)
			} else {
				warnings = append(warnings, w)
			}
		}
		unknown = append(unknown, one.rules.before.Unknown...)
		one.answers.met(met)
	}
	out.Stats.Met = len(met)
	tellStanding(out, standing, warnings, missing, unknown)
	out.Findings = slices.DeleteFunc(out.Findings, func(f report.Finding) bool { // an error of a policy that the API server would refuse for it
		group, _, _ := strings.Cut(f.Resource.APIVersion, "/")
		return f.Policy == builtin.Policy && f.Rule == builtin.Refused && f.Origin != nil && engine.IsRule(group, f.Resource.Kind) &&
			slices.ContainsFunc(out.Errors, func(e report.Problem) bool { return e.Path == f.Origin.Path && e.Line == f.Origin.StartLine })
	})
	repo.tellUnmatched(out)
	out.Warnings = append(out.Warnings, rendered.ChangedSources(pairs.roots)...)
	out.Sort(repo.trees.Changed)
	out.RuleSources = ruleSources(outcomes)
	out.Resolved = slices.Concat(resolved(outcomes), rendered.ResolvedSources(pairs.roots))
	if !change.All {
		out.Bumps, out.MoreBumps = rendered.Bumps(ctx, pairs.sides, pairs.roots, out.Findings)
		if out.RootChanges, err = rendered.ByRoot(ctx, pairs.rendered()); err != nil {
			return nil, err
		}
		if change.Differences {
			if err := rendered.AddToReport(ctx, pairs.rendered(), out); err != nil {
				return nil, err
			}
		}
	}
	pairs.sides.Head.Renderer.SavePlaces(ctx)
	pairs.sides.Base.Renderer.SavePlaces(ctx)
	for _, one := range outcomes {
		one.tellExceptions(out)
	}
	if change.All {
		whole := len(out.Errors) == 0 && !slices.ContainsFunc(repo.trees.Differences, isChart)
		out.Cleanup = cleanup(outcomes, whole, change.Now)
		out.Active = active(outcomes, out.Findings)
	}
	raise(out, repo.settings)
	if repo.settings.Mode == settings.ModeAdvisory {
		out.Advise()
	}
	out.Conclude()
	files := newMaskedFiles(repo.trees)
	files.read(out)
	files.cover(out.Findings)
	widths := files.addExcerpts(out)
	out.Edits = suggestLines(repo.trees.Head.Roots, files, out.Findings, func(f *report.Finding) bool {
		return out.Suggest || slices.Contains(change.Edits, f.Policy) || slices.Contains(change.Edits, "*")
	})
	if err := files.tell(pairs.secrets); err != nil {
		return nil, err
	}
	// Others decide by these addresses: masking values of Secrets must not change one.
	from := rendered.RemoteSources(slices.Concat(pairs.every, pairs.bases))
	if out.Preview != nil {
		from = report.JoinRemoteSources(from, out.Preview.RemoteSources)
	}
	lines := written(out.Edits)
	mask.Report(out, pairs.secrets) // the last step, since each earlier step may add values that must be masked
	unmasked(out, lines)
	files.shorten(out)
	cutExcerpts(out.Excerpts, widths)
	out.RemoteSources = from
	return out, nil
}

// raise lets unchecked parts fail the check if the settings say so. These are parts that the change introduces or
// edits, and pre-existing obstacles in roots that it alters; with block.existing, also in roots that it affects without
// altering.
func raise(out *report.Report, s *settings.Settings) {
	for i := range out.NotChecked {
		n := &out.NotChecked[i]
		n.Fails = s.Unrendered == settings.UnrenderedFailure && !n.Rules &&
			(n.Changed || !n.Before || n.Touched || s.Block.Existing)
	}
}

// isChart reports whether a file makes its folder a Helm chart.
func isChart(d tree.Difference) bool { return path.Base(d.Path) == "Chart.yaml" }

func (p *pairs) rendered() rendered.Change {
	return rendered.Change{Pairs: p.list, Changed: p.sides.Trees.Changed, Clusters: p.clusters}
}

// differences is the report of a change without evaluated rules. It has no findings of policies or of checks without
// policies. What keeps an object from being deployed at all is an error.
func differences(ctx context.Context, repo *repository, p *pairs) (_ *report.Report, err error) {
	out := &report.Report{}
	p.tell(out)
	for _, pair := range p.asking {
		for _, issue := range pair.New.Issues {
			out.Fail(issueOf(pair.New, issue))
		}
	}
	for _, r := range p.roots {
		if len(r.Head) > 0 || r.Unseen != nil {
			continue // the obstacles are reported already
		}
		for _, e := range r.Base {
			out.Warnings = append(out.Warnings, report.Problem{Path: e.Path, Line: e.Line, Message: "the base could " +
				"not be rendered completely, so the parts of " + r.Name() + " that it lacks count as new: " + e.Message})
		}
	}
	for _, pair := range p.list {
		if pair.New == nil {
			continue
		}
		for _, issue := range pair.New.Issues {
			switch {
			case pair.Earlier() != nil && slices.Contains(pair.Earlier().Issues, issue):
			case issue.Breaks():
				out.Fail(issueOf(pair.New, issue))
			default:
				out.Warnings = append(out.Warnings, issueOf(pair.New, issue))
			}
		}
	}
	out.Warnings = append(out.Warnings, repo.standing...)
	out.Sort(repo.trees.Changed)
	if err := rendered.AddToReport(ctx, p.rendered(), out); err != nil {
		return nil, err
	}
	if out.RootChanges, err = rendered.ByRoot(ctx, p.rendered()); err != nil {
		return nil, err
	}
	for _, d := range out.Differences {
		out.Clusters = report.Union(out.Clusters, d.Clusters)
	}
	slices.Sort(out.Clusters)
	p.sides.Head.Renderer.SavePlaces(ctx)
	p.sides.Base.Renderer.SavePlaces(ctx)
	files := newMaskedFiles(repo.trees)
	files.read(out)
	if err := files.tell(p.secrets); err != nil {
		return nil, err
	}
	mask.Report(out, p.secrets) // the last step, since each earlier step may add values that must be masked
	return out, nil
}

func issueOf(r *render.Resource, issue render.Issue) report.Problem {
	at := r.Origin(issue.Pointer)
	return report.Problem{Path: at.Path, Line: at.StartLine, Column: at.StartColumn, Message: issue.Message}
}

// proposed previews a change of another repository from which this repository takes rules, see report.Change.Proposed.
// It evaluates everything that the head deploys with the rules before and after that change. Both sides have the same
// tree.
func (c *Checker) proposed(ctx context.Context, repo *repository) (*report.Report, error) {
	change, k := repo.change, repo.kept
	out := &report.Report{All: true}
	if wanted := repo.remote.Wanted(); wanted != nil {
		return &report.Report{Wanted: wanted}, nil
	}
	_, sources := repo.remote.Sources()
	secrets := &mask.Values{}
	clusters := repo.clusters()
	for _, cluster := range append([]string{""}, repo.settings.ClusterNames()...) {
		own, has := repo.in(cluster), func(r roots.Root) bool { return slices.Contains(clusters(r), cluster) }
		before, err := rules.Find(ctx, repo.trees.Rules, own.settings)
		if err != nil {
			return nil, err
		}
		after, err := rules.Find(ctx, repo.trees.Head, own.proposed)
		if err != nil {
			return nil, err
		}
		above, err := repo.above(repo.trees.Rules, own.settings)
		if err != nil {
			return nil, err
		}
		aboveAfter, err := repo.above(repo.trees.Head, own.proposed)
		if err != nil {
			return nil, err
		}
		if !repo.trees.Head.PolicySources.Instead.Met && !repo.trees.Rules.PolicySources.Instead.Met {
			continue
		}
		out.Concerned = true
		p, problems, err := preview.Run(ctx, preview.Input{
			Trees: repo.trees, Before: before, After: after, Now: change.Now, Repository: change.Repository,
			Branches: change.Branches, Has: has, Graphs: &k.graphs, Renderings: &k.renderings,
			Limit: c.PreviewTime, Objects: repo.objects, Sources: sources, Secrets: secrets,
			Organization: above, OrganizationAfter: aboveAfter,
		})
		if err != nil {
			return nil, err
		}
		out.Preview = out.Preview.With(p)
		out.Fail(broughtProblems(before.Problems, slices.Concat(after.Problems, problems))...)
		out.Fail(unread(before, change.Proposed.Base)...)
		out.Fail(unread(after, change.Proposed.Head)...)
	}
	if wanted := repo.remote.Wanted(); wanted != nil {
		return &report.Report{Wanted: wanted}, nil
	}
	out.ConcludeProposed()
	var from []report.RemoteSource // others decide by these addresses: masking values of Secrets must not change one
	if out.Preview != nil {
		from = out.Preview.RemoteSources
	}
	mask.Report(out, secrets)
	out.RemoteSources = from
	return out, nil
}

// unread returns the problems of rules if none of them were read from a revision.
func unread(found *rules.Sources, revision string) []report.Problem {
	if slices.ContainsFunc(found.Resolved, func(r report.Resolved) bool { return r.Ref == revision }) {
		return nil
	}
	return found.Problems
}
