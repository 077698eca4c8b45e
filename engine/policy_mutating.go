package engine

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/policy"
)

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
	return &celPolicy{ref: referenceTo(d), cel: c, at: mutates}, nil, append(problems, bad...)
}

// compileMutatingAdmission compiles a MutatingAdmissionPolicy.
func compileMutatingAdmission(d policy.Document, bound *bindings) (compiled, []policy.Problem, []policy.Problem) {
	var m policy.MutatingAdmissionPolicy
	bad, ok := decodeCEL(d, &m)
	if !ok {
		return nil, nil, bad
	}
	c, more := cel.CompileMutatingAdmissionPolicy(d, m, bound.mutating)
	if bad = append(bad, more...); c == nil {
		return nil, nil, bad
	}
	if bound.only && !slices.ContainsFunc(bound.mutating, func(b policy.MutatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == d.Name
	}) {
		return nil, []policy.Problem{d.Warning("/metadata/name", "%s %s changes nothing, since no binding names it", d.Kind, d.Name)}, bad
	}
	return &celPolicy{ref: referenceTo(d), cel: c, at: mutatesFirst}, nil, bad
}
