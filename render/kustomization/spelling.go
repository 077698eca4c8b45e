package kustomization

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/lintel-bot/lintel/render/doc"
)

// Kustomize reads a kustomization by way of JSON (types.Kustomization.Unmarshal). So the names of fields may have any
// letter case, the last of repeated fields counts, aliases can be names, and !!binary is decoded. A reader that accepts
// only one spelling would check another file than the one that is built. So the file is first converted to one
// spelling, and anything that kustomize's own readers disagree about is refused.

// itemTypes are the types of the items in a kustomization's lists.
var itemTypes = []struct {
	list string
	of   reflect.Type
}{
	{"patches", reflect.TypeFor[types.Patch]()}, {"patchesJson6902", reflect.TypeFor[types.Patch]()},
	{"replacements", reflect.TypeFor[types.ReplacementField]()}, {"images", reflect.TypeFor[types.Image]()},
	{"imageTags", reflect.TypeFor[types.Image]()}, {"configMapGenerator", reflect.TypeFor[types.SecretArgs]()},
	{"secretGenerator", reflect.TypeFor[types.SecretArgs]()}, {"replicas", reflect.TypeFor[types.Replica]()},
	{"helmCharts", reflect.TypeFor[types.HelmChart]()},
}

// FieldsOf returns the types of the fields of a struct by the names they have in JSON, with those of embedded structs.
func FieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			maps.Copy(fields, FieldsOf(f.Type))
		default:
			fields[cmp.Or(name, f.Name)] = f.Type
		}
	}
	return fields
}

// spell converts the file to one spelling.
func (f *File) spell() error {
	for n := range doc.Nodes(f.Node) {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!binary" {
			return &doc.Error{Path: f.Path, Line: n.Line, Column: n.Column,
				Message: "has text in base64 (!!binary): write it as it is"}
		}
	}
	if err := f.canonical(f.Node, slices.Sorted(maps.Keys(FieldsOf(reflect.TypeFor[types.Kustomization]())))); err != nil {
		return err
	}
	for _, items := range itemTypes {
		for _, item := range doc.Items(f.Node, items.list) {
			if err := f.canonical(item, slices.Sorted(maps.Keys(FieldsOf(items.of)))); err != nil {
				return err
			}
		}
	}
	_, schema := doc.Field(f.Node, "openapi")
	return f.canonical(schema, []string{"path", "version"})
}

// canonical renames the keys of a map to the field names that kustomize matches them with, and keeps the last of
// repeated keys.
func (f *File) canonical(n *yaml.Node, names []string) error {
	if n = doc.Deref(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	fail := func(at *yaml.Node, format string, args ...any) error {
		return &doc.Error{Path: f.Path, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)}
	}
	var content []*yaml.Node
	own, written := map[string]int{}, map[string]string{}
	merges := 0
	for as, value := range doc.Pairs(n) {
		key := doc.Deref(as)
		spelling := key.Value
		if doc.IsMerge(as) {
			if merges++; merges > 1 {
				return fail(key, "has two merge keys (<<): write one, with a list of what to merge")
			}
			for _, merged := range doc.Merged(value) {
				if other := misspelled(merged, names); other != "" {
					return fail(key, "merges in the field %q, which kustomize reads as another field: use its exact "+
						"spelling", other)
				}
				for _, name := range doc.Keys(merged) {
					if _, above := own[name]; above {
						return fail(key, "sets %q before a merge key (<<) that also sets it, and programs disagree "+
							"on which value wins: put the merge key first", name)
					}
				}
			}
			content = append(content, key, value)
			continue
		}
		name := canonicalName(key.Value, names)
		if name != key.Value || key != as {
			named := *key
			named.Value, named.Anchor = name, ""
			if key == as {
				named.Anchor = key.Anchor
			}
			named.Line, named.Column = as.Line, as.Column
			key = &named
		}
		at, twice := own[name]
		if twice && written[name] != spelling {
			return fail(key, "sets %q twice, in two spellings: keep one", name)
		}
		written[name] = spelling
		if twice {
			content[at], content[at+1] = key, value
			continue
		}
		own[name] = len(content)
		content = append(content, key, value)
	}
	n.Content = content
	return nil
}

// canonicalName returns the name that encoding/json matches a key with: the same name, or one that differs only in
// letter case.
func canonicalName(key string, names []string) string {
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) }); i >= 0 {
		return names[i]
	}
	return key
}

// misspelled returns a key of a merged map, or of a map merged into that, that is not spelled exactly as its field.
func misspelled(n *yaml.Node, names []string) string {
	for key := range doc.Fields(n) {
		if name := doc.Deref(key).Value; canonicalName(name, names) != name {
			return name
		}
	}
	return ""
}
