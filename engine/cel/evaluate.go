package cel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// verdict is the result of a program, before it is formulated for people.
type verdict struct {
	err         error
	inCondition bool // err is of a match condition
	skipped     bool // a match condition does not hold
	failed      bool
	index       int // the first validation that failed, -1 where err is of none
	message     string
	fields      []string
	old         bool
	line        int  // of the validation with that index, 0 where there is none
	denies      bool // err refuses the request even where violations are only audited
}

func (v verdict) canceled() bool {
	return errors.Is(v.err, context.Canceled) || errors.Is(v.err, context.DeadlineExceeded)
}

// evaluate runs the program. The fields are those of all failing validations; the message is that of the first. A
// failing validation decides, even if an earlier one needs the cluster: the policy can no longer pass.
func (p *program) evaluate(ctx context.Context, r *admission.Request, env Env, params any,
	exceptions []*Exception) verdict {
	state := p.state(r, env, params, exceptions)
	a := &activation{ctx: ctx, state: state}
	if out, done := p.conditionsHold(a); done {
		return out
	}
	state.empty = p.kyverno // the API server has read the conditions before
	log := env.Log.On()
	out := verdict{index: -1}
	var undecided verdict // the first that could not be evaluated
	for i, val := range p.validations {
		ok, err := val.expr.truth(a)
		if log {
			a.logValidation(i, val, ok, err)
		}
		if ok {
			continue
		}
		if err != nil {
			if out.failed {
				continue // a later error does not undo what is certain
			}
			remote := errors.As(err, new(*admission.NeedsClusterError))
			if undecided.err != nil && (remote || !undecided.remote()) {
				continue
			}
			undecided = verdict{index: i, line: val.line,
				err: fmt.Errorf("expression '%s' resulted in error: %w", strings.TrimSpace(val.expr.source), err)}
			undecided.fields, undecided.old = fieldsOf(a, val.expr)
			if !remote && !p.each() || undecided.canceled() {
				return undecided
			}
			continue
		}
		fields, old := fieldsOf(a, val.expr)
		if !out.failed {
			out.failed, out.index, out.old, out.line = true, i, old, val.line
			out.message = p.message(a, val)
		}
		if old == out.old {
			out.fields = append(out.fields, fields...)
		}
	}
	if !out.failed {
		return p.audit(a, undecided)
	}
	out.fields = jsonpointer.Distinct(out.fields)
	if len(out.fields) == 1 && out.fields[0] == "" {
		out.fields, out.old = p.selected(a, out)
	}
	return out
}

func (v verdict) remote() bool { return errors.As(v.err, new(*admission.NeedsClusterError)) }

// each reports whether all validations are evaluated even if some have errors: the API server does so, and ignores the
// errors if the failure policy says so; Kyverno stops at the first error.
func (p *program) each() bool { return p.ignore && !p.verbatim }

// audit evaluates the audit annotations of a request that no validation refuses. Their values are not used, but an
// error refuses the request, unless the failure policy ignores errors.
func (p *program) audit(a *activation, undecided verdict) verdict {
	for _, annotation := range p.annotations {
		_, err := annotation.expr.eval(a)
		if err == nil || p.each() {
			continue
		}
		failed := verdict{err: fmt.Errorf("failed to evaluate auditAnnotation '%s': %w", annotation.name, err), index: -1,
			denies: !p.verbatim}
		if undecided.err == nil || undecided.remote() && !failed.remote() {
			undecided = failed
		}
	}
	if undecided.err == nil {
		undecided.index = -1
	}
	return undecided
}

// selected returns the fields that make the match conditions true. They are the cause of a violation whose expression
// reads nothing of the object, which is mostly the constant false.
func (p *program) selected(a *activation, out verdict) ([]string, bool) {
	var found []string
	old := out.old
	for _, x := range p.conditions {
		fields, isOld := fieldsOf(a, x)
		if found == nil {
			old = isOld
		}
		if isOld == old {
			found = append(found, fields...)
		}
	}
	if len(found) == 0 {
		return out.fields, out.old
	}
	return jsonpointer.Distinct(found), old
}

// state is the input of the program's expressions for a request.
func (p *program) state(r *admission.Request, env Env, params any, exceptions []*Exception) *evaluation {
	s := &evaluation{
		lang: p.lang, request: r, env: env, params: params, variables: p.variables, namespace: p.namespace,
		object: seen(r, r.Object), oldObject: seen(r, r.OldObject),
	}
	if len(exceptions) > 0 {
		s.images, s.values = aggregate(exceptions)
	}
	return s
}

// seen returns an object of a request as expressions see it: nil for nil. Expressions fail that read the namespace of an
// object that may get one later, or the spec of one whose pod is no map. The object is not changed.
func seen(r *admission.Request, o admission.Object) any {
	if o == nil {
		return nil
	}
	id := admission.IdentityOf(o)
	out := o
	if r.Exists(o) {
		out = live(o, r.OldObject)
	}
	if pointer, ok := admission.PodPointer(id.Kind); ok {
		if _, err := admission.MapAt(o, pointer+"/spec"); err != nil {
			out = maps.Clone(out)
			out["spec"] = types.WrapErr(err)
		}
	}
	if r.Unplaced(id) {
		meta, _ := out["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["namespace"] = types.WrapErr(admission.NeedsNamespace(id))
		out = maps.Clone(out)
		out["metadata"] = meta
	}
	return out
}

// live returns an object of a cluster whose manifest is given: what only the cluster knows has unknown values.
func live(o, before admission.Object) admission.Object {
	out, last := maps.Clone(o), ""
	for parent, name := range admission.OnlyLive(o, before) {
		in := out
		if parent != "" {
			in, _ = out[parent].(map[string]any)
			if parent != last {
				in, last = maps.Clone(in), parent
				out[parent] = in
			}
		}
		in[name] = types.NewUnknown(0, types.NewAttributeTrail(name))
	}
	return out
}

// conditionsHold evaluates the match conditions. The verdict is for the case that they do not hold.
func (p *program) conditionsHold(a *activation) (out verdict, done bool) {
	if p.broken != nil {
		return verdict{err: p.broken, index: -1}, true
	}
	holds, err := hold(a, p.conditions)
	if a.state.env.Log.On() {
		a.logConditions(p.conditions)
	}
	return verdict{err: err, inCondition: err != nil, skipped: err == nil, index: -1}, !holds
}

// hold reports whether all conditions hold. A condition that is false decides, even if others have errors
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions).
// The error is a *admission.NeedsClusterError if it depends on the cluster.
func hold(a *activation, conditions []*expression) (bool, error) {
	var failed error
	for _, x := range conditions {
		holds, err := x.truth(a)
		if err == nil && !holds {
			return false, nil
		}
		failed = errors.Join(failed, err)
	}
	if needs := (*admission.NeedsClusterError)(nil); errors.As(failed, &needs) {
		return false, needs
	}
	return failed == nil, failed
}

// maxMessage is how many bytes of a message expression the API server takes
// (MaxEvaluatedMessageExpressionSizeBytes of k8s.io/apiserver/pkg/apis/cel).
const maxMessage = 5 << 10

// message returns the message of a validation: the result of its messageExpression, otherwise its message. If the
// expression gives nothing, too much or several lines, the API server uses the message, and Kyverno reports the reason.
func (p *program) message(a *activation, v validation) string {
	if v.messageExpression == nil {
		return v.message
	}
	out, err := v.messageExpression.eval(a)
	needs := (*admission.NeedsClusterError)(nil)
	s, isText := out.(types.String)
	switch {
	case errors.As(err, &needs):
		return v.message // the cluster would know better
	case p.verbatim && err != nil:
		return "failed to evaluate message expression: " + firstLine(err.Error())
	case p.verbatim && isText:
		return string(s)
	case isText && strings.TrimSpace(string(s)) != "" && len(s) <= maxMessage &&
		!strings.Contains(strings.TrimSpace(string(s)), "\n"):
		return strings.TrimSpace(string(s))
	}
	return v.message
}
