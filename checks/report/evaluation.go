package report

// Evaluation is what policies say about objects in files, and the stable form of "lintel eval -o json".
type Evaluation struct {
	Results []EvaluationResult `json:"results"` // in the order of the objects, then of the policies and their rules
	// Errors are what could not be read or compiled; any makes the conclusion failure.
	Errors     []Problem       `json:"errors"`
	Warnings   []Problem       `json:"warnings,omitempty"`
	Conclusion Conclusion      `json:"conclusion"`
	Stats      EvaluationStats `json:"stats"`
	// Trace is why each rule said what it said about each object, or nothing; nil where nobody asked.
	Trace []EvaluationTrace `json:"trace,omitempty"`
	// Excerpts are lines around the first places, by file and line. They are for text.
	Excerpts map[string]map[int]string `json:"-"`
}

// EvaluationResult is what one rule said about one object. Rules that are not about the object give none.
type EvaluationResult struct {
	Policy   string   `json:"policy"` // name, or namespace/name of a namespaced policy
	Rule     string   `json:"rule"`   // empty for policies that have no rules
	Resource Resource `json:"resource"`
	Result   Result   `json:"result"`
	Action   Action   `json:"action"`
	Warn     bool     `json:"warn,omitempty"` // the policy asks for a warning to whoever makes the request
	Severity string   `json:"severity,omitempty"`
	Message  string   `json:"message"`
	// Fields are RFC 6901 pointers to all failing fields of the object, of the old object where Old is set; empty
	// unless the rule failed. "" is the object as a whole.
	Fields []string `json:"fields"`
	Old    bool     `json:"old,omitempty"`
	// Tolerated means that the object was in violation before the update, and that the rule lets such an update
	// through: a cluster would not deny it.
	Tolerated  bool     `json:"tolerated,omitempty"`
	Exceptions []string `json:"exceptions,omitempty"` // the exceptions that decided, as namespace/name
	// Combined means that more than one exception was needed, which together may allow what none allows alone.
	Combined bool `json:"combined,omitempty"`
	// Unscored means that the policy is annotated policies.kyverno.io/scored: "false": its failures are warnings where
	// results are counted.
	Unscored bool `json:"unscored,omitempty"`
	// Places are where the fields are written, in their order.
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
	// Missing says that the field is not there; the place is that of the nearest one above it that is.
	Missing bool `json:"missing,omitempty"`
}

// EvaluationTrace is why a rule said what it said about an object.
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

// TraceStep is one thing that a rule looked at.
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

// TraceOutcome says whether something holds.
type TraceOutcome string

// The answers. What a deny asks for and holds is what denies.
const (
	Holds     TraceOutcome = "yes"
	HoldsNot  TraceOutcome = "no"
	Undecided TraceOutcome = "unknown"
)

// TraceValue is the value that something had, as JSON. Values of Secrets are hidden.
type TraceValue struct {
	Of string `json:"of"`
	Is string `json:"is"`
}

// Blocks reports whether a cluster would refuse the object for this result.
func (r *EvaluationResult) Blocks() bool {
	return (r.Result == Fail || r.Result == Error) && r.Action == Enforce && !r.Tolerated
}

// EvaluationStats counts what an evaluation did.
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

// Apply makes the results those that the kyverno command counts (its version 1.19): a rule that only audits fails, or
// with auditWarn warns; failures of unscored policies warn; what needs the cluster is an error; what an update may go
// on violating is skipped.
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

// Conclude draws the conclusion of an evaluation that is otherwise finished, as a check of a change does.
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
