package preview

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine"
)

// loudness ranks results by severity for the owner of the resource.
func loudness(r report.Result) int {
	return slices.Index([]report.Result{"", report.Pass, report.Skip, report.Warn, report.Unknown, report.Error,
		report.Fail}, r)
}

func quietResult(r report.Result) bool { return loudness(r) <= loudness(report.Skip) }

func violates(r report.Result) bool { return r == report.Warn || r == report.Fail }

// effectOf returns the effect of a result becoming another; "" for none.
func effectOf(before, after report.Result) report.Effect {
	switch {
	case before == after || quietResult(before) && quietResult(after):
		return ""
	case quietResult(after):
		return report.EffectPasses
	case after == report.Fail:
		return report.EffectFails
	case after == report.Warn && before == report.Fail:
		return report.EffectRelaxed
	case after == report.Warn:
		return report.EffectWarns
	}
	return report.EffectUndecided
}

// ruleKey identifies a rule of a policy. All rules that only one version of a policy has get the empty name, since it
// is unknown which rule replaces which.
type ruleKey struct{ policy, rule string }

// answer is the result of one version of a rule for a resource.
type answer struct {
	worst  report.Result
	fields map[string]fieldAnswer // fields that do not pass, by stable pointer
	by     *engine.Exception      // the exception that covers the result
	action report.Action          // of its results; "" if there is none
}

type fieldAnswer struct {
	result  report.Result
	pointer string
	of      engine.Result
}

// answers groups the results of one review by rule; nil for no review.
func (p *comparison) answers(v *review.Answer) map[ruleKey]*answer {
	if v == nil {
		return nil
	}
	out := map[ruleKey]*answer{}
	for _, res := range v.Results {
		k := ruleKey{res.Policy.FullName(), res.Rule}
		if p.states[k.policy] == report.PolicyBroken {
			continue
		}
		if !p.rules[k] {
			k.rule = ""
		}
		a := out[k]
		if a == nil {
			a = &answer{fields: map[string]fieldAnswer{}}
			out[k] = a
		}
		result := stateOf(res)
		if result != "" && !res.Mutation {
			a.action = a.action.With(report.ActionOf(res.Enforce))
		}
		if loudness(result) > loudness(a.worst) {
			a.worst = result
			if result == report.Skip {
				a.by = res.Exceptions[0]
			}
		}
		if quietResult(result) {
			continue
		}
		object := v.Object()
		for _, pointer := range review.FieldsOf(res) {
			at := diff.StableField(object, pointer)
			if old, ok := a.fields[at]; !ok || loudness(result) > loudness(old.result) {
				a.fields[at] = fieldAnswer{result, pointer, res}
			}
		}
	}
	return out
}

// stateOf converts a result to one of a report; "" if the rule does not apply.
func stateOf(res engine.Result) report.Result {
	switch {
	case res.Outcome != engine.Pass && res.Outcome != engine.Skip:
		return review.ResultOf(res)
	case !review.Quiet(res):
		return report.Skip
	case res.Outcome == engine.Pass:
		return report.Pass
	}
	return ""
}

// ruleDifference is one finding of a preview, before findings at one place are merged.
type ruleDifference struct {
	differenceKind
	finding report.Finding
}

// compare adds the differences between two reviews of one resource. Either review may be nil.
func (p *comparison) compare(out *rootPreview, before, after *review.Answer) {
	old, now := p.answers(before), p.answers(after)
	type change struct {
		applied, applies, still bool // still: the resource violates the policy after the merge
		effects                 map[report.Effect]bool
	}
	changes := map[string]change{} // by policy
	for _, k := range keysOf(old, now) {
		a, b := cmp.Or(old[k], &answer{}), cmp.Or(now[k], &answer{})
		of := b
		if p.policies[1][k.policy] == nil {
			of = a
		}
		c := changes[k.policy]
		c.applied, c.applies, c.still = c.applied || a.worst != "", c.applies || of.worst != "", c.still || !quietResult(b.worst)
		t := out.tallies.of(k.policy)
		t.Before, t.Action = t.Before.With(a.action), t.Action.With(b.action)
		for _, d := range p.differences(k, a, b, before, after) {
			if c.effects == nil {
				c.effects = map[report.Effect]bool{}
			}
			c.effects[d.effect] = true
			out.differences = append(out.differences, d)
		}
		changes[k.policy] = c
	}
	for policy, c := range changes {
		t := out.tallies.of(policy)
		switch {
		case c.applies:
			t.Applies++
		case c.applied && c.effects == nil:
			t.Ends++
		}
		if c.effects != nil {
			count(t, c.effects, c.still)
		}
	}
	for policy := range p.mutate(before, after) {
		out.tallies.of(policy).Mutates++
	}
}

// mutate returns the policies that mutate a resource. These are the policies after the merge, and those before it that
// the merge removes.
func (p *comparison) mutate(reviews ...*review.Answer) map[string]bool {
	list := map[string]bool{}
	for i, v := range reviews {
		if v == nil {
			continue
		}
		for name := range v.Mutations.By() {
			if i == 1 || p.policies[1][name] == nil {
				list[name] = true
			}
		}
	}
	return list
}

// keysOf lists the keys of both maps, sorted.
func keysOf(a, b map[ruleKey]*answer) []ruleKey {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.SortFunc(keys, func(x, y ruleKey) int {
		return cmp.Or(cmp.Compare(x.policy, y.policy), cmp.Compare(x.rule, y.rule))
	})
	return slices.Compact(keys)
}

// differences compares the results of two versions of a rule: field by field if both fail and are the same rule,
// otherwise as a whole.
func (p *comparison) differences(k ruleKey, a, b *answer, before, after *review.Answer) []ruleDifference {
	var list []ruleDifference
	add := func(was, is report.Result, f fieldAnswer, v *review.Answer, side *side) {
		effect := effectOf(was, is)
		if effect == "" {
			return
		}
		d := ruleDifference{differenceKind{effect, was, is}, side.view.Finding(v, f.of, f.pointer)}
		d.finding.Exemption = nil
		for _, of := range []*answer{a, b} {
			if of.worst == report.Skip {
				d.finding.Exemption = &report.Exemption{Exception: of.by.FullName(), Path: of.by.Path}
			}
		}
		list = append(list, d)
	}
	byField := violates(a.worst) && violates(b.worst) && p.rules[k]
	for _, at := range slices.Sorted(maps.Keys(b.fields)) {
		was := a.worst
		if byField {
			was = a.fields[at].result
		}
		add(was, b.fields[at].result, b.fields[at], after, p.sides[1])
	}
	for _, at := range slices.Sorted(maps.Keys(a.fields)) {
		if _, still := b.fields[at]; byField && !still {
			add(a.fields[at].result, report.Pass, a.fields[at], before, p.sides[0])
		} else if quietResult(b.worst) {
			add(a.worst, b.worst, a.fields[at], before, p.sides[0])
		}
	}
	return list
}

// count adds one resource to a tally. still says that the resource violates the policy after the merge.
func count(t *report.PolicyPreview, effects map[report.Effect]bool, still bool) {
	for effect, n := range map[report.Effect]*int{report.EffectFails: &t.Fails, report.EffectWarns: &t.Warns,
		report.EffectRelaxed: &t.Relaxed, report.EffectUndecided: &t.Undecided} {
		if effects[effect] {
			*n++
		}
	}
	if effects[report.EffectPasses] && !still {
		t.Passes++
	}
	t.Roots = 1
}

// rootPreview is the differences for the resources of one root.
type rootPreview struct {
	resources   int
	from        []string // see diff.Root.From
	unrendered  bool
	problems    []report.Problem // errors that prevent rendering only after the merge
	tallies     tallies
	differences []ruleDifference
	exceptions  map[string]report.ExceptionPreview
	err         error
}

// tallies are the actions and counts of policies by name.
type tallies map[string]*report.PolicyPreview

// of returns the tally of a policy. It adds an empty one if there is none.
func (all tallies) of(policy string) *report.PolicyPreview {
	t := all[policy]
	if t == nil {
		t = &report.PolicyPreview{}
		all[policy] = t
	}
	return t
}

// gathered is the sum of the differences of all roots.
type gathered struct {
	tallies    tallies
	exceptions map[string]report.ExceptionPreview
	groups     map[differenceKind][]report.Finding
	left       map[uint64]bool // places for which there was no room
}

// differenceKind is what findings that are merged have in common.
type differenceKind struct {
	effect        report.Effect
	before, after report.Result
}

func newGathered() *gathered {
	return &gathered{tallies: tallies{}, exceptions: map[string]report.ExceptionPreview{},
		groups: map[differenceKind][]report.Finding{}, left: map[uint64]bool{}}
}

func (g *gathered) add(one *rootPreview) {
	for name, t := range one.tallies {
		sum := g.tallies.of(name)
		*sum = sum.With(*t)
	}
	for id, x := range one.exceptions {
		x.Roots = min(x.Lets, 1)
		g.exceptions[id] = g.exceptions[id].With(x)
	}
	grown := map[differenceKind]bool{}
	for _, d := range one.differences {
		g.groups[d.differenceKind] = append(g.groups[d.differenceKind], d.finding)
		grown[d.differenceKind] = true
	}
	for _, k := range slices.SortedFunc(maps.Keys(grown), compareKinds) {
		list := report.Merge(g.groups[k])
		for i := maxListed; i < len(list); i++ {
			g.left[placeHash(k, &list[i])] = true
		}
		g.groups[k] = list[:min(len(list), maxListed)]
	}
}

func compareKinds(a, b differenceKind) int {
	order := []report.Effect{report.EffectFails, report.EffectUndecided, report.EffectWarns, report.EffectRelaxed,
		report.EffectPasses}
	return cmp.Or(cmp.Compare(slices.Index(order, a.effect), slices.Index(order, b.effect)),
		cmp.Compare(loudness(b.after), loudness(a.after)), cmp.Compare(loudness(b.before), loudness(a.before)))
}

// findings lists the differences, the most severe kinds first, and returns the number of omitted ones.
func (g *gathered) findings() ([]report.PreviewFinding, int) {
	list := []report.PreviewFinding{}
	for _, k := range slices.SortedFunc(maps.Keys(g.groups), compareKinds) {
		findings := g.groups[k]
		slices.SortStableFunc(findings, report.CompareFindings)
		for _, f := range findings {
			if len(list) == maxListed {
				g.left[placeHash(k, &f)] = true
				continue
			}
			d := report.PreviewFinding{Effect: k.effect, Policy: f.Policy, Rule: f.Rule, Resource: f.Resource,
				Resources: f.Resources, Roots: f.Roots, Field: f.Field, Before: k.before, After: k.after,
				Message: f.Message, Origin: f.Origin}
			d.Resources, d.More.Resources = firstOf(d.Resources)
			d.Roots, d.More.Roots = firstOf(d.Roots)
			if f.Exemption != nil {
				d.Exception = f.Exemption.Exception
			}
			list = append(list, d)
		}
	}
	return list, len(g.left)
}

// firstOf cuts a list to maxNamed and returns the number of omitted elements.
func firstOf[T any](list []T) ([]T, int) {
	n := min(len(list), maxNamed)
	return list[:n:n], len(list) - n
}

// placeHash identifies the place of a difference, by the same fields as report.Merge.
func placeHash(k differenceKind, f *report.Finding) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %q %q %q %q %d %d %q %q", k.effect, k.before, k.after, f.Policy, f.Rule, f.Origin.Path,
		f.Origin.StartLine, f.Origin.StartColumn, f.Origin.Missing, f.Message)
	return h.Sum64()
}
