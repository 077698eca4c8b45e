package eval

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
)

// recorder collects the results of the policies.
type recorder struct {
	report.Evaluation
	secrets mask.Values // of all objects
	shown   int         // results with an excerpt
	masked  struct {    // the lines of the last part that had one
		of   *part
		rows []string
	}
}

// problems adds problems to the errors and the warnings.
func (r *recorder) problems(list ...policy.Problem) {
	errs, warnings := rules.Problems(list)
	r.Errors, r.Warnings = append(r.Errors, errs...), append(r.Warnings, warnings...)
}

// add adds the results for an object.
func (r *recorder) add(at *placed, path string, answers []engine.Result) {
	o := at.Object
	places := placing{at: at}
	r.Stats.Resources++
	if cap(r.Results)-len(r.Results) < len(answers) {
		// Twofold: there is one result for each rule and object.
		r.Results = slices.Grow(r.Results, len(r.Results)+len(answers))
	}
	resource := review.Named(o)
	for i := range answers {
		a := &answers[i]
		r.secrets.Object(a.Patched)
		out := report.EvaluationResult{
			Policy: report.Name(a.Policy.Namespace, a.Policy.Name), Rule: a.Rule, Resource: resource,
			Result: report.ResultOf(a.Outcome, a.Enforce), Action: report.ActionOf(a.Enforce), Warn: a.Warn,
			Severity: a.Policy.Severity, Message: a.Message, Fields: []string{}, Old: a.Old, Tolerated: a.Tolerated,
			Exceptions: engine.ExceptionNames(a.Exceptions), Combined: a.Combined, Unscored: a.Policy.Unscored,
			Path: path,
		}
		if a.Outcome == engine.Fail && len(a.Fields) > 0 {
			out.Fields = a.Fields
			out.Places = places.of(a.Fields)
			if mask.IsSecret(o) {
				unmeasured(resource.APIVersion, out.Places)
			}
			r.excerpt(path, &places, out.Places)
		}
		if a.Outcome != engine.Pass {
			out.PolicyPath, out.PolicyLine = a.Policy.Path, a.Line
		}
		r.Stats.Count(out.Result)
		r.Results = append(r.Results, out)
	}
}

// finish sorts the problems of files, and sets the conclusion.
func (r *recorder) finish() {
	r.Errors = report.SortProblems(r.Errors)
	r.Warnings = report.SortProblems(r.Warnings)
	r.Conclude()
	mask.Texts(&r.Evaluation, &r.secrets)
}
