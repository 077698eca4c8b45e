package eval

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
)

// The reasons of rows without a comparison, and of those whose policy is not there.
const (
	notEvaluated = "not evaluated before merge"
	noAnswer     = "no rule gave a result"
	noRule       = "the policy has no rule of this name"
	notLoaded    = "the policy could not be loaded"
	notFound     = "the test has no policy of this name"
	noObject     = "the test has no object that is evaluated"
)

// policyFile is a policy as its file has it, and what has become of it.
type policyFile struct {
	name      string
	broken    bool
	written   []string // the names of its rules in the file
	evaluated []string // the names of the rules that are evaluated, generated ones included
	inUse     bool

	path, kind string
	coverage   []report.RuleCoverage // of the rules that are evaluated
}

// policyGroups are the API groups of policies.
var policyGroups = []string{"kyverno.io", "policies.kyverno.io", "admissionregistration.k8s.io"}

// policyFiles lists the policies of the files.
func policyFiles(sources []rules.File, compiled *engine.Policies, problems []policy.Problem) []policyFile {
	var out []policyFile
	for _, s := range sources {
		docs, _ := s.Documents() // what cannot be read is among the problems
		for _, d := range docs {
			if !slices.Contains(policyGroups, d.Group()) {
				continue
			}
			p := policyFile{name: d.Name, path: d.Path, kind: d.Kind}
			p.broken = slices.ContainsFunc(problems, func(p policy.Problem) bool { return !p.Warning && p.Path == d.Path })
			var rules []struct {
				Name string `json:"name"`
			}
			_ = policy.DecodeAt(d, "/spec/rules", &rules) // only the names are of interest here
			for _, r := range rules {
				p.written = append(p.written, r.Name)
			}
			for _, info := range compiled.List() {
				if info.Name == d.Name && info.Kind == d.Kind {
					p.inUse, p.evaluated = true, info.Rules
				}
			}
			p.uncovered(d)
			out = append(out, p)
		}
	}
	return out
}

// unanswered is the row of an object that no rule of the policy answered for.
func (c *loaded) unanswered(row report.TestRow, name string) report.TestRow {
	i := slices.IndexFunc(c.policies, func(p policyFile) bool { return p.name == name })
	if i < 0 {
		// A policy that could not be read at all leaves no name, only an error.
		row.Excluded = len(c.errors) > 0
		row.Reason = notFound
		return row
	}
	p := &c.policies[i]
	isRule := func(got string) bool { return sameRule(row.Rule, got) }
	row.Excluded = true
	switch {
	case !p.inUse && p.broken:
		row.Reason = notLoaded
	case !p.inUse:
		row.Reason = notEvaluated
	case row.Rule == "" || len(p.evaluated) == 0 && len(p.written) == 0 || slices.ContainsFunc(p.evaluated, isRule):
		row.Reason = noAnswer
	case slices.ContainsFunc(p.written, isRule):
		row.Reason = notEvaluated
	default:
		row.Reason = noRule
	}
	return row
}
