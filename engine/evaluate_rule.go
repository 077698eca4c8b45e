package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/variable"
)

// verdict is the result of a rule or of an element of its foreach. The zero value is none: nothing was evaluated.
type verdict struct {
	outcome Outcome
	message string
	fields  []string
	patched admission.Object
	used    []*Exception
	combine bool
	line    int       // of the part of the rule that decided, 0 for the rule
	more    []verdict // further failures that are results of their own; of them only message and fields count

	// unmet marks an error as one of the preconditions of a foreach, which single elements may have.
	unmet bool
}

func failed(message string, fields []string) verdict {
	return verdict{outcome: Fail, message: message, fields: fields}
}

// broken returns the verdict for an error: unknown if only data of the cluster is missing.
func broken(what string, err error) verdict {
	if needsCluster(err) {
		return verdict{outcome: Unknown, message: what + ": " + err.Error()}
	}
	return verdict{outcome: Error, message: what + ": " + err.Error()}
}

// unreadable reports whether an error means that neither the API server nor Kyverno could read the object.
func unreadable(err error) bool { return errors.As(err, new(*admission.UnreadableError)) }

// rule evaluates one rule. ok is false if it does not apply to the request or has no result. If a rule gives several
// results about an object, more has those after the first, and all have the same outcome.
func (v *review) rule(s *ruleStep) (out Result, more []verdict, ok bool) {
	r := s.rule
	defer func() {
		if x := recover(); x != nil {
			out = v.result(r, verdict{outcome: Error, message: panicked(x)})
			more, ok = nil, true
		}
	}()
	matched, undecided := match.Matches(r.match, r.exclude, v.target)
	if v.log.On() {
		v.log.Add(match.Explain(r.match, r.exclude, v.target)...)
	}
	if !matched && undecided == nil {
		return Result{}, nil, false
	}
	if undecided == nil {
		undecided = v.gate.undecided
	}
	v.gate.doubtful = undecided != nil
	if err := v.ctx.Err(); err != nil {
		return v.result(r, verdict{outcome: Error, message: "the evaluation was stopped: " + err.Error()}), nil, true
	}
	d := verdict{outcome: Fail, message: "the rule may change the object"}
	if undecided == nil || r.mutation == nil || v.assume {
		d = v.placed(r, v.decide(s))
	}
	if d.outcome == "" {
		return Result{}, nil, false
	}
	if undecided != nil && d.outcome != Pass && d.outcome != Skip {
		// Whether the rule applies only matters if the object would violate it.
		d.message = "whether the rule applies is not known: " + undecided.Error() + "; if it does: " + d.message
		d.outcome = Unknown
	}
	out = v.result(r, d)
	if d.outcome == Fail && v.request.Operation == admission.Update && v.request.OldObject != nil && !v.prior {
		out.PreExisting = v.violatedBefore(s)
		if v.log.On() {
			v.log.Add(explain.Step{Part: explain.Before, Holds: out.PreExisting, Words: "the old object violates the rule, too"})
		}
		out.Tolerated = out.PreExisting && r.tolerant && r.mutation == nil
		out.Refused = out.PreExisting && r.strict
	}
	if d.outcome != Fail {
		return out, nil, true
	}
	return out, d.more, true
}

func (v *review) result(r *rule, d verdict) Result {
	enforced, known := r.action.enforced(v.target)
	out := Result{
		Policy: r.policy.ref, Exceptions: d.used, Mutation: r.mutation != nil, Unsure: !known,
		Decision: Decision{Rule: r.name, Line: cmp.Or(d.line, r.line), Outcome: d.outcome, Message: d.message,
			Combined: d.combine, Patched: d.patched, Old: v.request.Object == nil,
			// If a mutate rule cannot be applied, the request is denied, even if the policy is in audit mode.
			Enforce: r.mutation != nil || !r.policy.report && enforced},
	}
	if d.outcome == Error && r.policy.ignore && v.ctx.Err() == nil {
		out.Enforce = false // a cluster lets pass what it cannot evaluate
	}
	if d.outcome == Fail || d.outcome == Error || d.outcome == Unknown {
		out.Warn = r.policy.warn
		out.Fields = d.fields
		if len(out.Fields) == 0 {
			out.Fields = []string{""}
		}
		out.Personal = r.selects || r.asks && slices.Equal(out.Fields, []string{""})
	}
	return out
}

// violatedBefore reports whether the old object of an update violates the rule, evaluated as if it were created now by
// a user that no rule mentions.
func (v *review) violatedBefore(s *ruleStep) bool {
	old := *v.request
	old.Operation, old.Object, old.OldObject = admission.Create, v.request.OldObject, nil
	p := v.newReview(v.ctx, &old)
	p.prior = true
	p.target.UserInfo = admission.UserInfo{Username: "lintel:nobody"}
	p.target.Roles, p.target.ClusterRoles = nil, nil
	r, _, ok := p.rule(s)
	return ok && r.Outcome == Fail
}

// plain reports whether a rule uses no variables, so that it needs no scope.
func (r *rule) plain() bool {
	b := &r.body
	return len(b.context) == 0 && b.preconditions == nil && !b.denies && len(b.forEach) == 0 && b.assert == nil &&
		r.mutation == nil && (b.patterns == nil || b.patterns.tree == nil)
}

// decide evaluates a rule that applies to the request.
func (v *review) decide(s *ruleStep) verdict {
	r, exceptions := s.rule, s.exceptions
	f := &frame{review: v, rule: r}
	if !r.plain() || len(exceptions) > 0 {
		f.open()
		if v.values != nil {
			f.values = v.values(r.policy.ref.Name, r.name)
			for k, value := range f.values {
				f.scope.Set(k, value)
			}
		}
		define(f.scope, r.body.context, f.values)
		f.entries = r.body.context
		if d, ok := f.preconditions(&r.body); !ok && !(v.assume && r.mutation != nil && d.outcome == Unknown) {
			return d
		}
	}
	excepted, pending := v.excepted(f, exceptions)
	if d, ok := skippedBy(r, excepted); ok {
		return d
	}
	d := f.evaluate(excepted)
	if pending != nil && (d.outcome == Fail || d.outcome == Error) {
		// An exception may cover this, but that depends on something unknown.
		return verdict{outcome: Unknown, message: d.message + "; " + pending.Error(), fields: d.fields}
	}
	return d
}

// evaluate runs the body of the rule.
func (f *frame) evaluate(excepted []*Exception) verdict {
	r := f.rule
	switch {
	case r.mutation != nil:
		return f.mutate()
	case r.security != nil:
		return f.security(excepted)
	case r.cel != nil:
		res := r.cel.Evaluate(f.ctx, f.request, f.celLog())
		return verdict{outcome: res.Outcome, message: res.Message, fields: res.Fields, line: res.Line}
	}
	return f.body(&r.body)
}

func (f *frame) mutate() verdict {
	patched, written, err := f.rule.mutation.Apply(f.scope, f.request.Object)
	f.logMutation(patched, written, err)
	switch {
	case err != nil:
		return broken("failed to apply the mutation", err)
	case len(written) == 0:
		if f.rule.mutation.ForEach() {
			return verdict{outcome: Skip, message: "0 elements processed"}
		}
		return verdict{outcome: Skip, message: "no patches applied"}
	}
	id := f.target.Identity
	where := ""
	if id.Namespace != "" {
		where = " in namespace " + id.Namespace
	}
	return verdict{outcome: Pass, message: "mutated " + id.Kind + "/" + id.Name + where, patched: patched}
}

// security checks a pod against a Pod Security Standard. Exceptions may exclude controls.
func (f *frame) security(excepted []*Exception) verdict {
	if f.request.Operation == admission.Delete {
		f.logDeletion(explain.PodSecurity)
		return verdict{}
	}
	check, subject := f.rule.security, f.request.CurrentObject()
	out := check.Explain(subject, nil, f.sheet)
	if f.log.On() {
		f.log.Add(explain.Step{Part: explain.PodSecurity, Holds: out.Allowed, Words: "the pod meets the level", Err: out.Err,
			Values: f.valuesAt(out.Fields)})
	}
	if out.Err != nil {
		return broken("Error while getting new resource", out.Err)
	}
	if out.Allowed {
		return verdict{outcome: Pass, message: fmt.Sprintf("Validation rule '%s' passed.", f.rule.name)}
	}
	if len(excepted) == 0 {
		return failed(fmt.Sprintf("Validation rule '%s' failed. %s", f.rule.name, out.Message), out.Fields)
	}
	for _, x := range excepted {
		if check.Evaluate(subject, x.security).Allowed {
			return skipped([]*Exception{x}, false)
		}
	}
	all := excepted[0].security
	for _, x := range excepted[1:] {
		all = append(all[:len(all):len(all)], x.security...)
	}
	if out = check.Evaluate(subject, all); out.Allowed {
		return skipped(excepted, true)
	}
	return failed(fmt.Sprintf("Validation rule '%s' failed. %s", f.rule.name, out.Message), out.Fields)
}

// skipped returns the verdict for a rule that exceptions cover.
func skipped(by []*Exception, combined bool) verdict {
	var names []string
	for _, x := range by {
		names = append(names, x.FullName())
	}
	return verdict{outcome: Skip, message: "rule is skipped due to policy exceptions " + strings.Join(names, ", "),
		used: by, combine: combined}
}

// resolve returns the text of the rule's message. ok is false if its variables cannot be resolved.
func (f *frame) resolve(t *text) (message string, ok bool) {
	if t == nil {
		return "", true
	}
	if t.tree == nil {
		return t.source, true
	}
	f.open()
	raw, err := t.tree.Resolve(f.scope)
	if err != nil {
		return "", false
	}
	s, isText := raw.(string)
	if !isText {
		return "the produced message didn't resolve to a string, check your policy definition.", true
	}
	return s, true
}

// frame is the current place of an evaluation: in a rule, or in an element of its foreach.
type frame struct {
	*review
	rule    *rule
	scope   *variable.Scope
	values  map[string]any
	entries []*entry // the context entries in sight, innermost last

	elements []element // innermost last
	scoped   any       // the element patterns look at, nil for the object
	scopedBy int       // its index in elements
}

// element is the current element of a foreach.
type element struct {
	entry *forEach
	list  []any
	index int
	outer *frame // in which the list was computed: its innermost element is the one around
}

func (e element) value() any { return e.list[e.index] }

// open creates the scope of a frame if it has none yet.
func (f *frame) open() {
	if f.scope == nil {
		f.scope = f.newScope()
	}
}

// preconditions reports whether a body has to be evaluated, and if not, returns its verdict.
func (f *frame) preconditions(b *body) (verdict, bool) {
	if b.preconditions == nil {
		return verdict{}, true
	}
	met, why, err := b.preconditions.Holds(f.scope)
	if f.log.On() {
		f.log.Add(b.preconditions.Explain(f.scope, explain.Preconditions)...)
	}
	if err != nil {
		d := broken("failed to evaluate preconditions", err)
		d.unmet = d.outcome == Error && !unreadable(err)
		return d, false
	}
	if !met {
		message := "preconditions not met"
		if why != "" {
			message += "; " + why
		}
		return verdict{outcome: Skip, message: message}, false
	}
	return verdict{}, true
}
