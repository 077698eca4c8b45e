package report

import (
	"fmt"
	"slices"
)

// TestRun is the result of policy tests, and the stable JSON of "lintel test -o json".
type TestRun struct {
	Rows    []TestRow   `json:"rows"`   // in the order of the files and their results
	Errors  []Problem   `json:"errors"` // what kept a test, or a part of it, from running
	Summary TestSummary `json:"summary"`
	// Coverage lists the rules of the policies that the tests name, in the order of their files; nil if it was not
	// requested.
	Coverage []RuleCoverage `json:"coverage,omitempty"`
}

// RuleCoverage is the results of a rule, including its generated forms, that rows of tests compared.
type RuleCoverage struct {
	Policy  string   `json:"policy"` // name, or namespace/name of a namespaced policy
	Rule    string   `json:"rule"`   // as it is written; empty for policies that have no rules
	Path    string   `json:"path"`
	Line    int      `json:"line"`
	Results []Result `json:"results"`           // that rows compared, sorted, each once
	Mutates bool     `json:"mutates,omitempty"` // it changes objects, and need not fail
}

// Reached reports whether a row compared a result of the rule.
func (c *RuleCoverage) Reached() bool { return len(c.Results) > 0 }

// Fails reports whether the rule found a violation, or mutated an object, in a row.
func (c *RuleCoverage) Fails() bool {
	return slices.ContainsFunc(c.Results, func(r Result) bool { return r == Fail || r == Warn || r == Pass && c.Mutates })
}

// Gap says what no row tests about the rule; "" if nothing is missing.
func (c *RuleCoverage) Gap() string {
	switch {
	case !c.Reached():
		return "no row reaches it"
	case c.Fails():
		return ""
	case c.Mutates:
		return "it changes nothing in any row"
	case slices.Equal(c.Results, []Result{Pass}):
		return "it only ever passes"
	}
	return "it fails in no row"
}

// OK reports whether all tests ran and no row failed.
func (r *TestRun) OK() bool { return len(r.Errors) == 0 && r.Summary.Failed == 0 }

// TestSummary counts rows. Excluded ones are not among the checked.
type TestSummary struct {
	Files    int `json:"files"`
	Checked  int `json:"checked"`
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Excluded int `json:"excluded"`
}

// Count counts one row.
func (s *TestSummary) Count(r *TestRow) {
	switch {
	case r.Excluded:
		s.Excluded++
		return
	case r.OK:
		s.Passed++
	default:
		s.Failed++
	}
	s.Checked++
}

// TestRow compares an expected result of a policy test with the actual result for one object.
type TestRow struct {
	File     string   `json:"file"`
	Line     int      `json:"line"` // of the expected result
	Policy   string   `json:"policy"`
	Rule     string   `json:"rule"`     // the rule that answered, else the one that was expected to
	Resource Resource `json:"resource"` // namespaced kinds and others alike are in "default" when they name nothing else
	Expected Result   `json:"expected"` // as the test says it, known or not
	Actual   Result   `json:"actual"`   // empty when no rule gave a result
	OK       bool     `json:"ok"`
	Excluded bool     `json:"excluded"` // nothing was compared; OK is then false
	Reason   string   `json:"reason"`   // why it is not OK, or the message of the rule
}

// Words says what is wrong with a failed row.
func (t *TestRow) Words() string {
	name := t.Policy
	if t.Rule != "" {
		name += " / " + t.Rule
	}
	got := "got " + string(t.Actual)
	if t.Actual == "" {
		got = "got no result"
	}
	words := fmt.Sprintf("the policy test fails: %s should be %q for %s, %s", name, t.Expected, t.Resource, got)
	if t.Reason != "" {
		words += ": " + t.Reason
	}
	return words
}
