package checks

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
)

// previewRules asks both versions of the rules about all roots of the head and fills in what they say differently, as
// far as the time goes.
func (r *run) previewRules(ctx context.Context, p *report.Preview, before, after *ruleSet, e *ruleEdits, limit time.Duration) error {
	options := engine.Options{Now: r.change.Now}
	old, _ := engine.CompilePolicies(e.concerned(before.policies), options)
	now, problems := engine.CompilePolicies(e.concerned(after.policies), options)
	lapsed, _ := engine.CompileExceptions(before.exceptions, options)
	excepted, more := engine.CompileExceptions(after.exceptions, options)
	problems = append(problems, more...)
	bad, warnings := problemsOf(problems)
	r.problems(bad...)
	_, unsupported := problemsOf(now.Unsupported())
	for _, w := range append(warnings, unsupported...) {
		if e.files[w.Path] {
			w.Changed = r.changed[w.Path]
			p.Warnings = append(p.Warnings, w)
		}
	}
	states, blind := documentStates(before, after, now, bad)
	excepted = keepBroken(excepted, lapsed, after.exceptions)
	p.Stats.Policies = len(now.List())

	decide := func(list []*engine.Exception, since func(*engine.Exception) (time.Time, bool)) *exceptions.Decision {
		return exceptions.Decide(exceptions.Input{Merged: list, Now: r.change.Now, Since: since, Blob: func(string) string { return "" }})
	}
	a, err := r.side(before, old, decide(lapsed, r.lastChange))
	if err != nil {
		return err
	}
	b, err := r.side(after, now, decide(excepted, func(x *engine.Exception) (time.Time, bool) {
		if r.change.Rules != "" && !r.proposes(x.Path) {
			return r.objects.LastChange(r.change.Rules, x.Path)
		}
		return r.objects.LastChange(r.change.Head, x.Path)
	}))
	if err != nil {
		return err
	}
	pr := newPreviewer(a, b, states)
	pr.edited = map[*engine.Exception]report.Edit{}
	for _, x := range slices.Concat(lapsed, excepted) {
		if edit, ok := e.exceptions[exceptionID(x)]; ok {
			pr.edited[x] = edit
		}
	}
	all := newGathered()
	if blind != "" {
		p.Warnings = append(p.Warnings, report.Problem{Path: blind, Changed: true,
			Message: "what changes for the resources is not known: a policy with errors would change what the other policies see"})
	} else {
		roots, in, out := pr.roots()
		p.RootsIn, p.RootsOut = in, out
		pr.spare()
		if all, err = pr.run(ctx, p, roots, limit); err != nil {
			return err
		}
	}
	p.Findings, p.LeftOut = all.findings()
	p.Policies = pr.listPolicies(all, e)
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
	slices.SortFunc(p.Warnings, func(a, b report.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	p.Warnings = slices.Compact(p.Warnings)
	return nil
}

func exceptionID(x *engine.Exception) string {
	group, _, _ := strings.Cut(x.APIVersion, "/")
	return group + " PolicyException " + exceptions.Name(x)
}

// documentStates finds the policies that are not in use after the merge though their files have them: broken ones, and
// those of kinds that are not evaluated. blind is the file of a broken policy that changes objects: without it, nothing
// can be said about the others.
func documentStates(before, after *ruleSet, compiled *engine.Policies, errs []report.Problem) (states map[string]report.PolicyState, blind string) {
	states = map[string]report.PolicyState{}
	broken := map[string]bool{}
	for _, p := range errs {
		broken[p.Path] = true
	}
	used := map[string]bool{}
	for _, info := range compiled.List() {
		used[infoName(info)] = true
	}
	// A file that cannot be read at all has no documents: what it held before counts.
	var held []ruleDoc
	for _, s := range before.policies {
		if broken[s.Path] {
			held = append(held, docs([]policy.Source{s}, false)...)
		}
	}
	for _, d := range append(held, docs(after.policies, false)...) {
		switch {
		case used[d.name()] || strings.HasSuffix(d.Kind, "Binding"):
		case broken[d.Path]:
			states[d.name()] = report.PolicyBroken
			if d.mutates {
				blind = d.Path
			}
		case states[d.name()] == "":
			states[d.name()] = report.PolicyUnevaluated
		}
	}
	return states, blind
}

// keepBroken adds the present version of exceptions whose next version has errors: the check fails for these, and
// what would become of the resources is not known.
func keepBroken(next, present []*engine.Exception, sources []policy.Source) []*engine.Exception {
	has := map[string]bool{}
	for _, x := range next {
		has[exceptionID(x)] = true
	}
	wanted := map[string]bool{}
	for _, d := range docs(sources, true) {
		wanted[d.id()] = !has[d.id()]
	}
	for _, x := range present {
		if wanted[exceptionID(x)] {
			next = append(next, x)
		}
	}
	return next
}

// spare readies the reviewers without the exceptions that change.
func (p *previewer) spare() {
	for i, side := range p.sides {
		rest := slices.DeleteFunc(slices.Clone(side.decision.Counting), func(x *engine.Exception) bool { return p.edited[x] != "" })
		if len(rest) < len(side.decision.Counting) {
			p.without[i] = &reviewer{user: side.reviewer.user, cluster: side.cluster, counting: side.run.policies.Bind(rest, side.cluster)}
		}
	}
}

// exceptions counts what the exceptions that change do for a resource: those that are removed before the merge, the
// others after it.
func (p *previewer) exceptions(ctx context.Context, out *rootPreview, reviews [2]*reviewed) {
	for i, v := range reviews {
		if v == nil || p.without[i] == nil {
			continue
		}
		var bare map[ruleKey]report.Result
		lets := map[string]bool{} // by exception: whether it lets anything through
		for _, res := range v.results {
			for _, x := range res.Exceptions {
				if edit := p.edited[x]; edit == "" || (edit == report.Removed) != (i == 0) {
					continue
				}
				if bare == nil {
					bare = map[ruleKey]report.Result{}
					without := p.without[i].review(ctx, v.pair)
					for _, other := range without.results {
						k := ruleKey{report.Name(other.Policy.Namespace, other.Policy.Name), other.Rule}
						if state := stateOf(other); loudness(state) > loudness(bare[k]) {
							bare[k] = state
						}
					}
				}
				state := p.bare(bare, res)
				if state != "" {
					lets[exceptionID(x)] = lets[exceptionID(x)] || !quietResult(state)
				}
			}
		}
		for id, does := range lets {
			if out.exceptions[id] == nil {
				out.exceptions[id] = &report.ExceptionPreview{}
			}
			if does {
				out.exceptions[id].Lets++
			} else {
				out.exceptions[id].Needless++
			}
		}
	}
}

// bare answers what a policy says without the exceptions. A policy in CEL calls its result otherwise when an exception
// takes the resource from it.
func (p *previewer) bare(results map[ruleKey]report.Result, excepted engine.Result) report.Result {
	name := report.Name(excepted.Policy.Namespace, excepted.Policy.Name)
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

// listPolicies describes the policies that change, and those that say something else.
func (p *previewer) listPolicies(all *gathered, e *ruleEdits) []report.PolicyPreview {
	names := map[string]bool{}
	for name := range e.policies {
		names[name] = true
	}
	for name, t := range all.tallies {
		if t.Roots > 0 {
			names[name] = true
		}
	}
	list := []report.PolicyPreview{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t := all.tallies[name]
		if t == nil {
			t = &policyTally{}
		}
		out := t.PolicyPreview
		out.Policy, out.Action, out.Before, out.State = name, t.after.action(), t.before.action(), p.states[name]
		out.Edit = cmp.Or(e.policies[name], report.Unchanged)
		info := cmp.Or(p.policies[1][name], p.policies[0][name])
		switch {
		case info != nil:
			out.Path, out.Line = info.Path, info.Line
		case e.places[name].Path != "":
			out.Path, out.Line = e.places[name].Path, e.places[name].Line
		}
		if info == nil && out.State == "" && out.Edit != report.Removed {
			continue // a binding
		}
		list = append(list, out)
	}
	return list
}

// listExceptions describes the exceptions that change.
func (p *previewer) listExceptions(all *gathered) []report.ExceptionPreview {
	byID := map[string]report.ExceptionPreview{}
	present := slices.Concat(p.sides[0].decision.Counting, p.sides[0].decision.Idle)
	for i, side := range p.sides {
		for _, x := range slices.Concat(side.decision.Counting, side.decision.Idle) {
			edit := p.edited[x]
			if edit == "" || (edit == report.Removed) != (i == 0) || i == 1 && slices.Contains(present, x) { // one with errors stands as it was
				continue
			}
			out := report.ExceptionPreview{}
			if counted := all.exceptions[exceptionID(x)]; counted != nil {
				out = *counted
			}
			out.Exception, out.Edit, out.Path, out.Line = exceptions.Name(x), edit, x.Path, x.Line
			out.Expired = side.decision.State(x) == report.Expired
			byID[exceptionID(x)] = out
		}
	}
	var list []report.ExceptionPreview
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		list = append(list, byID[id])
	}
	return list
}
