package engine

import (
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/policy"
)

// mutatingPolicy is a mutating policy that is written in CEL.
type mutatingPolicy struct {
	whole
	cel *cel.Mutating
	at  phase
}

// compileMutating compiles a MutatingPolicy or NamespacedMutatingPolicy. One that changes existing objects is evaluated
// only in a cluster.
func compileMutating(d policy.Document, _ *bindings) (compiled, []policy.Problem, []policy.Problem) {
	var m policy.MutatingPolicy
	problems, ok := decodeCEL(d, &m)
	if !ok {
		return nil, nil, problems
	}
	c, bad := cel.CompileMutatingPolicy(d, m)
	switch {
	case policy.HasErrors(bad):
		return nil, nil, append(problems, bad...)
	case cel.ChangesOthers(m):
		others := d.Warning("/kind", "%s %s changes objects that exist already: it is not evaluated before merge", d.Kind,
			d.Name).As(policy.NotEvaluated)
		return nil, []policy.Problem{others}, append(problems, bad...)
	case c == nil:
		return nil, bad, problems // off at admission
	}
	return &mutatingPolicy{whole{referenceTo(d)}, c, mutates}, nil, append(problems, bad...)
}

// compileMutatingAdmission compiles a MutatingAdmissionPolicy.
func compileMutatingAdmission(d policy.Document, bound *bindings) (compiled, []policy.Problem, []policy.Problem) {
	var m policy.MutatingAdmissionPolicy
	bad, ok := decodeCEL(d, &m)
	if !ok {
		return nil, nil, bad
	}
	c, more := cel.CompileMutatingAdmissionPolicy(d, m, bound.mutating)
	return &mutatingPolicy{whole{referenceTo(d)}, c, mutatesFirst}, nil, append(bad, more...)
}

func (p *mutatingPolicy) bind([]*Exception) []step { return []step{p} }
func (p *mutatingPolicy) plurals() []string        { return p.cel.Plurals() }
func (p *mutatingPolicy) nothing() bool            { return p.cel.MatchesNothing() }
func (p *mutatingPolicy) phase() phase             { return p.at }
func (p *mutatingPolicy) uses(string) Uses         { return usesOf(p.cel.Allowances()) }

func (p *mutatingPolicy) evaluate(v *review) {
	for _, r := range p.results(v) {
		v.add(r)
	}
}

func (p *mutatingPolicy) results(v *review) (out []Result) {
	defer func() {
		if x := recover(); x != nil {
			out = p.panicked(x, true)
		}
	}()
	for _, m := range p.cel.Evaluate(v.ctx, v.request, v.celLog()) {
		r := v.fromCEL(p.ref, m.Result)
		r.Mutation, r.Patched = true, m.Patched
		if (r.Outcome == Error || r.Outcome == Unknown) && len(r.Fields) == 0 {
			r.Fields = []string{""}
		}
		out = append(out, r)
	}
	return out
}
