// Package eval evaluates policies for objects in files, without a repository, and runs policy tests: the counterpart of
// "kyverno apply" and "kyverno test".
//
// Each object is reviewed as if it were sent to a cluster with the declared objects. The package does no I/O: files are
// passed as content, the clock as a time.
package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Input is the input of a run, with files in the order in which they are read. Only Policies and Resources are
// required.
type Input struct {
	Policies   []rules.File // documents of other kinds are ignored, bindings of policies belong here
	Resources  []rules.File // the objects to review
	Exceptions []rules.File
	Cluster    []rules.File // objects that the cluster holds: they answer look-ups, Namespaces give labels
	Old        []rules.File // the objects before an update, found by kind, namespace and name

	Values *Values // nil for none
	User   settings.Requester
	// Operation is the operation of the requests. Empty means UPDATE for an object that Old contains, and CREATE for
	// all others. The old object of an UPDATE is the one in Old, or else the one in Cluster. DELETE removes the
	// objects.
	Operation admission.Operation
	Now       time.Time // for expiry and the time functions of policies
	Trace     bool      // say why, of each rule and object
}

// Run reviews all objects. Errors of the files are in the report. It fails if there is nothing to review or to review it
// with, and if the context ends.
func Run(ctx context.Context, in Input) (*report.Evaluation, error) {
	r := &recorder{Evaluation: report.Evaluation{Results: []report.EvaluationResult{}, Errors: []report.Problem{}}}
	options := engine.Options{Now: in.Now}
	policies, problems := engine.CompilePolicies(rules.ForEngine(in.Policies), options)
	r.problems(problems...)
	r.problems(policies.Unsupported()...)
	for _, p := range policies.List() {
		r.Stats.Policies++
		r.Stats.Rules += len(p.Rules)
	}
	declared, problems := Declare(in.Cluster...)
	r.problems(problems...)
	old, problems := Declare(in.Old...)
	r.problems(problems...)
	declared.Secrets(&r.secrets)
	old.Secrets(&r.secrets)
	in.User.Info = in.User.Info.Completed()
	reviewer := NewReviewer(Setup{
		Policies: policies, Exceptions: r.exceptions(in, options), Cluster: declared, Values: in.Values, User: in.User,
		Namespaces: namespacesOf(in.Resources),
	})
	for _, src := range in.Resources {
		for at, problem := range objects(src) {
			if problem != nil {
				r.problems(*problem)
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			o := at.Object
			if isInput(o) {
				continue // the inputs of this command often lie in one folder
			}
			r.secrets.Object(o)
			Default(o)
			review := Review{Object: o, Operation: in.Operation}
			review.find(old, declared)
			if !in.Trace {
				r.add(&at, src.Path, reviewer.Review(ctx, review))
				continue
			}
			results, traces := reviewer.Trace(ctx, review)
			r.add(&at, src.Path, results)
			r.trace(&review, traces)
		}
	}
	switch err := ctx.Err(); {
	case err != nil:
		return nil, err
	case len(r.Errors) > 0: // that is a failure
	case r.Stats.Policies == 0 && !rules.HavePolicies(in.Policies):
		return nil, errors.New("there are no policies in the files of policies")
	case r.Stats.Resources == 0:
		return nil, errors.New("there are no resources in the files of resources")
	}
	r.Errors, r.Warnings = report.SortProblems(r.Errors), report.SortProblems(r.Warnings)
	r.Conclude()
	mask.Texts(&r.Evaluation, &r.secrets)
	return &r.Evaluation, nil
}

// find looks up the old object of an update.
func (v *Review) find(old, declared *Objects) {
	if v.Operation != "" && v.Operation != admission.Update {
		return
	}
	id := admission.IdentityOf(v.Object)
	o, ok := old.get(id.Group, id.Kind, id.Namespace, id.Name)
	if !ok && v.Operation == admission.Update {
		o, ok = declared.get(id.Group, id.Kind, id.Namespace, id.Name)
	}
	if ok {
		v.Operation, v.Old = admission.Update, o
	}
}

// exceptions compiles the exceptions without expired ones. A duration in the label counts from now, the moment of
// applying the exception.
func (r *recorder) exceptions(in Input, options engine.Options) []*engine.Exception {
	all, problems := engine.CompileExceptions(rules.ForEngine(in.Exceptions), options)
	r.problems(problems...)
	decision := exceptions.Decide(exceptions.Input{
		Merged: all, Now: in.Now,
		Since: func(*engine.Exception) (time.Time, bool) { return in.Now, true },
	})
	r.Stats.Exceptions = len(decision.Effective)
	for _, e := range decision.Inactive {
		r.problems(policy.Problem{Path: e.Path, Line: e.Line, Warning: true,
			Message: fmt.Sprintf("the exception %s has expired and does not count", e.FullName())})
	}
	return decision.Effective
}

// isInput reports whether an object is an input of this command rather than an object of a cluster.
func isInput(o admission.Object) bool { return admission.IdentityOf(o).Group == "cli.kyverno.io" }

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
			Policy: a.Policy.FullName(), Rule: a.Rule, Resource: resource,
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
