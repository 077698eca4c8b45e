package cel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// RuleSpec is the validate.cel part of a kyverno.io rule, and the rule's celPreconditions
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#cel-expressions). Expressions of rules that
// Kyverno generates for pod controllers come rewritten.
type RuleSpec struct {
	Name             string
	Pointer          string // of the validate.cel object in the document
	PreconditionsAt  string // of celPreconditions
	Preconditions    []policy.MatchCondition
	Expressions      []policy.CELValidation
	Variables        []policy.CELVariable
	AuditAnnotations []policy.CELAuditAnnotation
	ParamKind        *policy.ParamKind
	ParamRef         *policy.ParamRef
	Message          string // validate.message, for expressions that have none
}

// Rule is a compiled validate.cel rule: immutable and safe for concurrent use.
type Rule struct {
	name, message string
	program       *program
	paramKind     *policy.ParamKind
	paramRef      *policy.ParamRef
}

// CompileRule compiles a validate.cel rule. It is nil where a problem is more than a warning.
func CompileRule(doc policy.Document, spec RuleSpec) (*Rule, []policy.Problem) {
	c, err := newCompiler(doc)
	if err != nil {
		return nil, []policy.Problem{doc.Problem("", "%v", err)}
	}
	p := c.body(spec.Pointer, "", spec.Variables, nil, nil, spec.AuditAnnotations)
	c.conditions(p, spec.PreconditionsAt+"/", spec.Preconditions)
	c.validations(p, spec.Pointer+"/expressions/", spec.Expressions)
	if len(spec.Expressions) == 0 {
		c.problem(spec.Pointer+"/expressions", "the rule has no expressions")
	}
	if policy.HasErrors(c.problems) {
		return nil, c.problems
	}
	return &Rule{name: spec.Name, message: strings.TrimSpace(spec.Message), program: p, paramKind: spec.ParamKind,
		paramRef: spec.ParamRef}, c.problems
}

// Evaluate returns one result. Whether the rule matches the request, and whether an exception takes it away,
// is the caller's to say, as is Enforce.
func (r *Rule) Evaluate(ctx context.Context, req *admission.Request, env Env) Result {
	params, err := r.program.params(ctx, req, env, r.paramKind, r.paramRef)
	if err != nil {
		return r.judge(verdict{err: err, index: -1})
	}
	var out Result
	for _, param := range params {
		if out = r.judge(r.program.evaluate(ctx, req, env, plain, param, nil)); out.Outcome != admission.Pass {
			break
		}
	}
	return out
}

func (r *Rule) judge(v verdict) Result {
	out := Result{Rule: r.name, Line: v.line}
	needs := (*admission.NeedsClusterError)(nil)
	switch {
	case errors.As(v.err, &needs):
		out.Outcome, out.Message = admission.Unknown, needs.Error()
	case v.err != nil:
		// Kyverno reports an expression that cannot be evaluated as a violation.
		out.Outcome, out.Message, out.Fields, out.Old = admission.Error, v.err.Error(), v.fields, v.old
		if v.index >= 0 && !v.canceled() {
			out.Outcome = admission.Fail
		}
	case v.skipped:
		out.Outcome, out.Message = admission.Skip, "cel preconditions not met"
	case v.failed:
		out.Outcome, out.Fields, out.Old = admission.Fail, v.fields, v.old
		for _, out.Message = range []string{strings.TrimSpace(v.message), r.message,
			"failed expression: " + strings.TrimSpace(r.program.validations[v.index].expr.source)} {
			if out.Message != "" {
				break
			}
		}
	default:
		out.Outcome, out.Message = admission.Pass, fmt.Sprintf("Validation rule '%s' passed.", r.name)
	}
	return out
}
