package diagnostics

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// misread lists the mistakes that keep kustomize from reading a kustomization at all. It first checks whether kustomize
// can read it.
func misread(f *kustomization.File) []doc.Error {
	data, err := json.Marshal(doc.Value(f.Node, true))
	if err != nil {
		return nil
	}
	r := &reader{path: f.Path}
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		r.value(f.Node, reflect.TypeFor[types.Kustomization](), "")
		if len(r.found) == 0 {
			r.report(f.Node, "kustomize cannot read this: %s", Clean(err))
		}
		return r.found
	}
	k.FixKustomization()
	if k.CheckEmpty() != nil {
		r.report(f.Node, "is an empty kustomization: list what it deploys under resources, or remove the file")
		return r.found
	}
	kind, at := doc.Field(f.Node, "kind")
	if k.Kind != types.KustomizationKind && k.Kind != types.ComponentKind {
		r.report(at, "the kind of a kustomization file is %s or %s, not %q%s", types.KustomizationKind, types.ComponentKind,
			k.Kind, meant(k.Kind, []string{types.KustomizationKind, types.ComponentKind}))
		return r.found
	}
	if len(k.EnforceFields()) == 0 {
		return nil
	}
	want := types.KustomizationVersion
	if k.Kind == types.ComponentKind {
		want = types.ComponentVersion
	}
	if _, at = doc.Field(f.Node, "apiVersion"); at == nil {
		at = kind
	}
	r.report(at, "the apiVersion of a %s is %s: write that, or leave the field out", k.Kind, want)
	return r.found
}

// reader compares a kustomization with the type that kustomize decodes it into.
type reader struct {
	path  string
	found []doc.Error
}

func (r *reader) report(at *yaml.Node, format string, args ...any) {
	r.found = append(r.found, doc.Error{Path: r.path, Line: at.Line, Column: at.Column,
		Message: fmt.Sprintf(format, args...)})
}

// value compares a value with a type. where is its path: patches[].target.
func (r *reader) value(n *yaml.Node, t reflect.Type, where string) {
	n = doc.Deref(n)
	value := doc.Value(n, true)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil || t.Kind() == reflect.Interface {
		return
	}
	wrong := func(want string) {
		r.report(n, "%s is %s and must be %s", where, shape(value), want)
	}
	switch t.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			wrong("a map" + fieldsOf(t))
			return
		}
		r.fields(n, t, where)
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			wrong("a map (name: value)")
			return
		}
		for key, v := range doc.Fields(n) {
			r.value(v, t.Elem(), join(where, doc.Key(key)))
		}
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			wrong(`a list: write each entry on a line of its own that begins with "- "`)
			return
		}
		for _, item := range n.Content {
			r.value(item, t.Elem(), where+"[]")
		}
	case reflect.String:
		_, ok := value.(string)
		switch secret := strings.HasPrefix(where, "secretGenerator"); {
		case ok:
		case n.Kind == yaml.ScalarNode && secret:
			wrong("text: put it in quotes")
		case n.Kind == yaml.ScalarNode:
			wrong(fmt.Sprintf("text: put it in quotes, %q", n.Value))
		default:
			wrong("text")
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			wrong("true or false, without quotes")
		}
	case reflect.Int, reflect.Int64:
		if _, ok := value.(int64); !ok {
			wrong("a whole number, without quotes")
		}
	}
}

// fields compares the fields of a map with those of a type.
func (r *reader) fields(n *yaml.Node, t reflect.Type, where string) {
	known := kustomization.FieldsOf(t)
	names := slices.Sorted(maps.Keys(known))
	for key, value := range doc.Fields(n) {
		name := doc.Key(key)
		i := slices.IndexFunc(names, func(k string) bool { return strings.EqualFold(k, name) })
		if i >= 0 {
			r.value(value, known[names[i]], join(where, names[i]))
			continue
		}
		message := fmt.Sprintf("kustomize knows no field %q", name)
		if where != "" {
			message = fmt.Sprintf("kustomize knows no field %q in %s", name, where)
		}
		switch near := meant(name, names); {
		case near != "":
			message += near
		case where == "" && misplaced[name] != "":
			message += ": " + misplaced[name]
		case len(names) <= 12:
			message += ": there are " + strings.Join(names, ", ")
		default:
			message += ": remove it, or correct its name or indentation"
		}
		r.report(key, "%s", message)
	}
}

// misplaced are fields that people write into kustomizations and that belong elsewhere.
var misplaced = map[string]string{
	"spec": "it belongs in a manifest, or into a Kustomization of Flux (kustomize.toolkit.fluxcd.io), which is " +
		"another kind of file",
	"data":   "it belongs in a ConfigMap: list it under configMapGenerator, or put it in a file under resources",
	"target": "it belongs in an entry of patches",
	"path":   "it belongs in an entry of patches",
	"op":     "it belongs in a patch: list that under patches",
	"files":  "it belongs in an entry of configMapGenerator or secretGenerator",
}

// fieldsOf describes which fields a type has, where that helps.
func fieldsOf(t reflect.Type) string {
	known := kustomization.FieldsOf(t)
	if len(known) == 0 || len(known) > 12 {
		return ""
	}
	return " with " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

func join(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

// shape describes the type of a value.
func shape(value any) string {
	switch value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "true or false"
	}
	return "a number"
}
