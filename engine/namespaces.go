package engine

import "slices"

// NeedsNamespaces reports whether a policy reads the Namespace object of a request, or its labels. Where none
// does, and no exception ([Evaluator.NeedsNamespaces]), requests need not name it.
func (p *Policies) NeedsNamespaces() bool {
	return slices.ContainsFunc(p.programs, (*program).readsNamespace)
}

// NeedsNamespaces reports whether a policy or a bound exception reads the Namespace object of a request.
func (e *Evaluator) NeedsNamespaces() bool {
	if e.policies.NeedsNamespaces() {
		return true
	}
	for _, x := range e.celEnv.Exceptions {
		if x.ReadsNamespace() {
			return true
		}
	}
	for _, b := range e.programs {
		for _, list := range b.exceptions {
			if slices.ContainsFunc(list, func(x *Exception) bool { return x.match.ReadsNamespace() }) {
				return true
			}
		}
	}
	return false
}

func (g *program) readsNamespace() bool {
	return g.cel != nil && g.cel.ReadsNamespace() || g.mutating != nil && g.mutating.ReadsNamespace() ||
		g.conditions != nil && g.conditions.ReadsNamespace() || slices.ContainsFunc(g.rules, (*rule).readsNamespace)
}

func (r *rule) readsNamespace() bool {
	return r.match.ReadsNamespace() || r.exclude.ReadsNamespace() || r.action.readsNamespace() ||
		r.cel != nil && r.cel.ReadsNamespace() || r.body.assert != nil
}

func (a *action) readsNamespace() bool {
	for ; a != nil; a = a.next {
		if slices.ContainsFunc(a.overrides, func(o override) bool { return o.selector != nil }) {
			return true
		}
	}
	return false
}
