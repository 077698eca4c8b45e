package eval

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
)

// uncovered adds the rules of a policy as not reached by any row.
func (p *policyFile) uncovered(d policy.Document) {
	if !p.inUse {
		return
	}
	one := report.RuleCoverage{Policy: report.Name(d.Namespace, d.Name), Path: d.Path, Line: d.Line, Results: []report.Result{}}
	if len(p.written) == 0 {
		p.coverage = []report.RuleCoverage{one}
	}
	for i, rule := range p.written {
		if slices.Contains(p.evaluated, rule) {
			one.Rule = rule
			one.Line, _ = d.Position(fmt.Sprintf("/spec/rules/%d", i))
			p.coverage = append(p.coverage, one)
		}
	}
}

// cover notes that a row compared an answer.
func (c *loaded) cover(a *answer) {
	for i := range c.policies {
		p := &c.policies[i]
		if p.name != a.Policy.Name || p.path != a.Policy.Path || p.kind != a.Policy.Kind {
			continue
		}
		for j := range p.coverage {
			if one := &p.coverage[j]; one.Rule == "" || formOf(one.Rule, a.Rule) {
				one.Results = with(one.Results, a.status)
				one.Mutates = one.Mutates || a.Mutation
			}
		}
	}
}

// maxRuleName is the maximum length of the name of a generated rule; longer names are cut.
const maxRuleName = 63

// formOf reports whether a rule is the written one, or generated from it for pod controllers.
func formOf(written, rule string) bool {
	return slices.ContainsFunc([]string{written, "autogen-" + written, "autogen-cronjob-" + written}, func(name string) bool {
		return name == rule || len(rule) == maxRuleName && name[:min(len(name), maxRuleName)] == rule
	})
}

// with returns a sorted list with one more result, each once.
func with(list []report.Result, one report.Result) []report.Result {
	i, found := slices.BinarySearch(list, one)
	if found {
		return list
	}
	return slices.Insert(slices.Clone(list), i, one)
}

// merged is the coverage of rules that several tests name.
func merged(list []report.RuleCoverage) (out []report.RuleCoverage) {
	slices.SortStableFunc(list, func(a, b report.RuleCoverage) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Policy, b.Policy),
			cmp.Compare(a.Rule, b.Rule))
	})
	for _, one := range list {
		last := len(out) - 1
		if last < 0 || out[last].Path != one.Path || out[last].Line != one.Line || out[last].Policy != one.Policy ||
			out[last].Rule != one.Rule {
			out = append(out, one)
			continue
		}
		for _, r := range one.Results {
			out[last].Results = with(out[last].Results, r)
		}
		out[last].Mutates = out[last].Mutates || one.Mutates
	}
	return out
}
