package eval

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// compare returns the rows of one expected result: one for each rule that answered for each object it is about.
func (c *loaded) compare(file string, line int, want *expectation) []report.TestRow {
	name := want.Policy
	if _, after, ok := strings.Cut(name, "/"); ok {
		name = after
	}
	row := report.TestRow{File: file, Line: line, Policy: want.Policy, Rule: want.Rule, Expected: want.Result}
	var rows []report.TestRow
	for _, o := range c.about(want) {
		id := admission.IdentityOf(o)
		if c.Match != nil && !c.Match(want.Policy, want.Rule, id.Name) {
			continue
		}
		row.Resource = review.Named(o)
		answered := false
		for i := range c.answers {
			a := &c.answers[i]
			if a.object == id && a.Policy.Name == name && sameRule(want.Rule, a.Rule) {
				answered = true
				judged := c.judge(row, want, a)
				if !judged.Excluded {
					c.cover(a)
				}
				rows = append(rows, c.strict(judged))
			}
		}
		if !answered {
			rows = append(rows, c.strict(c.unanswered(row, name)))
		}
	}
	if len(c.objects) == 0 && (c.Match == nil || c.Match(want.Policy, want.Rule, "")) {
		row.Resource = report.Resource{Kind: want.Kind}
		if row = c.unanswered(row, name); row.Reason == noAnswer {
			row.Reason = noObject
		}
		rows = append(rows, c.strict(row))
	}
	return rows
}

// strict makes a row without a comparison fail, if requested.
func (c *loaded) strict(row report.TestRow) report.TestRow {
	row.Excluded = row.Excluded && !c.Strict
	return row
}

// about lists the objects that an expected result names; all objects if no name matches.
func (c *loaded) about(want *expectation) []admission.Object {
	named := report.Kept(c.objects, func(o admission.Object) bool {
		id := admission.IdentityOf(o)
		return slices.Contains(want.Resources, id.Name) || slices.Contains(want.Resources, id.Namespace+"/"+id.Name)
	})
	if named == nil {
		return c.objects
	}
	return named
}

// sameRule reports whether a rule, as written or as generated for pod controllers, is the expected one. Policies that
// are CEL as a whole have no rules.
func sameRule(want, got string) bool {
	return want == "" || got == "" || got == want || got == "autogen-"+want || got == "autogen-cronjob-"+want
}

// judge compares an answer with the expected result.
func (c *loaded) judge(row report.TestRow, want *expectation, a *answer) report.TestRow {
	if a.Rule != "" {
		row.Rule = a.Rule
	}
	row.Actual, row.Reason = a.status, a.Message
	if !slices.Contains(expectable, want.Result) {
		row.Reason = fmt.Sprintf("the expected result %q is none of error, fail, pass, skip, warn", want.Result)
		return row
	}
	if want.PatchedResources != "" && a.Mutation && a.Outcome == engine.Pass {
		switch same, ok := c.patchedAs(want, a); {
		case !ok && !want.FailOnMissing:
			row.Excluded, row.Reason = true, want.PatchedResources+" does not hold the object: nothing was compared"
			return row
		case !ok:
			row.Actual, row.Reason = report.Fail, want.PatchedResources+" does not hold the object"
		case !same:
			row.Actual, row.Reason = report.Fail, "the patched object is not the one in "+want.PatchedResources
		}
	}
	// A rule that needs a cluster ends in an error in the kyverno command.
	row.OK = row.Actual == want.Result || row.Actual == report.Unknown && want.Result == report.Error
	return row
}

// patchedAs compares a mutated object with the object of the same name in a file. ok is false if the file does not
// contain it.
func (c *loaded) patchedAs(want *expectation, a *answer) (same, ok bool) {
	file := want.PatchedResources
	if _, known := c.patched[file]; !known {
		objects, problems := allObjects(c.sources("/results", []string{file})...)
		c.problem(problems...)
		for _, o := range objects {
			inDefault(o)
		}
		c.patched[file] = objects
	}
	for _, o := range c.patched[file] {
		if admission.IdentityOf(o) == a.object {
			return reflect.DeepEqual(tidy(o), tidy(c.lastOf(a).Patched)), true
		}
	}
	return false, false
}

// lastOf is the last mutation of the same policy on the same object: what the policy as a whole made of it.
func (c *loaded) lastOf(of *answer) *answer {
	for i := range c.answers {
		if a := &c.answers[i]; a.Policy == of.Policy && a.object == of.object && a.Patched != nil {
			of = a
		}
	}
	return of
}

// tidy removes empty values and converts all numbers to floats, since such differences do not count.
func tidy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e = tidy(e); e != nil {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, e := range v {
			out = append(out, tidy(e))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case int64:
		return float64(v)
	}
	return v
}

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
