package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/policy"
)

// celPolicy is a policy that is written in CEL. It counts as one rule, without a pattern.
type celPolicy struct {
	ref  PolicyRef
	cel  *cel.Policy
	at   phase
	asks bool // it asks for the user
}

// inCEL returns the function that compiles the policies of a kind that is written in CEL, and finds mistakes that compiling them
// does not find. compile returns nil where a problem is an error, or where the policy is not evaluated here.
func inCEL[P any](at phase, compile func(d policy.Document, p P, bound *bindings) (c *cel.Policy, elsewhere, problems []policy.Problem),
) func(policy.Document, *bindings) (compiled, []policy.Problem, []policy.Problem) {
	return func(d policy.Document, bound *bindings) (compiled, []policy.Problem, []policy.Problem) {
		var p P
		problems := policy.Decode(d, &p)
		unread := policy.HasErrors(problems)
		if problems = append(problems, checkCEL(d)...); unread {
			return nil, nil, problems
		}
		c, elsewhere, more := compile(d, p, bound)
		if problems = append(problems, more...); c == nil {
			return nil, elsewhere, problems
		}
		return &celPolicy{ref: referenceTo(d), cel: c, at: at, asks: asksForUser(d.Value())}, elsewhere, problems
	}
}

func compileValidating(d policy.Document, p policy.ValidatingPolicy, _ *bindings) (*cel.Policy, []policy.Problem, []policy.Problem) {
	c, problems := cel.CompileValidatingPolicy(d, p)
	if c == nil && !policy.HasErrors(problems) {
		return nil, problems, nil // of a mode that is not for requests to a cluster
	}
	return c, nil, problems
}

func compileValidatingAdmission(d policy.Document, p policy.ValidatingAdmissionPolicy, bound *bindings) (*cel.Policy, []policy.Problem, []policy.Problem) {
	c, problems := cel.CompileAdmissionPolicy(d, p, bound.validating)
	return c, nil, problems
}

// compileMutating compiles a MutatingPolicy or NamespacedMutatingPolicy. One that changes existing objects is evaluated
// only in a cluster.
func compileMutating(d policy.Document, p policy.MutatingPolicy, _ *bindings) (*cel.Policy, []policy.Problem, []policy.Problem) {
	c, problems := cel.CompileMutatingPolicy(d, p)
	switch {
	case policy.HasErrors(problems):
	case cel.ChangesOthers(p):
		others := d.Warning("/kind", "%s %s changes objects that exist already: it is not evaluated before merge", d.Kind,
			d.Name).As(policy.NotEvaluated)
		return nil, []policy.Problem{others}, problems
	case c == nil:
		return nil, problems, nil // off at admission
	}
	return c, nil, problems
}

func compileMutatingAdmission(d policy.Document, p policy.MutatingAdmissionPolicy, bound *bindings) (*cel.Policy, []policy.Problem, []policy.Problem) {
	c, problems := cel.CompileMutatingAdmissionPolicy(d, p, bound.mutating)
	if c != nil && bound.only && !slices.ContainsFunc(bound.mutating, func(b policy.MutatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == d.Name
	}) {
		return nil, []policy.Problem{d.Warning("/metadata/name", "%s %s changes nothing, since no binding names it", d.Kind, d.Name)}, problems
	}
	return c, nil, problems
}

// asksForUser reports whether a rule names the user of the request, other than in its message.
func asksForUser(tree any) (is bool) {
	walkStrings(tree, "", func(at, s string) {
		says := strings.HasSuffix(at, "/message") || strings.HasSuffix(at, "/messageExpression") || strings.HasSuffix(at, "/valueExpression")
		is = is || !says && strings.Contains(s, "request.userInfo")
	})
	return is
}

func (p *celPolicy) reference() PolicyRef     { return p.ref }
func (p *celPolicy) ruleNames() []string      { return nil }
func (p *celPolicy) bind([]*Exception) []step { return []step{p} }
func (p *celPolicy) plurals() []string        { return p.cel.Plurals() }
func (p *celPolicy) nothing() bool            { return p.cel.MatchesNothing() }
func (p *celPolicy) phase() phase             { return p.at }
func (p *celPolicy) called() (string, int)    { return "", p.ref.Line }

func (p *celPolicy) uses(string) Uses { return Uses{Allowances: p.cel.Allowances()} }

func (p *celPolicy) explainMatch(v *review) {
	p.cel.ExplainMatch(v.ctx, v.request, v.celLog())
	if p.at != validates && v.request.Object == nil {
		v.logDeletion(explain.Mutate)
	}
}

func (p *celPolicy) evaluate(v *review) {
	for _, r := range p.results(v) {
		v.add(r)
	}
}

func (p *celPolicy) results(v *review) (out []Result) {
	defer func() {
		if x := recover(); x != nil {
			out = []Result{{Policy: p.ref, Mutation: p.at != validates, Decision: crashed(p.ref, x)}}
		}
	}()
	for _, found := range p.cel.Evaluate(v.ctx, v.request, v.celLog()) {
		r := v.fromCEL(p.ref, found)
		r.Mutation = p.at != validates
		if r.Mutation && (r.Outcome == Error || r.Outcome == Unknown) && len(r.Fields) == 0 {
			r.Fields = []string{""}
		}
		r.Personal = failing(r) && p.asks && slices.Equal(r.Fields, []string{""})
		out = append(out, r)
	}
	update := v.request.Operation == admission.Update && v.request.OldObject != nil
	if update && !v.prior && slices.ContainsFunc(out, failing) {
		old := *v.request
		old.Operation, old.Object, old.OldObject = admission.Create, v.request.OldObject, nil
		before := p.cel.Evaluate(v.ctx, &old, v.celEnv)
		for i := range out {
			out[i].PreExisting = failing(out[i]) && !out[i].Personal && slices.ContainsFunc(before, func(r cel.Result) bool {
				return r.Outcome == Fail && r.Rule == out[i].Rule
			})
		}
	}
	return out
}

func failing(r Result) bool { return r.Outcome == Fail }

func (v *review) fromCEL(ref PolicyRef, r cel.Result) Result {
	out := Result{Policy: ref, Decision: r.Decision}
	out.Line = cmp.Or(out.Line, ref.Line)
	for _, x := range r.Exceptions {
		if known := v.celOf[x]; known != nil {
			out.Exceptions = append(out.Exceptions, known)
		}
	}
	return out
}
