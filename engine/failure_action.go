package engine

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
)

// action decides whether a failure blocks: the first override that applies decides, otherwise the action, otherwise it
// is audited.
type action struct {
	overrides []override
	enforce   bool
	set       bool // enforce was written
	next      *action
}

type override struct {
	enforce    bool
	namespaces []string
	selector   *match.Selector
}

// compileAction compiles a failure action and its overrides, which are written at a pointer
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#failure-action).
func compileAction(d policy.Document, value, overridesAt string,
	overrides []policy.FailureActionOverride) (action, []policy.Problem) {
	var out action
	var problems []policy.Problem
	out.set, out.enforce = value != "", strings.EqualFold(value, "enforce")
	for i, o := range overrides {
		pointer := fmt.Sprintf("%s/%d", overridesAt, i)
		c := override{enforce: strings.EqualFold(o.Action, "enforce"), namespaces: o.Namespaces}
		if o.NamespaceSelector != nil {
			s, wrong := match.CompileSelector(o.NamespaceSelector)
			if wrong != nil {
				problems = append(problems, d.Problem(pointer+"/namespaceSelector/"+wrong.Field, "%s", wrong.Message))
				continue
			}
			c.selector = s
		}
		out.overrides = append(out.overrides, c)
	}
	return out, problems
}

// or returns a, with the unset parts taken from b.
func (a action) or(b action) action {
	if a.set {
		return a
	}
	if len(a.overrides) == 0 {
		return b
	}
	a.next = &b
	return a
}

// plain reports whether the action enforces where no override applies.
func (a *action) plain() bool {
	for !a.set && a.next != nil {
		a = a.next
	}
	return a.enforce
}

// enforced reports whether a failure of a request blocks. An override that depends on an unknown namespace, or on labels of a
// namespace that is not declared, counts only if it enforces; known is then false. A Namespace itself is in no namespace, and
// one that exists must be enforced by its name, too (Kyverno's policy cache looks it up by that, and its engine does not).
func (a *action) enforced(t *match.Target) (enforced, known bool) {
	if t.Identity.Kind != "Namespace" || t.Identity.Group != "" {
		return a.decide(t)
	}
	outside := *t
	outside.Identity.Kind, outside.NamespaceLabels, outside.NamespaceKnown = "", nil, true
	if enforced, known = a.decide(&outside); enforced && t.Operation != admission.Create {
		return a.decide(t)
	}
	return enforced, known
}

func (a *action) decide(t *match.Target) (enforced, known bool) {
	known = true
	for _, o := range a.overrides {
		about, sure := o.about(t)
		if known = known && sure; sure && about || !sure && o.enforce {
			return o.enforce, known
		}
	}
	if a.set || a.next == nil {
		return a.enforce, known
	}
	enforced, sure := a.next.decide(t)
	return enforced, known && sure
}

// about reports whether an override applies to the namespace of a request. If it has no list of namespaces, its selector
// decides; if it has neither, it applies to all.
func (o *override) about(t *match.Target) (about, known bool) {
	in, known := t.InNamespace(o.namespaces)
	if o.selector == nil || known && !in {
		return in, known
	}
	selected, labels := t.SelectsNamespace(o.selector)
	return in && selected, known && labels || labels && !selected
}
