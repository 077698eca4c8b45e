// Package preview determines the effect of a change of the rules themselves: it evaluates two rulesets for the same
// objects, and lists the results that differ.
package preview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

const (
	// maxListed is how many differences, and how many failed rows of tests, a preview lists.
	maxListed = 200
	// maxNamed is how many resources, and how many roots, one difference names.
	maxNamed = 50
	// defaultTime is the default time limit for evaluating resources. If the check has a deadline, the limit is at most
	// half of the remaining time.
	defaultTime = 90 * time.Second
	// chunkSize is how many roots are evaluated before their differences are merged.
	chunkSize = 64
)

// Input is the input of a preview.
type Input struct {
	Trees             *diff.Trees
	Before, After     *rules.Sources // the rules in effect, and the rules after the merge
	Now               time.Time
	Repository        []string // names of the repository, see roots.Options; likewise of the branch
	Branches          []string
	Has               func(roots.Root) bool // selects the roots to evaluate; nil: all
	Graphs            *graph.Cache
	Renderings        *render.Cache
	Limit             time.Duration   // time limit for evaluating resources; 0: 90 s, negative: none are evaluated
	Objects           *tree.Objects   // of the repository
	Sources           *remote.Sources // fetched sources of the head; nil: roots with remote sources are not evaluated
	Wants             func() bool     // whether sources must be fetched first, in which case nothing is evaluated; nil: no
	Secrets           *mask.Values    // collects the values of Secrets; nil: they are not collected
	Organization      *declared.Above // context of the organisation's settings
	OrganizationAfter *declared.Above // that context after the merge
}

// Run previews a change of the rules. It returns nil if the change has no effect on them. The problems are errors of
// the check: proposed rules that cannot be compiled, and failing policy tests.
func Run(ctx context.Context, in Input) (*report.Preview, []report.Problem, error) {
	p := &report.Preview{Policies: []report.PolicyPreview{}, Findings: []report.PreviewFinding{}}
	edits := &rules.Edits{}
	var problems []report.Problem
	if in.After != nil {
		edits = rules.Compare(in.Before, in.After)
		p.Settings = settings.Edits(in.Before.Settings, in.After.Settings)
		if same, err := in.Organization.Same(in.OrganizationAfter); err != nil {
			return nil, nil, err
		} else if !same {
			edits.Everything()
		}
		if edits.Any() {
			bad, err := previewRules(ctx, in, p, edits)
			if err != nil {
				return nil, nil, err
			}
			problems = bad
		}
	}
	failed, err := previewTests(ctx, in, p, edits)
	if err != nil {
		return nil, nil, err
	}
	problems = append(problems, failed...)
	if !edits.Any() && len(p.Settings) == 0 && p.Tests == nil && len(p.Warnings) == 0 {
		return nil, problems, nil
	}
	p.SetNotices(func(path string) bool { return in.Trees.Head.Blob(path) != "" })
	for i := range p.Notices {
		if at, elsewhere := in.After.Named(p.Notices[i].Path); elsewhere {
			p.Notices[i].Path, p.Notices[i].Line = at.Path, at.Line
		}
		p.Notices[i].Changed = in.Trees.Changed(p.Notices[i].Path)
	}
	return p, problems, nil
}

// comparison compares two versions of the rules.
type comparison struct {
	sides    [2]*side
	policies [2]map[string]*engine.PolicyInfo // by name; the first policy of each name
	rules    map[ruleKey]bool                 // rules that both versions have
	states   map[string]report.PolicyState    // of policies that cannot be compared
	secrets  *mask.Values                     // see Input; likewise wants
	wants    func() bool
	without  [2]*review.Reviewer // without the changed exceptions; nil if none change
	edited   map[*engine.Exception]report.Edit
}

func newComparison(before, after *side, states map[string]report.PolicyState) *comparison {
	p := &comparison{sides: [2]*side{before, after}, rules: map[ruleKey]bool{}, states: states}
	var keys [2]map[ruleKey]bool
	for i, side := range p.sides {
		p.policies[i], keys[i] = map[string]*engine.PolicyInfo{}, map[ruleKey]bool{}
		for _, info := range side.rules.Policies.List() {
			name := info.FullName()
			if p.policies[i][name] == nil {
				p.policies[i][name] = &info
			}
			if len(info.Rules) == 0 {
				keys[i][ruleKey{policy: name}] = true // a CEL policy as a whole
			}
			for _, rule := range info.Rules {
				keys[i][ruleKey{name, rule}] = true
			}
		}
	}
	for _, name := range builtin.Names() {
		p.rules[ruleKey{builtin.Policy, name}] = true
	}
	for k := range keys[0] {
		if keys[1][k] {
			p.rules[k] = true
		}
	}
	return p
}

// roots lists the roots that either version checks, the folders that only one of them checks, and those that come to other
// clusters.
func (p *comparison) roots() (all []roots.Root, in, out, moved []string) {
	before, after := p.sides[0], p.sides[1]
	other := func(r roots.Root) bool { return !before.has(r) && !after.has(r) }
	a := slices.DeleteFunc(before.sides.Reached(), other)
	if before.sides == after.sides {
		return a, nil, nil, nil
	}
	b := slices.DeleteFunc(after.sides.Reached(), other)
	all = append(slices.Clone(a), b...)
	slices.SortFunc(all, roots.Compare)
	all = slices.Compact(all)
	stay := report.Kept(all, func(r roots.Root) bool { return slices.Equal(before.of(r), after.of(r)) })
	in, out = rootsBetween(b, a), rootsBetween(a, b)
	moved = slices.DeleteFunc(rootsBetween(all, stay), func(name string) bool {
		return slices.Contains(in, name) || slices.Contains(out, name)
	})
	return all, in, out, moved
}

// run evaluates all roots and adds the differences to a preview. The order does not depend on the number of processors.
func (p *comparison) run(ctx context.Context, into *report.Preview, chosen []roots.Root, limit time.Duration) (
	*gathered, error,
) {
	all := newGathered()
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	into.Stats.Roots = len(chosen)
	for chunk := range slices.Chunk(chosen, chunkSize) {
		list := make([]*rootPreview, len(chunk))
		deploy.Each(len(chunk), func(i int) { list[i] = p.root(limited, chunk[i]) })
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
		}
		for i, one := range list {
			switch {
			case one == nil:
				into.Stats.Unseen++
				continue
			case one.err != nil:
				return nil, one.err
			case one.unrendered:
				into.Stats.Unrendered++
			}
			into.Stats.Resources += one.resources
			into.Warnings = append(into.Warnings, one.problems...)
			all.add(one)
			if len(one.differences)+len(one.problems) > 0 {
				for _, address := range one.from {
					into.RemoteSources = append(into.RemoteSources, report.RemoteSource{URL: address, Roots: []string{chunk[i].Name()}})
				}
			}
		}
	}
	into.RemoteSources = report.JoinRemoteSources(into.RemoteSources, nil)
	return all, nil
}

// root compares the results for the resources of one root; nil if there was no time.
func (p *comparison) root(ctx context.Context, root roots.Root) *rootPreview {
	if ctx.Err() != nil {
		return nil
	}
	out := &rootPreview{tallies: tallies{}, exceptions: map[string]report.ExceptionPreview{}}
	before, after, err := p.render(ctx, root)
	if ctx.Err() != nil {
		return nil
	}
	if out.err = err; err != nil {
		return out
	}
	out.from = slices.Concat(before.From, after.From)
	if p.wants != nil && p.wants() {
		return out // continue only to collect the sources to fetch
	}
	if out.unrendered = len(before.Head)+len(after.Head) > 0; out.unrendered && len(before.Head) == 0 {
		out.problems = diff.Problems("after the merge, "+root.Path+" cannot be rendered: ", after.Head...)
	}
	var lists [2][]*diff.Pair // the pairs of the versions whose cluster has the root
	for i, of := range []*diff.Root{before, after} {
		if p.sides[i].has(root) {
			lists[i] = of.Pairs
		}
	}
	left := map[diff.Key][]*diff.Pair{}
	for _, old := range lists[0] {
		left[diff.KeyOf(old.New)] = append(left[diff.KeyOf(old.New)], old)
	}
	for _, now := range lists[1] {
		k := diff.KeyOf(now.New)
		var old *diff.Pair
		if len(left[k]) > 0 {
			old, left[k] = left[k][0], left[k][1:]
		}
		p.resource(ctx, out, old, now)
	}
	for _, old := range lists[0] {
		if k := diff.KeyOf(old.New); len(left[k]) > 0 && left[k][0] == old {
			left[k] = left[k][1:]
			p.resource(ctx, out, old, nil)
		}
	}
	if ctx.Err() != nil {
		return nil // an incomplete result after the context ended
	}
	return out
}

// render renders a root for both versions, only once if they share the renderer.
func (p *comparison) render(ctx context.Context, root roots.Root) (before, after *diff.Root, _ error) {
	a, b := p.sides[0], p.sides[1]
	before, err := a.render(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	if a.sides != b.sides {
		after, err := b.render(ctx, root)
		return before, after, err
	}
	if a.declared != b.declared && before.Known {
		b.declared.Rendered(root, before.Deployed, before.Head...)
	}
	return before, before, nil
}

// resource compares the results for one resource; old or now is nil if a version does not check it.
func (p *comparison) resource(ctx context.Context, out *rootPreview, old, now *diff.Pair) {
	out.resources++
	var reviews [2]*review.Answer
	for i, one := range []*diff.Pair{old, now} {
		if one != nil {
			one.Versions(p.secrets.Object)
			v := p.sides[i].reviewer.Review(ctx, one)
			reviews[i] = &v
			for _, r := range v.Results {
				p.secrets.Object(r.Patched)
			}
		}
	}
	p.compare(out, reviews[0], reviews[1])
	p.exceptions(ctx, out, reviews)
}

// rootsBetween returns the folders of roots in of that other lacks; for a chart, with its values.
func rootsBetween(of, other []roots.Root) []string {
	has := map[roots.Root]bool{}
	for _, root := range other {
		has[root] = true
	}
	paths := map[string]bool{}
	for _, root := range of {
		if !has[root] {
			name := root.Path
			if root.Kind == roots.Chart {
				name = root.Name()
			}
			paths[name] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// side evaluates one version of the rules for the head, as a check of the whole branch does: no resource has an earlier
// version, and the requests have no particular user.
type side struct {
	rules    *rules.Ruleset
	decision *exceptions.Decision
	sides    *diff.Sides // both versions share it where their settings allow that
	declared *declared.Objects
	checks   []builtin.Check
	reviewer *review.Reviewer
	view     review.View
	has      func(roots.Root) bool     // selects the roots to evaluate
	of       func(roots.Root) []string // the clusters of a root
}

// newSide prepares a version of the rules. like is the other version, nil for the first; both share a renderer if their
// settings allow it.
func newSide(in Input, set *rules.Ruleset, decision *exceptions.Decision, like *side) (*side, error) {
	s := &side{rules: set, decision: decision}
	switch {
	case like != nil && set.Settings.SameRoots(like.rules.Settings) &&
		reflect.DeepEqual(set.Settings.Clusters, like.rules.Settings.Clusters):
		s.sides = like.sides
	default:
		head := in.Trees.Head
		config := render.Config{Limits: set.Settings.Limits.Render(), Namespaced: kinds.HasNamespace, Cache: in.Renderings,
			Sources: in.Sources}
		if set.Settings.SameRoots(in.Before.Settings) {
			head.Roots = head.Roots.With(config)
		} else {
			var err error
			options := set.Settings.RootOptions(in.Repository, in.Branches)
			if head.Roots, err = deploy.Open(head.Tree, options, in.Graphs, config); err != nil {
				return nil, err
			}
			head.Roots = head.Roots.Settled()
		}
		head.Roots.ForClusters(set.Settings.Rendered(set.Settings.Of(head.Roots)))
		s.sides = &diff.Sides{Trees: &diff.Trees{Head: head}, Head: head.Roots, All: true}
	}
	above := in.Organization
	if like != nil {
		above = in.OrganizationAfter
	}
	if like != nil && s.sides == like.sides && slices.Equal(set.Settings.Context, like.rules.Settings.Context) &&
		above == in.Organization {
		s.declared = like.declared
	} else {
		s.declared = declared.New(s.sides.Head, set.Settings.Context)
		s.declared.Secrets, s.declared.Above = in.Secrets, above
	}
	s.checks = builtin.For(builtin.FactsOf(set.Settings, s.declared))
	s.declared.Answered = builtin.AnsweredBy(s.checks)
	s.reviewer = s.reviewerWith(decision.Effective)
	s.view = review.ViewOf(set, decision, in.Trees)
	among := []*deploy.Set{s.sides.Head}
	if base := in.Trees.Base.Roots; base != nil {
		among = append(among, base)
	}
	s.of, s.has = set.Settings.Of(among...), func(r roots.Root) bool { return in.Has == nil || in.Has(r) }
	if like != nil {
		s.has = set.Settings.Keeps(like.rules.Settings, like.has, s.of)
	}
	return s, nil
}

// sameFacts reports whether the built-in checks see the same in both versions.
func (s *side) sameFacts(other *side) bool {
	a, b := s.rules.Settings, other.rules.Settings
	return s.sides == other.sides && s.declared == other.declared && a.Version() == b.Version() &&
		slices.Equal(a.Complete(), b.Complete())
}

func (s *side) reviewerWith(counting []*engine.Exception) *review.Reviewer {
	return review.By(s.rules, s.checks, report.User{}, s.declared, counting)
}

func (s *side) render(ctx context.Context, root roots.Root) (*diff.Root, error) {
	out, err := s.sides.Render(ctx, root)
	if err == nil && out.Known {
		s.declared.Rendered(root, out.Deployed, out.Head...)
	}
	if err == nil {
		out.Pairs = slices.DeleteFunc(out.Pairs, func(p *diff.Pair) bool { return s.declared.Exists(ctx, p, false) })
	}
	return out, err
}
