package apiserver

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/lintel-bot/lintel/engine/admission"
)

// Received returns an object as admission policies get it from the API server
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/): with the defaults of its kind
// and what the API server allocates, without fields that have no value, and with quantities in their short form. The
// fields of metadata that every object gets are not among it, nor is what depends on other objects (see Plugins).
//
// Fields that the API server does not know stay, since another check reports them. So does stringData of a Secret. The given
// object is not changed. It is returned as it is where the API server does not have its kind or cannot read it.
func Received(o admission.Object) admission.Object { return received(o, nil) }

// received is like Received, with what plugins add.
func received(o admission.Object, by Plugins) admission.Object {
	gvk := apischema.FromAPIVersionAndKind(text(o["apiVersion"]), text(o["kind"]))
	s := strategyOf(gvk)
	if s == nil || gvk.Group == "apiextensions.k8s.io" {
		return o
	}
	defer s.group.use()()
	typed := s.received(gvk, o, by)
	if typed == nil {
		return o
	}
	written, metadata := maps.Clone(o), map[string]any{}
	delete(written, "status") // is not taken from a manifest
	given, _ := typed["metadata"].(map[string]any)
	own, _ := o["metadata"].(map[string]any)
	for key, value := range given {
		if _, has := own[key]; has || key == "labels" {
			metadata[key] = value
		}
	}
	if typed["metadata"] = metadata; len(metadata) == 0 && own == nil {
		delete(typed, "metadata")
	}
	return joined(typed, written).(map[string]any)
}

// received returns what the API server makes of an object, nil where it cannot read it.
func (s *strategy) received(gvk apischema.GroupVersionKind, object map[string]any, by Plugins) (typed map[string]any) {
	defer func() { // its code expects objects that passed other steps of the API server before
		if recover() != nil {
			typed = nil
		}
	}()
	l, err := s.created(requested(context.Background(), gvk), gvk, object, by)
	if err != nil {
		return nil
	}
	versioned, err := legacyscheme.Scheme.ConvertToVersion(l.object, gvk.GroupVersion())
	if err != nil {
		return nil
	}
	if typed, err = runtime.DefaultUnstructuredConverter.ToUnstructured(versioned); err != nil {
		return nil
	}
	return typed
}

// joined returns what the API server makes of a value, with the fields that it does not know. Those without a value are left
// out, since it leaves out the same fields where it knows them.
func joined(typed, written any) any {
	switch typed := typed.(type) {
	case nil:
		return written
	case map[string]any:
		fields, _ := written.(map[string]any)
		for key, value := range fields {
			if own, known := typed[key]; known {
				typed[key] = joined(own, value)
			} else if hasValue(value) {
				typed[key] = value
			}
		}
		maps.DeleteFunc(typed, func(key string, value any) bool {
			_, has := fields[key]
			return value == nil && !has && key != "rules" // a required field that is missing; only a role may lack it
		})
		return typed
	case []any:
		if list, ok := written.([]any); ok && len(list) == len(typed) {
			for i := range typed {
				typed[i] = joined(typed[i], list[i])
			}
		}
		return typed
	}
	return typed
}

// hasValue reports whether a value is not the empty one of its type, and contains something that is not.
func hasValue(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if hasValue(field) {
				return true
			}
		}
		return false
	case []any:
		return len(v) > 0
	}
	return v != nil && v != false && v != "" && v != int64(0) && v != float64(0)
}
