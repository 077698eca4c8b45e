package checks

import (
	"context"
	"path"
	"slices"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/parallel"
	"github.com/lintel-bot/lintel/checks/preview"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// Run checks one change. The error is about the repository or the machine; what is wrong with the change is in the
// report.
func (c *Checker) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(change)
	repo, err := open(ctx, change, k)
	if err != nil {
		return nil, err
	}
	out, err := c.check(ctx, change, repo, k)
	if closed := repo.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// check is the way of a change through the rooms: rules, rendered pairs, answers, report.
func (c *Checker) check(ctx context.Context, change report.Change, repo *repository, k *kept) (*report.Report, error) {
	whom := repo.settings.Whom()
	out := &report.Report{
		Findings: []report.Finding{}, All: change.All, Approvers: &whom, Teams: repo.settings.Teams(),
	}
	out.Fail(repo.problems...)
	rules, err := rule(ctx, change, repo, k)
	if err != nil {
		return nil, err
	}
	out.Fail(rules.problems...)
	out.Warnings = append(out.Warnings, rules.Warnings...)
	rules.Count(&out.Stats)

	config := render.Config{
		Limits: repo.settings.Limits.Render(), Namespaced: kinds.HasNamespace, Cache: &k.renderings,
	}
	sides := &diff.Sides{
		Trees: repo.trees, All: change.All,
		Base: render.New(repo.trees.Base.Roots, config), Head: render.New(repo.trees.Head.Roots, config),
	}
	objects := declared.New(repo.trees.Head.Roots, sides.Head, repo.settings.Context)
	pairs, err := differences(ctx, sides, objects, out)
	if err != nil {
		return nil, err
	}
	asked, not, advice := builtin.Deployments(sides)
	out.NotChecked, out.Warnings = append(out.NotChecked, not...), append(out.Warnings, advice...)
	seen, err := reviewAll(ctx, change, repo, rules, objects, pairs, asked, out)
	if err != nil {
		return nil, err
	}
	out.Work = sides.Work()
	out.Warnings = append(out.Warnings, objects.Warnings()...)
	if err := c.preview(ctx, change, repo, rules, k, out); err != nil {
		return nil, err
	}
	out.Sort(repo.trees.Changed)
	out.Folders = folders(repo.trees.Head.Roots, out.Findings)
	out.Exceptions = exceptions.List(rules.decision, exceptions.Known{Policies: rules.Policies, Reviews: change.Reviews,
		Findings: out.Findings, Beyond: seen.beyond, Blob: repo.blob})
	if change.All {
		whole := len(out.Errors) == 0 && !slices.ContainsFunc(repo.trees.Differences, isChart)
		out.Upkeep = seen.usage.Upkeep(rules.decision, rules.Policies, whole, change.Now)
	}
	out.Conclude()
	out.Excerpts = excerpts(repo.trees, out)
	return out, nil
}

// differences renders what the change reaches on both sides, and says what could not be.
func differences(ctx context.Context, s *diff.Sides, objects *declared.Objects, out *report.Report) (
	[]*diff.Pair, error,
) {
	reached := s.Reached()
	out.Stats.Roots = len(reached)
	rendered, errs := make([]*diff.Root, len(reached)), make([]error, len(reached))
	parallel.Each(len(reached), func(i int) {
		rendered[i], errs[i] = s.Render(ctx, reached[i])
		if r := rendered[i]; r != nil && r.Known {
			objects.Rendered(r.Root, r.Deployed)
		}
	})
	var pairs, moved []*diff.Pair
	for i, r := range rendered {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if len(r.Base) > 0 && s.Trees.Head.Roots.Has(r.Root) {
			e := r.Base[0]
			out.Warnings = append(out.Warnings, report.Problem{Path: e.Path, Line: e.Line, Message: "the base could not be " +
				"rendered, so everything in " + r.Path + " counts as new: " + e.Message})
		}
		out.Fail(problemsOf(r.Head)...)
		pairs, moved = append(pairs, r.Pairs...), append(moved, r.Moved...)
	}
	if err := unchecked(s, out); err != nil {
		return nil, err
	}
	pairs = diff.Join(pairs, moved)
	out.Stats.Resources = len(pairs)
	return pairs, nil
}

func problemsOf(list []source.Error) (problems []report.Problem) {
	for _, e := range list {
		problems = append(problems, report.Problem{Path: e.Path, Line: e.Line, Column: e.Column, Message: e.Message})
	}
	return problems
}

// isChart reports whether a file makes its folder a Helm chart.
func isChart(d tree.Difference) bool { return path.Base(d.Path) == "Chart.yaml" }

// seen is what the answers show of exceptions.
type seen struct {
	usage  *exceptions.Usage                    // of the merged ones
	beyond map[*engine.Exception]*report.Beyond // of the proposed ones
}

// reviewAll asks the rules about all pairs, and turns the answers into findings and drafts. Of asked, the objects that
// ask for deployments, little is known: policies are not asked about them.
func reviewAll(ctx context.Context, change report.Change, repo *repository, rules *ruling, objects *declared.Objects,
	pairs, asked []*diff.Pair, out *report.Report) (*seen, error) {
	decision := rules.decision
	v := &review.Reviewer{User: repo.settings.Requester(change.User), Cluster: objects,
		Counting: rules.Policies.Bind(decision.Counting, objects)}
	if len(decision.Idle) > 0 {
		v.Idle = rules.Policies.Bind(slices.Concat(decision.Counting, decision.Idle), objects)
	}
	if change.All {
		v.Bare = rules.Policies.Bind(nil, objects)
	}
	v.Checks = builtin.All()
	answers, err := v.All(ctx, pairs)
	if err != nil {
		return nil, err
	}
	deployed, err := v.WithoutPolicies(decision.Counting).All(ctx, asked)
	if err != nil {
		return nil, err
	}
	answers = append(answers, deployed...)
	view := review.View{Exceptions: decision, Policies: rules.Policies, Changed: repo.trees.Changed,
		BlockAll: repo.settings.Block == settings.BlockAll}
	usage := exceptions.NewUsage()
	var found []review.Found
	for i := range answers {
		a := &answers[i]
		a.Count(&out.Stats)
		out.Mutations = append(out.Mutations, a.Mutated()...)
		out.Warnings = append(out.Warnings, a.Combined()...)
		found = append(found, view.Findings(a)...)
		usage.Note(a)
	}
	for _, f := range found {
		out.Findings = append(out.Findings, f.Finding)
	}
	with := exceptions.Context{
		Policies: rules.Policies, Decision: decision, Declared: objects, Reviewer: v, Now: change.Now,
	}
	beyond, err := exceptions.Beyond(ctx, with, out.Findings)
	if err != nil {
		return nil, err
	}
	if change.Drafts {
		home := exceptions.HomeOf(decision, repo.settings.Exceptions)
		home.Taken = func(p string) bool { return repo.blob(p) != "" }
		if out.Drafts, err = exceptions.Drafts(ctx, with, home, found); err != nil {
			return nil, err
		}
	}
	return &seen{usage, beyond}, nil
}

// folders are those of the findings' roots that have no kustomization.
func folders(set *roots.Set, findings []report.Finding) (out []string) {
	for _, f := range findings {
		for _, root := range f.Roots {
			if !slices.Contains(out, root) && len(set.Files(roots.Root{Path: root, Kind: roots.Folder})) > 0 {
				out = append(out, root)
			}
		}
	}
	slices.Sort(out)
	return out
}

// preview says what the change does to the rules themselves.
func (c *Checker) preview(ctx context.Context, change report.Change, repo *repository, rules *ruling, k *kept,
	out *report.Report) error {
	p, problems, err := preview.Run(ctx, preview.Input{
		Trees: repo.trees, Before: rules.before, After: rules.after, Now: change.Now, Repository: change.Repository,
		Graphs: &k.graphs, Renderings: &k.renderings, Limit: c.PreviewTime,
		LastChange: repo.objects.LastChange,
	})
	if err != nil {
		return err
	}
	out.Preview = p
	out.Fail(problems...)
	return nil
}
