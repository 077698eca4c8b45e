package review

import (
	"maps"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
)

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
