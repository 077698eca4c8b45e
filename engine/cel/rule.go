package cel

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// RuleSpec is a kyverno.io rule with validate.cel, and maybe celPreconditions, and where these are written
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#cel-expressions). Expressions of rules that
// Kyverno generates for pod controllers come rewritten.
type RuleSpec struct {
	*policy.Rule
	Pointer         string // of the validate.cel object in the document
	PreconditionsAt string // of celPreconditions
	Webhook         bool   // it has only the match conditions of the policy's webhook, whose errors the failure policy is for
}

// Rule is a compiled validate.cel rule: immutable and safe for concurrent use.
type Rule struct {
	as       Policy // which differs in words
	paramRef *policy.ParamRef
	webhook  bool
}

// CompileRule compiles a validate.cel rule. It is nil where a problem is more than a warning.
func CompileRule(doc policy.Document, spec RuleSpec) (*Rule, []policy.Problem) {
	body, message := spec.Validate.CEL, strings.TrimSpace(spec.Validate.Message) // for expressions that have none
	return compileDocument(doc, func(c *compiler) *Rule {
		p := c.body(spec.Pointer, "", body.Variables, nil, nil, body.AuditAnnotations)
		p.annotations = nil // they are checked, but Kyverno takes only the decisions
		p.conditions = c.conditions(spec.PreconditionsAt+"/", spec.CELPreconditions)
		c.validations(p, spec.Pointer+"/expressions/", body.Expressions)
		if len(body.Expressions) == 0 {
			c.problem(spec.Pointer+"/expressions", "the rule has no expressions")
		}
		return &Rule{paramRef: body.ParamRef, webhook: spec.Webhook, as: Policy{
			rule: spec.Name, program: p, paramKind: body.ParamKind,
			errorsFail: true, // Kyverno reports an expression that cannot be evaluated as a violation
			defaultMessage: func(_ int, source string) string {
				return cmp.Or(message, "failed expression: "+strings.TrimSpace(source))
			},
		}}
	})
}

// Evaluate returns one result. Whether the rule matches the request, and whether an exception takes it away,
// is the caller's to say, as is Enforce.
func (r *Rule) Evaluate(ctx context.Context, req *admission.Request, env Env) Result {
	params, err := r.as.program.params(ctx, req, env, r.as.paramKind, r.paramRef)
	if err != nil {
		return r.judge(verdict{err: err, index: -1})
	}
	var out Result
	for _, param := range params {
		if out = r.judge(r.as.program.evaluate(ctx, req, env, param, nil)); out.Outcome != admission.Pass {
			break
		}
	}
	return out
}

func (r *Rule) judge(v verdict) Result {
	out := r.as.judge(v, false)
	out.Enforce = false
	switch out.Outcome {
	case admission.Error:
		if v.inCondition && !v.canceled() && !r.webhook { // without a failure policy, the API server's code denies
			out.Outcome = admission.Fail
		}
	case admission.Skip:
		out.Message = "cel preconditions not met"
	case admission.Pass:
		out.Message = fmt.Sprintf("Validation rule '%s' passed.", out.Rule)
	}
	return out
}
