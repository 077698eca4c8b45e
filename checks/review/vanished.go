package review

import (
	"context"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// vanished returns the base's violations below maps that the object no longer has, with the map as their field. A rule
// names the map in that case, because no field below it exists.
func (v *Reviewer) vanished(ctx context.Context, a *Answer, r *admission.Request) (list []engine.Result) {
	for _, res := range a.Results {
		if !Violated(res) || res.Policy.Kind == builtin.Kind {
			continue
		}
		for _, field := range res.Fields {
			if v.violatedBelow(ctx, a, r, res, field) {
				was, _ := a.versions.Earlier(field)
				list = append(list, engine.Result{Policy: res.Policy, Rule: res.Rule, Outcome: res.Outcome, Fields: []string{was}})
			}
		}
	}
	return list
}

// violatedBelow reports whether an empty map at a removed field would violate the rule only at fields that violated it
// before. The rule then did not need the other content of the removed map.
func (v *Reviewer) violatedBelow(ctx context.Context, a *Answer, r *admission.Request, res engine.Result, field string) bool {
	earlier, ok := a.versions.Earlier(field)
	if was, isMap := jsonpointer.At(a.versions.Was(), earlier).(map[string]any); !ok || !isMap || len(was) == 0 {
		return false
	}
	at := field
	if a.Mutations != nil {
		at = a.Mutations.rendered(field)
	}
	object, ok := engine.Change{Field: at, Value: map[string]any{}}.Apply(r.Object)
	if !ok || jsonpointer.At(r.Object, at) != nil {
		return false
	}
	with, found := *r, false
	with.Object = object
	for _, other := range v.Evaluate(ctx, v.Effective, &with) {
		if other.Policy != res.Policy || other.Rule != res.Rule || !Violated(other) {
			continue
		}
		for _, f := range FieldsOf(other) {
			switch below, is := jsonpointer.Below(f, field); {
			case !is:
				continue
			case below == "" || other.Outcome != res.Outcome:
				return false
			}
			was, ok := a.versions.Earlier(f)
			if known := ok && a.had(res, was); !known && !v.violatedBelow(ctx, a, &with, res, f) {
				return false
			}
			found = true
		}
	}
	return found
}
