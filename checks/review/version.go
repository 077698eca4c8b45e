package review

import (
	"maps"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
)

// served returns an old object in the version of the new one, as the API server converts it for a request (see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versioning). Fields that have another name in
// that version keep theirs.
func served(old, now *render.Resource) admission.Object {
	if now == nil || sameVersion(old.Object, now.Object) {
		return old.Object
	}
	as := maps.Clone(old.Object)
	as["apiVersion"] = now.Object["apiVersion"]
	return admission.WithDefaults(as)
}

func sameVersion(a, b admission.Object) bool { return a["apiVersion"] == b["apiVersion"] }

// contents keeps of what was violated what the version has no part in: a rule that is about an object as a whole, or
// about its version, may well be about the version that the change writes.
func contents(results []engine.Result) (list []engine.Result) {
	for _, r := range results {
		var fields []string
		for _, f := range r.Fields {
			if f != "" && f != "/apiVersion" && f != "/kind" {
				fields = append(fields, f)
			}
		}
		if r.Fields = fields; len(fields) > 0 && !r.Mutation {
			list = append(list, r)
		}
	}
	return list
}
