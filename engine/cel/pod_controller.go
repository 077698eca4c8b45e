package cel

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

var stringMap = reflect.TypeFor[map[string]string]()

// view is how a policy on Pods sees a pod controller: as the pod it makes. Kyverno rewrites the text of the
// expressions instead (object.spec becomes object.spec.template.spec); a view means the same for every
// spelling, needs no second compilation, and knows which field a pointer into it is of the controller.
//
// The name and the namespace stay those of the controller: a template rarely has them.
type view string

// The views. The value is the pointer of the pod template.
const (
	plain     view = ""
	workload  view = "/spec/template"
	scheduled view = "/spec/jobTemplate/spec/template"
)

// see returns an object of a request as the view shows it, nil for nil. The object is not changed.
func (v view) see(r *admission.Request, o admission.Object) any {
	if o == nil {
		return nil
	}
	o = unplaced(r, o)
	if v == plain {
		return o
	}
	template, err := v.template(o)
	out := maps.Clone(o)
	out["spec"] = template["spec"]
	if out["spec"] == nil {
		delete(out, "spec")
	}
	meta := map[string]any{}
	if m, ok := template["metadata"].(map[string]any); ok {
		maps.Copy(meta, m)
	}
	if err != nil {
		// Expressions that read the pod fail, like those that Kyverno rewrites.
		out["spec"], meta["labels"], meta["annotations"] = types.WrapErr(err), types.WrapErr(err), types.WrapErr(err)
	}
	own, _ := o["metadata"].(map[string]any)
	for _, k := range []string{"name", "namespace"} {
		delete(meta, k)
		if s, ok := own[k]; ok {
			meta[k] = s
		}
	}
	out["metadata"] = meta
	return out
}

// unplaced returns an object without a namespace, which may get one later, with an unknown namespace: expressions that
// read it fail. Other objects are returned unchanged.
func unplaced(r *admission.Request, o admission.Object) admission.Object {
	id := admission.IdentityOf(o)
	if !r.Unplaced(id) {
		return o
	}
	meta, _ := o["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["namespace"] = types.WrapErr(admission.NeedsNamespace(id))
	out := maps.Clone(o)
	out["metadata"] = meta
	return out
}

// leaves reports whether a type of apply configurations is left as it is where Kyverno rewrites those for pods to ones
// for the templates of controllers: it then fits nowhere. Of metadata it only moves labels and annotations.
func (v view) leaves(typeName string) bool {
	rest, ok := strings.CutPrefix(typeName, objectTypeName+".metadata")
	return v != plain && ok && !strings.HasPrefix(rest, ".labels") && !strings.HasPrefix(rest, ".annotations")
}

// template returns the pod template of a controller. If it is missing or no map, the error is an
// *admission.UnreadableError.
func (v view) template(o admission.Object) (map[string]any, error) {
	template, err := admission.MapAt(o, string(v))
	if template == nil && err == nil {
		err = &admission.UnreadableError{Err: fmt.Errorf("%s is missing", jsonpointer.Dotted(string(v)))}
	}
	return template, err
}

// pod returns the pod spec of the object or of its template, nil if it has none. The error is an
// *admission.UnreadableError.
func (v view) pod(o admission.Object) (map[string]any, error) {
	if v != plain {
		return admission.MapAt(o, string(v)+"/spec")
	}
	if pointer, ok := admission.PodPointer(admission.IdentityOf(o).Kind); ok {
		return admission.MapAt(o, pointer+"/spec")
	}
	// Kinds that Kubernetes does not have may have their pod spec anywhere.
	for _, holder := range []view{plain, workload, scheduled} {
		if spec, _ := admission.MapAt(o, string(holder)+"/spec"); spec["containers"] != nil {
			return spec, nil
		}
	}
	return nil, nil
}

// pointer returns the pointer in the real object for a field of the viewed object.
func (v view) pointer(p string) string {
	if v == plain || p == "" {
		return p
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	next, _, _ := strings.Cut(rest, "/")
	if first == "spec" || first == "metadata" && next != "name" && next != "namespace" {
		return string(v) + p
	}
	return p
}
