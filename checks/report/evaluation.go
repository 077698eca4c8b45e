package report

import (
	"fmt"
	"slices"
)

// Evaluation is the results of policies for objects in files, and the stable JSON of "lintel eval -o json".
type Evaluation struct {
	Results []EvaluationResult `json:"results"` // in the order of the objects, then of the policies and their rules
	// Errors are files that could not be read or compiled. Any error makes the conclusion failure.
	Errors     []Problem       `json:"errors"`
	Warnings   []Problem       `json:"warnings,omitempty"`
	Conclusion Conclusion      `json:"conclusion"`
	Stats      EvaluationStats `json:"stats"`
	// Trace explains the result of each rule for each object, also if there is none; nil if it was not requested.
	Trace []EvaluationTrace `json:"trace,omitempty"`
	// Excerpts are lines around the first places, by file and line, for the text format.
	Excerpts map[string]map[int]string `json:"-"`
}

// EvaluationResult is the result of one rule for one object. Rules that do not apply have none.
type EvaluationResult struct {
	Policy   string   `json:"policy"` // name, or namespace/name of a namespaced policy
	Rule     string   `json:"rule"`   // empty for policies that have no rules
	Resource Resource `json:"resource"`
	Result   Result   `json:"result"`
	Action   Action   `json:"action"`
	Warn     bool     `json:"warn,omitempty"` // the policy asks for a warning to whoever makes the request
	Severity string   `json:"severity,omitempty"`
	Message  string   `json:"message"`
	// Fields are RFC 6901 pointers to all failing fields of the object, or of the old object if Old is set. They are
	// empty unless the rule failed. "" is the whole object.
	Fields []string `json:"fields"`
	Old    bool     `json:"old,omitempty"`
	// Tolerated means that the object violated the rule before the update, and that the rule allows such updates: a
	// cluster would not deny it.
	Tolerated  bool     `json:"tolerated,omitempty"`
	Exceptions []string `json:"exceptions,omitempty"` // the exceptions that decided, as namespace/name
	// Combined means that more than one exception was needed. Together, they may allow what none of them allows alone.
	Combined bool `json:"combined,omitempty"`
	// Unscored means that the policy is annotated policies.kyverno.io/scored: "false", so that its failures are counted
	// as warnings.
	Unscored bool `json:"unscored,omitempty"`
	// Places are where the fields are written, in the order of Fields.
	Places     []EvaluationPlace `json:"places,omitempty"`
	PolicyPath string            `json:"policyPath,omitempty"` // of the rule, or what decided of it, unless it passed
	PolicyLine int               `json:"policyLine,omitempty"`
	Path       string            `json:"path,omitempty"` // the file of the object
}

// EvaluationPlace is where a field of an object is written, in the file of the object.
type EvaluationPlace struct {
	Field     string `json:"field"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`              // in characters, from 1: of the value, or of the key of several lines
	EndColumn int    `json:"endColumn,omitempty"` // behind the last; 0 where it is not known
	// Missing says that the field does not exist; the place is that of its nearest existing parent.
	Missing bool `json:"missing,omitempty"`
}

// EvaluationTrace explains the result of a rule for an object.
type EvaluationTrace struct {
	Policy     string      `json:"policy"`
	Rule       string      `json:"rule"`
	Resource   Resource    `json:"resource"`
	Result     Result      `json:"result,omitempty"` // empty where the rule is not about the object
	PolicyPath string      `json:"policyPath,omitempty"`
	PolicyLine int         `json:"policyLine,omitempty"`
	Steps      []TraceStep `json:"steps"`          // in the order in which they were looked at
	More       int         `json:"more,omitempty"` // how many steps more there were
}

// TraceStep is one step of evaluating a rule.
type TraceStep struct {
	Part   TracePart    `json:"part"`           // match, exclude, preconditions, deny, pattern ...
	At     string       `json:"at,omitempty"`   // which of them
	Line   int          `json:"line,omitempty"` // in the file of the policy, where it is known
	Holds  TraceOutcome `json:"holds"`
	What   string       `json:"what,omitempty"` // what was asked, or found
	Values []TraceValue `json:"values,omitempty"`
	Error  string       `json:"error,omitempty"`
}

// TracePart is a part of a rule.
type TracePart string

// TraceOutcome is the outcome of a step.
type TraceOutcome string

// The outcomes. A condition of deny that holds denies the request.
const (
	Holds     TraceOutcome = "yes"
	HoldsNot  TraceOutcome = "no"
	Undecided TraceOutcome = "unknown"
)

// TraceValue is a value of a step, as JSON. Values of Secrets are masked.
type TraceValue struct {
	Of string `json:"of"`
	Is string `json:"is"`
}

// Blocks reports whether a cluster would reject the object because of this result.
func (r *EvaluationResult) Blocks() bool {
	return (r.Result == Fail || r.Result == Error) && r.Action == Enforce && !r.Tolerated
}

// EvaluationStats counts the results of an evaluation.
type EvaluationStats struct {
	Policies   int `json:"policies"`
	Rules      int `json:"rules"`
	Exceptions int `json:"exceptions"`
	Resources  int `json:"resources"`
	Pass       int `json:"pass"`
	Fail       int `json:"fail"`
	Warn       int `json:"warn"`
	Skip       int `json:"skip"`
	Error      int `json:"error"`
	Unknown    int `json:"unknown"`
}

// Count counts one result.
func (s *EvaluationStats) Count(r Result) {
	switch r {
	case Pass:
		s.Pass++
	case Fail:
		s.Fail++
	case Warn:
		s.Warn++
	case Skip:
		s.Skip++
	case Error:
		s.Error++
	default:
		s.Unknown++
	}
}

// Apply converts the results to those that the kyverno command counts (version 1.19). A rule that only audits fails, or
// warns with auditWarn. Failures of unscored policies warn. A rule that needs the cluster is an error, and a tolerated
// violation is skipped.
func (e *Evaluation) Apply(auditWarn bool) {
	s := &e.Stats
	s.Pass, s.Fail, s.Warn, s.Skip, s.Error, s.Unknown = 0, 0, 0, 0, 0, 0
	for i := range e.Results {
		r := &e.Results[i]
		switch failed := r.Result == Fail || r.Result == Warn; {
		case r.Result == Unknown:
			r.Result = Error
		case failed && r.Tolerated && r.Action == Enforce:
			r.Result = Skip
		case failed && (r.Unscored || r.Action == Audit && auditWarn):
			r.Result = Warn
		case failed:
			r.Result = Fail
		}
		s.Count(r.Result)
	}
}

// Conclude sets the conclusion of an evaluation that is otherwise complete, like that of a check.
func (e *Evaluation) Conclude() {
	e.Conclusion = Success
	for i := range e.Results {
		switch r := &e.Results[i]; {
		case r.Blocks():
			e.Conclusion = Failure
			return
		case r.Result != Pass && r.Result != Skip:
			e.Conclusion = Neutral
		}
	}
	if len(e.Errors) > 0 {
		e.Conclusion = Failure
	}
}

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
