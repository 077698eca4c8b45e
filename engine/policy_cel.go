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

// compileValidating compiles a ValidatingPolicy or NamespacedValidatingPolicy.
func compileValidating(d policy.Document, _ *bindings) (compiled, []policy.Problem, []policy.Problem) {
	var v policy.ValidatingPolicy
	bad, ok := decodeCEL(d, &v)
	if !ok {
		return nil, nil, bad
	}
	c, more := cel.CompileValidatingPolicy(d, v)
	if c == nil && !policy.HasErrors(more) {
		return nil, more, bad // of a mode that is not for requests to a cluster
	}
	return &celPolicy{ref: referenceTo(d), cel: c, at: validates, asks: asksForUser(d.Value())}, nil, append(bad, more...)
}

// asksForUser reports whether a rule names the user of the request, other than in its message.
func asksForUser(tree any) (is bool) {
	walkStrings(tree, "", func(at, s string) {
		says := strings.HasSuffix(at, "/message") || strings.HasSuffix(at, "/messageExpression") || strings.HasSuffix(at, "/valueExpression")
		is = is || !says && strings.Contains(s, "request.userInfo")
	})
	return is
}

// decodeCEL decodes a policy in CEL and finds mistakes that compiling it does not find. ok is false if it cannot be
// decoded.
func decodeCEL[P any](d policy.Document, p *P) (problems []policy.Problem, ok bool) {
	problems = policy.Decode(d, p)
	ok = !policy.HasErrors(problems)
	return append(problems, checkCEL(d)...), ok
}

// compileValidatingAdmission compiles a ValidatingAdmissionPolicy.
func compileValidatingAdmission(d policy.Document, bound *bindings) (compiled, []policy.Problem, []policy.Problem) {
	var v policy.ValidatingAdmissionPolicy
	bad, ok := decodeCEL(d, &v)
	if !ok {
		return nil, nil, bad
	}
	c, more := cel.CompileAdmissionPolicy(d, v, bound.validating)
	return &celPolicy{ref: referenceTo(d), cel: c, at: validates, asks: asksForUser(d.Value())}, nil, append(bad, more...)
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
			out = []Result{{
				Policy: p.ref, Line: p.ref.Line, Outcome: Error, Enforce: true, Message: panicked(x), Fields: []string{""},
				Mutation: p.at != validates,
			}}
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
	out := Result{
		Policy: ref, Rule: r.Rule, Outcome: r.Outcome, Enforce: r.Enforce, Message: r.Message,
		Fields: r.Fields, Old: r.Old, Combined: r.Combined, Line: cmp.Or(r.Line, ref.Line), Patched: r.Patched,
	}
	for _, x := range r.Exceptions {
		if known := v.celOf[x]; known != nil {
			out.Exceptions = append(out.Exceptions, known)
		}
	}
	return out
}
