package checks

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/preview"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// scope is the part of a check for one cluster: the cluster's settings, and what the change does to its objects.
type scope struct {
	cluster string // "": roots that belong to no cluster of the settings, or all roots where the settings have no clusters
	repo    *repository
	pairs   *pairs
	has     func(roots.Root) bool
}

// scopes splits a change by cluster. It returns the clusters whose objects or rules the change may touch. A root that
// several clusters deploy is part of each.
func scopes(repo *repository, whole *pairs) []scope {
	if len(repo.settings.Clusters) == 0 {
		return []scope{{repo: repo, pairs: whole, has: func(roots.Root) bool { return true }}}
	}
	clustersOf := repo.clusters()
	var list []scope
	for _, cluster := range append([]string{""}, repo.settings.ClusterNames()...) {
		has := func(r roots.Root) bool { return slices.Contains(clustersOf(r), cluster) }
		own := whole.in(has, repo.settings.In(cluster).Context)
		if own.empty() && !repo.trees.ProposesRules() && cluster != "" {
			continue
		}
		list = append(list, scope{cluster, repo.in(cluster), own, has})
	}
	return list
}

// clusters returns a function that lists the clusters of a root and caches the answer.
func (r *repository) clusters() func(roots.Root) []string {
	return r.settings.Of(r.trees.Head.Roots, r.trees.Base.Roots)
}

// in returns the repository with the settings of one cluster.
func (r *repository) in(cluster string) *repository {
	own := *r
	own.cluster, own.settings = cluster, r.settings.In(cluster)
	if r.proposed != nil {
		own.proposed = r.proposed.In(cluster)
	}
	return &own
}

// in returns the pairs of the selected roots. Their declared objects are those of these roots and of the named files.
func (p *pairs) in(has func(roots.Root) bool, named []string) *pairs {
	keep := func(list []*diff.Pair) []*diff.Pair {
		list = slices.DeleteFunc(slices.Clone(list), func(pair *diff.Pair) bool { return !has(pair.Root) })
		for i, pair := range list {
			if pair.Before != nil && !has(pair.From) && pair.From != (roots.Root{}) { // the object moves here from another cluster
				moved := *pair
				moved.Before = nil
				list[i] = &moved
			}
		}
		return list
	}
	own := *p
	own.list, own.asking, own.alone = keep(p.list), keep(p.asking), keep(p.alone)
	own.surveyed = keep(p.surveyed)
	own.declared = p.objects(named, has)
	for _, r := range p.roots {
		if r.Known && has(r.Root) {
			own.declared.Rendered(r.Root, r.Deployed, r.Head...)
		}
	}
	return &own
}

func (p *pairs) empty() bool { return len(p.list)+len(p.asking)+len(p.alone) == 0 }

// outcome is the result of a check in one cluster.
type outcome struct {
	scope
	rules    *ruling
	answers  *answers
	preview  *report.Preview
	problems []report.Problem // of the preview
}

// judge evaluates one cluster: it compiles the rules and evaluates the pairs.
func judge(ctx context.Context, s scope) (_ *outcome, err error) {
	out := &outcome{scope: s}
	if out.rules, err = rule(ctx, s.repo); err != nil {
		return nil, err
	}
	if s.repo.change.User.Unasked && out.some((*rules.Sources).MayAskUser) {
		return nil, errAsksUser
	}
	out.answers, err = ask(ctx, s.repo, out.rules, s.pairs)
	return out, err
}

// errAsksUser means that the rules look at a user who is not known yet.
var errAsksUser = errors.New("the rules look at the user")

// some reports whether something is so of the rules in effect or proposed.
func (o *outcome) some(is func(*rules.Sources) bool) bool {
	return slices.ContainsFunc(append(o.rules.proposals, o.rules.before), is)
}

// foretell previews the change's effect on the rules of one cluster.
func (c *Checker) foretell(ctx context.Context, o *outcome) (err error) {
	change, k := o.repo.change, o.repo.kept
	o.preview, o.problems, err = preview.Run(ctx, preview.Input{
		Trees: o.repo.trees, Before: o.rules.before, After: o.rules.after, Now: change.Now,
		Repository: change.Repository, Branches: change.Branches, Has: o.has, Graphs: &k.graphs, Renderings: &k.renderings,
		Limit: c.PreviewTime, Objects: o.repo.objects, Sources: o.repo.remote.Preview(), Wants: o.repo.remote.PreviewWants,
		Secrets: o.pairs.secrets, Organization: o.pairs.above, OrganizationAfter: o.pairs.above,
	})
	return err
}

// tell adds the outcome of one cluster to the report. seen are the rules that other clusters counted already.
func (o *outcome) tell(out *report.Report, seen map[string]bool) {
	before := len(out.Findings)
	o.rules.tell(out, seen)
	o.answers.tell(out)
	if whom := o.repo.settings.OrganizationApprovers(); whom != nil {
		for i, f := range out.Findings[before:] {
			// An exception would cover a policy of the organisation, or a check that it requires.
			if o.repo.inherits(f) || f.Policy == builtin.Policy && o.repo.settings.Demands() {
				out.Findings[before+i].Approvers = whom
			}
		}
	}
	out.About = o.answers.why(out.About, o.rules.Policies)
	if o.cluster != "" {
		for i := range out.Findings[before:] {
			out.Findings[before+i].Clusters = []string{o.cluster}
		}
		if !o.pairs.empty() {
			out.Clusters = append(out.Clusters, o.cluster)
		}
	}
	if !out.All {
		out.NotChecked = append(out.NotChecked, append(o.unassigned(), o.unapproved()...)...)
	}
	for _, p := range o.problems {
		if !hasProblem(o.rules.standing, p) {
			out.Fail(p)
		}
	}
	out.Preview = out.Preview.With(o.preview)
	if end := o.rules.decision.NextEnd(); out.Until.IsZero() || !end.IsZero() && end.Before(out.Until) {
		out.Until = end
	}
}

// unassigned lists the changed roots outside of the clusters of the settings with objects that no rule of the top level applies to,
// where clusters have policies, and the settings name none for what is outside of them.
func (o *outcome) unassigned() (list []report.NotChecked) {
	t, s := o.repo.trees, o.repo.settings
	if o.cluster != "" || len(s.Policies) > 0 && len(o.rules.Policies.List()) > 0 ||
		!slices.ContainsFunc(s.ClusterNames(), func(name string) bool { return len(s.Clusters[name].Policies) > 0 }) {
		return nil
	}
	clustersOf, seen, met := s.Of(t.Base.Roots), map[roots.Root]bool{}, map[deployed]bool{}
	o.answers.met(met)
	deploying, _ := gitops.Kinds()
	for _, p := range o.pairs.list {
		if seen[p.Root] || p.New == nil || isRule(p) {
			continue
		}
		if id := admission.IdentityOf(p.New.Object); met[deployed{p.Root, id}] || slices.Contains(deploying, id.Kind) {
			continue // what it deploys has a root of its own
		}
		seen[p.Root] = true
		n := report.NotChecked{Root: p.Root.Name(), Before: t.Base.Roots.Has(p.Root) && clustersOf(p.Root)[0] == "",
			Reason: "this deployment belongs to no cluster of the settings, so no policy judges it: name its files under " +
				"clusters in .lintel.yaml"}
		if by := t.Head.Roots.Deployers(p.Root); len(by) > 0 {
			n.Path, n.Line = by[0].Where.Path, by[0].Where.Line
		} else {
			at := p.New.Origin("")
			n.Path, n.Line = at.Path, at.StartLine
		}
		if n.Changed = t.Changed(n.Path); n.Before {
			n.Reason += " (also so in the base)"
		}
		list = append(list, n)
	}
	return list
}

// unapproved lists the exceptions that the change brings to a cluster although they do not count here, so that nobody is asked to
// approve them: those that a chart or a patch makes, or that the settings do not name.
func (o *outcome) unapproved() (list []report.NotChecked) {
	counted := sync.OnceValue(func() (all []engine.RuleDocument) {
		for _, s := range append(slices.Clone(o.rules.proposals), o.rules.before) {
			all = append(all, rules.Documents(s.Exceptions, true)...)
		}
		return all
	})
	for _, p := range o.pairs.list {
		if p.New == nil {
			continue
		}
		x, ok := rules.ExceptionIn(p.New)
		if !ok || slices.ContainsFunc(counted(), x.SameTerms) {
			continue
		}
		if p.Old != nil {
			if old, had := rules.ExceptionIn(p.Old); had && old.SameTerms(x) {
				continue
			}
		}
		at := p.New.Origin("")
		list = append(list, report.NotChecked{Root: p.Root.Name(), Path: at.Path, Line: at.StartLine, Changed: o.repo.trees.Changed(at.Path),
			Reason: "it deploys the exception " + x.FullName() + ", which does not count here, so nobody is asked to approve it: write " +
				"it in a manifest where exceptions count"})
	}
	return list
}

// tellExceptions adds the states of the exceptions to a report that already has the findings of all clusters.
func (o *outcome) tellExceptions(out *report.Report) {
	out.Exceptions = addExceptions(out.Exceptions, exceptions.List(o.rules.decision, exceptions.Known{
		Policies: o.rules.Policies, Reviews: o.repo.change.Reviews, Findings: out.Findings, Beyond: o.answers.beyond,
		Blob: o.repo.trees.Head.Blob, With: o.rules.brought.With, Terms: o.repo.terms(o.rules.brought),
		Approvers: o.repo.approvers(o.rules.before)}))
	relied := o.answers.lookups.list(out.Findings, nil)
	if whom := o.repo.settings.OrganizationApprovers(); whom != nil {
		above := o.answers.lookups.list(out.Findings, o.repo.inherits)
		for i := range relied {
			if slices.ContainsFunc(above, func(e report.Exception) bool { return e.Path == relied[i].Path && e.Name == relied[i].Name }) {
				relied[i].Approvers = whom
			}
		}
	}
	out.Exceptions = addExceptions(out.Exceptions, relied)
}

// active lists the merged exceptions in effect, each once even if several clusters share it.
func active(outcomes []*outcome, findings []report.Finding) (list []report.Active) {
	for _, o := range outcomes {
		for _, x := range exceptions.Active(o.rules.decision, findings) {
			if !slices.ContainsFunc(list, func(y report.Active) bool { return y.Path == x.Path && y.Line == x.Line }) {
				list = append(list, x)
			}
		}
	}
	return list
}

// cleanup lists the merged exceptions that are expired, expire soon or are unused. One that several clusters share is
// unused only if no cluster uses it.
func cleanup(outcomes []*outcome, whole bool, now time.Time) (list []report.Cleanup) {
	used := func(x report.Cleanup) bool {
		return slices.ContainsFunc(outcomes, func(o *outcome) bool {
			return slices.ContainsFunc(o.rules.Exceptions, func(e *engine.Exception) bool {
				return e.Path == x.Path && e.Line == x.Line && o.answers.usage.Needed(e)
			})
		})
	}
	for _, o := range outcomes {
		for _, x := range o.answers.usage.Cleanup(o.rules.decision, o.rules.Policies, whole, now) {
			if rules.IsExternal(x.Path) {
				continue // the repository that contains it reports it
			}
			x.Unused = x.Unused && !used(x)
			known := slices.ContainsFunc(list, func(y report.Cleanup) bool { return y.Path == x.Path && y.Line == x.Line })
			if !known && (x.Expired || x.Soon || x.Unused) {
				list = append(list, x)
			}
		}
	}
	return list
}
