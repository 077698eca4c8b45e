package eval

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

// Pass is the result of a rule that is satisfied; the other results are those of package checks.
const Pass report.Result = "pass"

// Report is the outcome of a run, and the stable form of "lintel eval -o json".
type Report struct {
	Results []Result `json:"results"` // in the order of the objects, then of the policies and their rules
	// Errors are what could not be read or compiled; any makes the conclusion failure.
	Errors     []report.Problem  `json:"errors"`
	Warnings   []report.Problem  `json:"warnings,omitempty"`
	Conclusion report.Conclusion `json:"conclusion"`
	Stats      Stats             `json:"stats"`
}

// Result is what one rule said about one object. Rules that are not about the object give none.
type Result struct {
	Policy   string          `json:"policy"` // name, or namespace/name of a namespaced policy
	Rule     string          `json:"rule"`   // empty for policies that have no rules
	Resource report.Resource `json:"resource"`
	Result   report.Result   `json:"result"`
	Action   string          `json:"action"`         // "enforce" or "audit"
	Warn     bool            `json:"warn,omitempty"` // the policy asks for a warning to whoever makes the request
	Severity string          `json:"severity,omitempty"`
	Message  string          `json:"message"`
	// Fields are RFC 6901 pointers to all failing fields of the object, of the old object where Old is set; empty
	// unless the rule failed. "" is the object as a whole.
	Fields []string `json:"fields"`
	Old    bool     `json:"old,omitempty"`
	// Tolerated says that the object was in violation before the update, and that the rule lets such an update
	// through: a cluster would not deny it.
	Tolerated  bool     `json:"tolerated,omitempty"`
	Exceptions []string `json:"exceptions,omitempty"` // the exceptions that decided, as namespace/name
	// Combined says that more than one exception was needed, which together may allow what none allows alone.
	Combined bool   `json:"combined,omitempty"`
	Path     string `json:"path,omitempty"` // the file of the object
}

// Blocks says whether a cluster would refuse the object for this result.
func (r *Result) Blocks() bool {
	return (r.Result == report.Fail || r.Result == report.Error) && r.Action == "enforce" && !r.Tolerated
}

// Stats counts what a run did.
type Stats struct {
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

// count is the counter of a result.
func (s *Stats) count(r report.Result) *int {
	switch r {
	case Pass:
		return &s.Pass
	case report.Fail:
		return &s.Fail
	case report.Warn:
		return &s.Warn
	case report.Skip:
		return &s.Skip
	case report.Error:
		return &s.Error
	}
	return &s.Unknown
}

// add adds the answers about an object.
func (r *Report) add(id admission.Identity, path string, answers []engine.Result) {
	r.Stats.Resources++
	if cap(r.Results)-len(r.Results) < len(answers) {
		r.Results = slices.Grow(r.Results, len(r.Results)+len(answers)) // twofold: there is one result for each rule and object
	}
	resource := report.Resource{APIVersion: id.APIVersion(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
	for i := range answers {
		a := &answers[i]
		out := Result{
			Policy: PolicyName(a.Policy), Rule: a.Rule, Resource: resource, Result: resultOf(a), Action: "audit", Warn: a.Warn,
			Severity: a.Policy.Severity, Message: a.Message, Fields: []string{}, Old: a.Old, Tolerated: a.Tolerated,
			Exceptions: namesOf(a.Exceptions), Combined: a.Combined, Path: path,
		}
		if a.Enforce {
			out.Action = "enforce"
		}
		if a.Outcome == engine.Fail && len(a.Fields) > 0 {
			out.Fields = a.Fields
		}
		*r.Stats.count(out.Result)++
		r.Results = append(r.Results, out)
	}
}

func resultOf(a *engine.Result) report.Result {
	switch a.Outcome {
	case engine.Pass:
		return Pass
	case engine.Skip:
		return report.Skip
	case engine.Error:
		return report.Error
	case engine.Unknown:
		return report.Unknown
	}
	if a.Enforce {
		return report.Fail
	}
	return report.Warn
}

// conclude draws the conclusion, as a check of a change does.
func (r *Report) conclude() report.Conclusion {
	if len(r.Errors) > 0 {
		return report.Failure
	}
	weak := false
	for i := range r.Results {
		res := &r.Results[i]
		if res.Blocks() {
			return report.Failure
		}
		weak = weak || res.Result == report.Unknown || res.Result == report.Warn || res.Result == report.Error || res.Result == report.Fail
	}
	if weak {
		return report.Neutral
	}
	return report.Success
}

// PolicyName is the name of a policy in reports: with its namespace when it has one.
func PolicyName(p engine.PolicyRef) string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

func namesOf(list []*engine.Exception) []string {
	if len(list) == 0 {
		return nil
	}
	return engine.ExceptionNames(list)
}
