package review

import (
	"context"
	"maps"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
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
				list = append(list, engine.Result{Policy: res.Policy, Decision: engine.Decision{Rule: res.Rule, Outcome: res.Outcome, Fields: []string{was}}})
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

// served returns an old object in the version of the new one, as the API server converts it for a request (see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versioning). Fields with another name in that
// version are not renamed.
func served(old, now *render.Resource) admission.Object {
	if now == nil || sameVersion(old.Object, now.Object) {
		return old.Object
	}
	as := maps.Clone(old.Object)
	as["apiVersion"] = now.Object["apiVersion"]
	return apiserver.Received(as)
}

func sameVersion(a, b admission.Object) bool { return a["apiVersion"] == b["apiVersion"] }

// contents returns the violations that have nothing to do with the API version. It drops those of the object as a whole
// and of its version, since they may be caused by the version that the change writes.
func contents(results []engine.Result) (list []engine.Result) {
	for _, r := range results {
		r.Fields = report.Kept(r.Fields, func(f string) bool { return f != "" && f != "/apiVersion" && f != "/kind" })
		if len(r.Fields) > 0 && !r.Mutation {
			list = append(list, r)
		}
	}
	return list
}
