package main

import (
	"cmp"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
)

// ruleName is a rule of a policy.
type ruleName struct{ policy, rule string }

// comparison is a report before and after edits.
type comparison struct {
	before, after *report.Report
	edits         []report.SourceEdit // of the findings before
	useless       map[int]string      // edits that are not worth it, by index, with the reason
}

// unhelpful returns the edits that did not help, by index, with the reason: one of their findings is still there, or
// there is a new one. Findings are counted by rule, since an edit may change their lines and the names of generated
// objects.
func unhelpful(before, after *report.Report, edits []report.SourceEdit) map[int]string {
	c := &comparison{before, after, edits, map[int]string{}}
	was, is, mends := countRules(before), countRules(after), map[ruleName]int{}
	for _, e := range edits {
		for _, k := range e.Findings {
			mends[ruleOf(&before.Findings[k])]++
		}
	}
	for rule, n := range mends {
		if is[rule] > was[rule]-n {
			ofRule := func(f *report.Finding) bool { return ruleOf(f) == rule }
			c.blame("the edit does not reduce the findings of the rule", func(f *report.Finding) bool {
				return ofRule(f) && slices.ContainsFunc(after.Findings, func(g report.Finding) bool {
					return ruleOf(&g) == rule && g.Field == f.Field && shared(resources(&g), resources(f)) && shared(g.Roots, f.Roots)
				})
			}, ofRule)
		}
	}
	for rule, n := range is {
		if mends[rule] == 0 && n > was[rule] {
			c.newFinding(rule)
		}
	}
	if n := len(after.Errors) + len(after.NotChecked); n > len(before.Errors)+len(before.NotChecked) {
		c.blame("with this edit, something can no longer be checked", func(f *report.Finding) bool {
			at := func(path string) bool { return f.Origin.Path == path }
			return slices.ContainsFunc(after.Errors, func(p report.Problem) bool { return at(p.Path) }) ||
				slices.ContainsFunc(after.NotChecked, func(n report.NotChecked) bool {
					return at(n.Path) || slices.Contains(f.Roots, n.Root)
				})
		})
	}
	return c.useless
}

// newFinding blames edits for a new finding of a rule: those of the same resources, otherwise those of the same roots.
func (c *comparison) newFinding(rule ruleName) {
	var list []report.Finding
	for _, g := range c.after.Findings {
		if ruleOf(&g) == rule && !slices.ContainsFunc(c.before.Findings, func(f report.Finding) bool {
			return ruleOf(&f) == rule && f.Field == g.Field && shared(resources(&f), resources(&g))
		}) {
			list = append(list, g)
		}
	}
	c.blame("with it "+rule.policy+" is violated", func(f *report.Finding) bool {
		return slices.ContainsFunc(list, func(g report.Finding) bool { return shared(resources(f), resources(&g)) })
	}, func(f *report.Finding) bool {
		return slices.ContainsFunc(list, func(g report.Finding) bool { return shared(f.Roots, g.Roots) })
	})
}

// blame marks the edits that match the first of the conditions that any edit matches, or all edits if none does.
func (c *comparison) blame(why string, conditions ...func(*report.Finding) bool) {
	for _, is := range append(conditions, func(*report.Finding) bool { return true }) {
		found := false
		for i, e := range c.edits {
			if slices.ContainsFunc(e.Findings, func(k int) bool { return is(&c.before.Findings[k]) }) {
				c.useless[i], found = cmp.Or(c.useless[i], why), true
			}
		}
		if found {
			return
		}
	}
}

func ruleOf(f *report.Finding) ruleName { return ruleName{f.Policy, f.Rule} }

func resources(f *report.Finding) []report.Resource {
	return append([]report.Resource{f.Resource}, f.Resources...)
}

// shared reports whether two lists have a common element.
func shared[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

// countRules counts the findings of each rule, except those that an exception covers.
func countRules(rep *report.Report) map[ruleName]int {
	out := map[ruleName]int{}
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Result != report.Skip {
			out[ruleOf(f)]++
		}
	}
	return out
}
