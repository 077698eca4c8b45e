package admission

import (
	"iter"
	"maps"
	"reflect"

	"github.com/lintel-bot/lintel/engine/kinds"
)

// unwritten are fields of metadata that only an object in a cluster has, unless a manifest says them
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/).
var unwritten = []string{"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields", "finalizers"}

// bound are fields of spec that controllers write, by kind.
var bound = map[string]string{"PersistentVolumeClaim": "volumeName", "PersistentVolume": "claimRef", "Pod": "nodeName"}

const status = "status"

// Exists reports whether an object of the request is a manifest of one that a cluster has already.
func (r *Request) Exists(o Object) bool {
	return r.Applied && o != nil && (r.Operation == Update || r.Operation == Delete)
}

// OnlyLive yields the fields that a manifest lacks and its object in a cluster has, or may have, each with the field that
// holds it, "" for the object itself. What was exported from a cluster has them all.
func OnlyLive(o, before Object) iter.Seq2[string, string] {
	return func(yield func(parent, field string) bool) {
		metadata, _ := o["metadata"].(map[string]any)
		if metadata == nil || metadata["uid"] != nil {
			return
		}
		id, has := IdentityOf(o), o[status]
		_, known := kinds.Namespaced(id.Group, id.Kind)
		// What a manifest says of the status of Kubernetes' own kinds counts nowhere.
		if within, _ := has.(map[string]any); (known || len(within) == 0) && !yield("", status) {
			return
		}
		was, _ := before["metadata"].(map[string]any) // what a manifest no longer says, the cluster loses
		for _, name := range unwritten {
			if metadata[name] == nil && was[name] == nil && !yield("metadata", name) {
				return
			}
		}
		spec, _ := o["spec"].(map[string]any)
		if name := bound[id.Kind]; id.Group == "" && name != "" && spec != nil && spec[name] == nil {
			yield("spec", name)
		}
	}
}

// NeedsLive returns the error for a decision that needs a field which only the object in the cluster has.
func NeedsLive(field string) *NeedsClusterError {
	return &NeedsClusterError{What: field + " of the existing object"}
}

// Absent returns the error for a decision that needs a field of a map which lacks it, if only the cluster knows the field; nil for
// all others. The map may be any part of the objects of the request, or of those that were looked up.
func (r *Request) Absent(of map[string]any, field string) error {
	if !r.Applied {
		return nil
	}
	for _, o := range []Object{r.Object, r.OldObject} {
		switch {
		case o == nil || !r.Exists(o) && !IsSame(of, o):
		case !r.Exists(o):
			return nil
		default:
			for parent, name := range OnlyLive(o, r.OldObject) {
				in, _ := o[parent].(map[string]any)
				if parent == "" {
					in = o
				}
				within, _ := in[name].(map[string]any) // an empty status
				if name == field && IsSame(of, in) || within != nil && IsSame(of, within) {
					return NeedsLive(name)
				}
			}
		}
	}
	id := IdentityOf(of)
	if field == status && id.Version != "" && id.Kind != "" && id.Name != "" { // it was looked up
		for range OnlyLive(of, nil) {
			return NeedsLive(field)
		}
	}
	return nil
}

// Found returns an object that was looked up without the empty status that defaults leave.
func Found(o Object) Object {
	if has, ok := o[status].(map[string]any); !ok || len(has) > 0 {
		return o
	}
	out := maps.Clone(o)
	delete(out, status)
	return out
}

// IsSame reports whether two maps are one.
func IsSame(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
