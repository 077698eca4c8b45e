package preview

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
)

// previewRules evaluates both versions of the rules for all roots of the head, within the time limit, and adds the
// differences to the preview. The problems are those of the proposed rules.
func previewRules(ctx context.Context, in Input, p *report.Preview, e *rules.Edits) ([]report.Problem, error) {
	old := rules.Compile(concerned(in.Before, e), in.Now, nil)
	now := rules.Compile(concerned(in.After, e), in.Now, nil)
	for _, w := range now.Warnings {
		if e.Files[w.Path] {
			w.Changed = in.Trees.Changed(w.Path)
			p.Warnings = append(p.Warnings, w)
		}
	}
	states, blind := documentStates(in, now)
	now.Exceptions = keepBroken(now.Exceptions, old.Exceptions, in.After.Exceptions)
	p.Stats.Policies = len(now.Policies.List())

	a, err := newSide(in, old, decide(in, old.Exceptions, func(string) bool { return false }, in.Before), nil)
	if err != nil {
		return nil, err
	}
	b, err := newSide(in, now, decide(in, now.Exceptions, in.Trees.Proposes, in.After), a)
	if err != nil {
		return nil, err
	}
	if !e.ConcernsChecks(builtin.Policy) && a.sameFacts(b) {
		a.checks, b.checks = nil, nil // their results are the same
		a.reviewer, b.reviewer = a.reviewerWith(a.decision.Effective), b.reviewerWith(b.decision.Effective)
	}
	pr := newComparison(a, b, states)
	pr.secrets, pr.wants = in.Secrets, in.Wants
	pr.edited = map[*engine.Exception]report.Edit{}
	for _, x := range slices.Concat(old.Exceptions, now.Exceptions) {
		if edit, ok := e.Exceptions[x.ID()]; ok {
			pr.edited[x] = edit
		}
	}
	all := newGathered()
	if blind != "" {
		p.Warnings = append(p.Warnings, report.Problem{Path: blind, Changed: true,
			Message: "the effect on resources is not known: a mutating policy has errors, so the input of the other " +
				"policies is not known"})
	} else {
		roots, added, gone, moved := pr.roots()
		p.RootsIn, p.RootsOut, p.RootsMoved = added, gone, moved
		pr.spare()
		if all, err = pr.run(ctx, p, roots, cmp.Or(in.Limit, defaultTime)); err != nil {
			return nil, err
		}
	}
	p.Findings, p.LeftOut = all.findings()
	p.Policies = pr.listPolicies(all, e, len(p.RootsMoved) > 0)
	if blind == "" {
		p.Exceptions = pr.listExceptions(all)
	}
	for i := range p.Policies {
		p.Policies[i].Partial = p.Stats.Unseen > 0
		if blind != "" {
			p.Policies[i].State = cmp.Or(p.Policies[i].State, report.PolicyUnknown)
		}
	}
	for i := range p.Exceptions {
		p.Exceptions[i].Partial = p.Stats.Unseen > 0
	}
	slices.SortFunc(p.Warnings, report.Problem.Compare)
	p.Warnings = slices.Compact(p.Warnings)
	return now.Errors, nil
}

// concerned keeps the policies whose results may differ.
func concerned(s *rules.Sources, e *rules.Edits) *rules.Sources {
	return &rules.Sources{Settings: s.Settings, Policies: e.Concerned(s.Policies), Exceptions: s.Exceptions}
}

// decide decides which exceptions would count if all were merged. proposed reports whether a file has the content of
// the change.
func decide(in Input, list []*engine.Exception, proposed func(path string) bool, of *rules.Sources) *exceptions.Decision {
	since := func(x *engine.Exception) (time.Time, bool) {
		return rules.Since(in.Objects, in.Trees.History(proposed(x.Path)), x, of.RenderedFrom(x))
	}
	return exceptions.Decide(exceptions.Input{Merged: list, Now: in.Now, Since: since})
}

// documentStates finds the policies that are not in effect after the merge although their files contain them: invalid
// ones, and those of kinds that Lintel does not evaluate. blind is the file of an invalid mutating policy. Without it,
// results of other policies are unknown.
func documentStates(in Input, after *rules.Ruleset) (states map[string]report.PolicyState, blind string) {
	states = map[string]report.PolicyState{}
	broken := after.Broken
	used := map[string]bool{}
	for _, info := range after.Policies.List() {
		used[info.FullName()] = true
	}
	// A file that cannot be read has no documents, so its documents before the change count.
	held := report.Kept(in.Before.Policies, func(s rules.Source) bool { return broken[s.Path] })
	documents := append(rules.Documents(held, false), rules.Documents(in.After.Policies, false)...)
	for _, d := range documents {
		switch {
		case used[d.FullName()] || d.Binding:
		case broken[d.Path]:
			states[d.FullName()] = report.PolicyBroken
			if d.Mutates {
				blind = d.Path
			}
		case states[d.FullName()] == "":
			states[d.FullName()] = report.PolicyUnevaluated
		}
	}
	return states, blind
}

// keepBroken adds the present version of exceptions whose new version has errors. The check fails for the errors, and
// the effect of the new version is unknown.
func keepBroken(next, present []*engine.Exception, sources []rules.Source) []*engine.Exception {
	wanted := map[string]bool{}
	for _, d := range rules.Documents(sources, true) {
		wanted[d.ID()] = true
	}
	for _, x := range next {
		delete(wanted, x.ID())
	}
	return append(next, report.Kept(present, func(x *engine.Exception) bool { return wanted[x.ID()] })...)
}

// spare prepares the reviewers without the exceptions that change.
func (p *comparison) spare() {
	for i, side := range p.sides {
		rest := report.Kept(side.decision.Effective, func(x *engine.Exception) bool { return p.edited[x] == "" })
		if len(rest) < len(side.decision.Effective) {
			p.without[i] = side.reviewerWith(rest)
		}
	}
}

// exceptions counts the results that each changed exception covers for a resource: before the merge for removed
// exceptions, after it for others.
func (p *comparison) exceptions(ctx context.Context, out *rootPreview, reviews [2]*review.Answer) {
	for i, v := range reviews {
		if v == nil || p.without[i] == nil {
			continue
		}
		var bare map[ruleKey]report.Result
		lets := map[string]bool{} // by exception: whether it covers a failing result
		for _, res := range v.Results {
			for _, x := range res.Exceptions {
				if edit := p.edited[x]; edit == "" || (edit == report.Removed) != (i == 0) {
					continue
				}
				if bare == nil {
					bare = map[ruleKey]report.Result{}
					without := p.without[i].Review(ctx, v.Pair)
					for _, other := range without.Results {
						k := ruleKey{other.Policy.FullName(), other.Rule}
						if state := stateOf(other); loudness(state) > loudness(bare[k]) {
							bare[k] = state
						}
					}
				}
				if state := p.bare(bare, res); state != "" {
					lets[x.ID()] = lets[x.ID()] || !quietResult(state)
				}
			}
		}
		for id, does := range lets {
			x := out.exceptions[id]
			if does {
				x.Lets++
			} else {
				x.Needless++
			}
			out.exceptions[id] = x
		}
	}
}

// bare returns the result of a rule without the exceptions. A policy in CEL gives its result another rule name when an
// exception applies.
func (p *comparison) bare(results map[ruleKey]report.Result, excepted engine.Result) report.Result {
	name := excepted.Policy.FullName()
	if state, ok := results[ruleKey{name, excepted.Rule}]; ok {
		return state
	}
	worst := report.Result("")
	for k, state := range results {
		if k.policy == name && loudness(state) > loudness(worst) {
			worst = state
		}
	}
	return worst
}

// listPolicies describes the policies that change, and those with different results; where roots moved to other clusters,
// also those that no longer apply to what passes them.
func (p *comparison) listPolicies(all *gathered, e *rules.Edits, moved bool) []report.PolicyPreview {
	names := map[string]bool{}
	for name := range e.Policies {
		names[name] = true
	}
	for name, t := range all.tallies {
		if t.Roots > 0 || moved && t.Ends > 0 {
			names[name] = true
		}
	}
	list := []report.PolicyPreview{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out := *all.tallies.of(name)
		out.Policy, out.State, out.Edit = name, p.states[name], cmp.Or(e.Policies[name], report.Unchanged)
		info := cmp.Or(p.policies[1][name], p.policies[0][name])
		switch {
		case info != nil:
			out.Path, out.Line = info.Path, info.Line
		case e.Places[name].Path != "":
			out.Path, out.Line = e.Places[name].Path, e.Places[name].Line
		}
		if info == nil && out.State == "" && out.Edit != report.Removed {
			continue // a binding
		}
		list = append(list, out)
	}
	return list
}

func (p *comparison) listExceptions(all *gathered) []report.ExceptionPreview {
	byID := map[string]report.ExceptionPreview{}
	present := slices.Concat(p.sides[0].decision.Effective, p.sides[0].decision.Inactive)
	for i, side := range p.sides {
		for _, x := range slices.Concat(side.decision.Effective, side.decision.Inactive) {
			edit := p.edited[x]
			// An edited exception with errors keeps its present version.
			if edit == "" || (edit == report.Removed) != (i == 0) || i == 1 && slices.Contains(present, x) {
				continue
			}
			out := all.exceptions[x.ID()]
			out.Exception, out.Edit, out.Path, out.Line = x.FullName(), edit, x.Path, x.Line
			out.Expired = side.decision.State(x) == report.Expired
			byID[x.ID()] = out
		}
	}
	return report.Mapped(slices.Sorted(maps.Keys(byID)), func(id string) report.ExceptionPreview { return byID[id] })
}
