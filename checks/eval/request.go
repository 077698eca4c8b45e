package eval

import (
	"cmp"
	"encoding/csv"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/engine/admission"
)

// request builds the admission request, with the values that are parts of it.
func (r *Reviewer) request(v Review, values map[string]any) *admission.Request {
	o := v.Object
	for k, value := range values {
		if path, ok := strings.CutPrefix(k, "request.object."); ok {
			if fields := pathOf(path); fields != nil {
				o = runtime.DeepCopyJSON(o)
				_ = unstructured.SetNestedField(o, value, fields...) // a path through a scalar sets nothing, as in Kyverno
			}
		}
	}
	operation := cmp.Or(v.Operation, admission.Create)
	if s, ok := values["request.operation"].(string); ok && v.Operation == "" {
		operation = admission.Operation(s)
	}
	req := r.User.Request(operation)
	req.Object = o
	switch req.Operation {
	case admission.Update:
		req.OldObject = v.Old
		if v.Operation == "" {
			req.OldObject = o // an update by a values file changes nothing, as in Kyverno
		}
	case admission.Delete:
		req.Object, req.OldObject = nil, o
	}
	r.Values.subresource(req)
	req.Namespace = r.namespace(admission.IdentityOf(o).Namespace)
	return req
}

// pathOf splits a dotted path; parts with dots stand in double quotes.
func pathOf(path string) []string {
	reader := csv.NewReader(strings.NewReader(path))
	reader.Comma = '.'
	fields, err := reader.Read()
	if err != nil {
		return nil
	}
	return fields
}

// namespace is the Namespace of a name as it is declared, with the labels that the values give it.
func (r *Reviewer) namespace(name string) admission.Object {
	if name == "" {
		return nil
	}
	known := r.AnyNamespace
	labels := map[string]any{}
	out := admission.Object{}
	meta := map[string]any{}
	declare := func(o admission.Object) {
		known = true
		maps.Copy(out, o)
		if m, ok := o["metadata"].(map[string]any); ok {
			maps.Copy(meta, m)
			if l, ok := m["labels"].(map[string]any); ok {
				maps.Copy(labels, l)
			}
		}
	}
	if !r.AnyNamespace {
		labels["kubernetes.io/metadata.name"] = name // which the API server sets
		known = name == "default"                    // which every cluster has
	}
	for _, n := range r.Namespaces {
		if admission.IdentityOf(n).Name == name {
			declare(n)
		}
	}
	if n, ok := r.Cluster.get("", "Namespace", "", name); ok {
		declare(n)
	}
	for _, n := range r.Values.namespaces(name) {
		declare(n)
	}
	if !known {
		return nil
	}
	meta["name"], meta["labels"] = name, labels
	out["apiVersion"], out["kind"], out["metadata"] = "v1", "Namespace", meta
	return out
}
