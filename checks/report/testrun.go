package report

import "fmt"

// TestRun is the outcome of policy tests, and the stable form of "lintel test -o json".
type TestRun struct {
	Rows    []TestRow   `json:"rows"`   // in the order of the files and their results
	Errors  []Problem   `json:"errors"` // what kept a test, or a part of it, from running
	Summary TestSummary `json:"summary"`
}

// OK reports whether all tests could be run and none of their rows failed.
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

// TestRow compares one expected result of a policy test with one answer about one object.
type TestRow struct {
	File     string   `json:"file"`
	Line     int      `json:"line"` // of the expected result
	Policy   string   `json:"policy"`
	Rule     string   `json:"rule"`     // the rule that answered, else the one that was expected to
	Resource Resource `json:"resource"` // namespaced kinds and others alike are in "default" when they name nothing else
	Expected Result   `json:"expected"` // as the test says it, known or not
	Actual   Result   `json:"actual"`   // empty when no rule answered
	OK       bool     `json:"ok"`
	Excluded bool     `json:"excluded"` // nothing was compared; OK is then false
	Reason   string   `json:"reason"`   // why it is not OK, or the message of the rule
}

// Words says what is wrong with a row that failed.
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
