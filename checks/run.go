package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// run is one check in work.
type run struct {
	change   report.Change
	warm     *warm
	settings *Settings
	objects  *tree.Objects

	rulesTree, baseTree, headTree    *tree.Tree
	rulesGraph, baseGraph, headGraph *roots.Set

	differences []tree.Difference
	changed     map[string]bool

	policyRoots []policyRoot // kustomizations that the settings name, rendered at each side
	policies    *engine.Policies
	decision    *exceptions.Decision
	proposed    []*engine.Exception
	beyond      map[*engine.Exception]*report.Beyond // of the proposed ones
	usage       *usage                               // of the merged ones, with Change.All

	policyFiles     map[string][]policy.Document     // that were read again, by path
	clusterPolicies map[string]*policy.ClusterPolicy // likewise, by path and line
	blocked         []blocked                        // what drafts are for, with Change.Drafts

	report *report.Report
}

// Run checks one change. The error is about the repository or the machine; what is wrong with the change is in
// the report.
func (c *Checker) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &run{change: change, warm: c.of(change), changed: map[string]bool{}, report: &report.Report{Findings: []report.Finding{}, Errors: []report.Problem{}}}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	defer r.objects.Close()
	preview := func(ctx context.Context) error { return r.preview(ctx, c) }
	for _, step := range []func(context.Context) error{r.readTrees, r.readRules, r.evaluate, preview} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	r.finish()
	if err := r.objects.Err(); err != nil {
		return nil, fmt.Errorf("the repository cannot be read whole: %w", err)
	}
	return r.report, nil
}

// Inspect returns whom to ask for approval of what before the change is checked. It renders nothing.
func (c *Checker) Inspect(ctx context.Context, change report.Change) (*report.Inspection, error) {
	rep, err := c.Run(ctx, change)
	if err != nil {
		return nil, err
	}
	return &report.Inspection{Teams: rep.Teams, Approvers: *rep.Approvers, Exceptions: rep.Exceptions}, nil
}

func (r *run) open(ctx context.Context) (err error) {
	config := tree.Config{GitDir: r.change.GitDir, Alternates: r.change.Alternates, Git: r.change.Git, Store: &r.warm.store}
	if r.objects, err = tree.Open(ctx, config); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = r.objects.Close()
		}
	}()
	if r.headTree, err = r.objects.Tree(r.change.Head); err != nil {
		return err
	}
	r.baseTree = r.objects.Empty()
	if r.change.Base != "" {
		if r.baseTree, err = r.objects.Tree(r.change.Base); err != nil {
			return err
		}
	}
	r.rulesTree = r.headTree
	if r.change.Rules != "" {
		if r.rulesTree, err = r.objects.Tree(r.change.Rules); err != nil {
			return err
		}
	}
	return nil
}

// readTrees reads the settings, the kustomizations of the three trees, and what differs.
func (r *run) readTrees(context.Context) (err error) {
	settings, problems, err := readSettings(r.rulesTree)
	if err != nil {
		return err
	}
	r.settings = settings
	r.objects.SetBlobLimit(settings.Limits.FileBytes)
	r.objects.SetFileLimit(settings.Limits.Files)
	r.problems(problems...)
	r.report.Approvers = settings.approvers()
	r.report.Teams = slices.Sorted(maps.Keys(settings.Identities.Teams))
	built := map[string]*roots.Set{}
	for _, side := range []struct {
		tree *tree.Tree
		into **roots.Set
	}{{r.rulesTree, &r.rulesGraph}, {r.baseTree, &r.baseGraph}, {r.headTree, &r.headGraph}} {
		if g, ok := built[side.tree.ID()]; ok {
			*side.into = g
			continue
		}
		g, err := roots.Open(side.tree, settings.roots(r.change.Repository), &r.warm.graphs)
		if err != nil {
			return err
		}
		*side.into, built[side.tree.ID()] = g, g
	}
	if r.differences, err = tree.Diff(r.baseTree, r.headTree); err != nil {
		return err
	}
	for _, d := range r.differences {
		r.changed[d.Path] = true
	}
	if r.changed[SettingsPath] && r.headTree.ID() != r.rulesTree.ID() {
		if _, problems, err := readSettings(r.headTree); err != nil {
			return err
		} else {
			r.problems(problems...)
		}
	}
	return nil
}

// readRules compiles the policies and exceptions that apply, and those that the change proposes.
func (r *run) readRules(ctx context.Context) error {
	options := engine.Options{Now: r.change.Now}
	r.problems(missingPolicies(r.rulesTree, r.settings.Policies)...)
	policySources, err := r.policySources(ctx, r.rulesTree, r.rulesGraph, r.settings)
	if err != nil {
		return err
	}
	exceptionSources := policySources
	if len(r.settings.Policies) > 0 || len(r.settings.Exceptions) > 0 {
		if exceptionSources, err = ruleFiles(r.rulesTree, r.rulesGraph, r.settings.Exceptions); err != nil {
			return err
		}
	}
	policies, problems := r.warm.compile(policySources, options)
	r.policies = policies
	errs, warnings := problemsOf(problems)
	r.problems(errs...)
	r.report.Warnings = append(r.report.Warnings, warnings...)
	_, unsupported := problemsOf(policies.Unsupported())
	r.report.Warnings = append(r.report.Warnings, unsupported...)
	for _, p := range policies.List() {
		r.report.Stats.Policies++
		r.report.Stats.Rules += len(p.Rules)
	}
	merged, problems := engine.CompileExceptions(exceptionSources, options)
	errs, warnings = problemsOf(problems)
	r.problems(errs...)
	r.report.Warnings = append(r.report.Warnings, warnings...)
	r.report.Stats.Exceptions = len(merged)
	if err := r.readProposed(ctx, options); err != nil {
		return err
	}
	input := exceptions.Input{
		Merged: merged, Proposed: r.proposed, Now: r.change.Now, Reviews: r.change.Reviews, Approve: r.change.Approve,
		Blob:  func(p string) string { e, _ := r.headTree.Entry(p); return e.ID },
		Since: func(e *engine.Exception) (time.Time, bool) { return r.lastChange(e) },
	}
	r.decision = exceptions.Decide(input)
	return nil
}

// readProposed compiles the policies and exceptions that the change adds or edits: broken ones must not be merged,
// and exceptions may be approved.
func (r *run) readProposed(ctx context.Context, options engine.Options) error {
	if r.headTree.ID() == r.rulesTree.ID() {
		return nil
	}
	inChange := func(sources []policy.Source) []policy.Source {
		return slices.DeleteFunc(sources, func(s policy.Source) bool {
			head, _ := r.headTree.Entry(s.Path)
			rules, _ := r.rulesTree.Entry(s.Path)
			return !r.proposesRule(s) || s.Line == nil && head.ID == rules.ID
		})
	}
	sources, err := r.policySources(ctx, r.headTree, r.headGraph, r.settings)
	if err != nil {
		return err
	}
	sources = inChange(sources)
	_, problems := engine.CompilePolicies(sources, options)
	errs, _ := problemsOf(problems)
	r.problems(errs...)
	if len(r.settings.Policies) > 0 || len(r.settings.Exceptions) > 0 {
		if sources, err = ruleFiles(r.headTree, r.headGraph, r.settings.Exceptions); err != nil {
			return err
		}
		sources = inChange(sources)
	}
	r.proposed, problems = engine.CompileExceptions(sources, options)
	errs, _ = problemsOf(problems)
	r.problems(errs...)
	return nil
}

// lastChange answers when the file of an exception was last changed in the history of the side it is from.
func (r *run) lastChange(e *engine.Exception) (time.Time, bool) {
	rev := r.change.Rules
	if slices.Contains(r.proposed, e) || rev == "" {
		rev = r.change.Head
	}
	return r.objects.LastChange(rev, e.Path)
}

// problems adds what fails the check, each once.
func (r *run) problems(list ...report.Problem) {
	for _, p := range list {
		p.Changed = r.changed[p.Path]
		if !slices.ContainsFunc(r.report.Errors, func(q report.Problem) bool {
			return q.Path == p.Path && q.Line == p.Line && q.Message == p.Message
		}) {
			r.report.Errors = append(r.report.Errors, p)
		}
	}
}

func (r *run) sourceErrors(list []source.Error) {
	for _, e := range list {
		r.problems(report.Problem{Path: e.Path, Line: e.Line, Column: e.Column, Message: e.Message})
	}
}

// unreadFiles says of changed files that look like manifests why they were not checked: no kustomization
// includes them, or they are templates of a Helm chart.
func (r *run) unreadFiles(head *render.Renderer) error {
	charts := map[string]bool{}
	for _, d := range r.differences {
		if r.change.All || d.New == nil || d.New.Kind != tree.File || kustomization.IsFileName(d.Path) {
			continue
		}
		if chart := r.headGraph.Chart(d.Path); chart != "" && !charts[chart] {
			charts[chart] = true
			r.report.Stats.Unchecked++
			r.report.Warnings = append(r.report.Warnings, report.Problem{Path: d.Path,
				Message: fmt.Sprintf("the Helm chart in %s changes: Lintel does not render charts, so what it deploys is not checked", chart)})
		}
		if test := r.headGraph.PolicyTest(d.Path); test != "" {
			r.report.Warnings = append(r.report.Warnings, report.Problem{Path: d.Path,
				Message: fmt.Sprintf("is a resource of the policy test %s, so it is not checked as something that is deployed", test)})
			continue
		}
		if !r.headGraph.Unread(d.Path) {
			continue
		}
		resources, _, problem, err := head.Manifest(d.Path)
		if err != nil {
			return err
		}
		if len(resources) > 0 || problem != nil {
			r.report.Warnings = append(r.report.Warnings, report.Problem{Path: d.Path,
				Message: "no kustomization includes this file, so it is not checked: list it under resources, or remove it"})
		}
	}
	return nil
}
