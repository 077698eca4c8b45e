package rendered

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

const crdKind = "CustomResourceDefinition"

// maxFields is how many removed fields of a kind are named.
const maxFields = 8

// crdVersion is one version of a kind.
type crdVersion struct {
	served, stored bool
	schema         map[string]any
}

// crdChange returns the changes of a kind that its users notice; nil if there are none.
func crdChange(named report.Resource, was, now map[string]any) *report.CRDChange {
	if named.Kind != crdKind {
		return nil
	}
	out := &report.CRDChange{Name: named.Name}
	say := func(format string, args ...any) { out.Says = append(out.Says, fmt.Sprintf(format, args...)) }
	switch {
	case was == nil:
		say("the kind is new")
		return out
	case now == nil:
		say("the kind is removed, and all its objects with it")
		return out
	}
	olds, news := crdVersions(was), crdVersions(now)
	for _, name := range sortedKeys(olds, news) {
		old, had := olds[name]
		new, has := news[name]
		switch {
		case !had:
			say("version %s is new", name)
		case !has:
			say("version %s is removed", name)
		case old.served && !new.served:
			say("version %s is no longer served", name)
		case !old.served && new.served:
			say("version %s is served", name)
		}
		if has && new.stored && !(had && old.stored) {
			say("objects are stored as %s", name)
		}
		if !had || !has {
			continue
		}
		gone := removedFields(old.schema, new.schema, "")
		for _, field := range gone[:min(len(gone), maxFields)] {
			say("%s no longer has %s", name, field)
		}
		if n := len(gone) - maxFields; n > 0 {
			say("%s lacks %s", name, report.Count(n, "more field", "more fields"))
		}
	}
	if len(out.Says) == 0 {
		return nil
	}
	return out
}

func crdVersions(o map[string]any) map[string]crdVersion {
	out := map[string]crdVersion{}
	list, _ := jsonpointer.At(o, "/spec/versions").([]any)
	for _, v := range list {
		one, _ := v.(map[string]any)
		name, _ := one["name"].(string)
		served, _ := one["served"].(bool)
		stored, _ := one["storage"].(bool)
		schema, _ := jsonpointer.At(v, "/schema/openAPIV3Schema").(map[string]any)
		out[name] = crdVersion{served, stored, schema}
	}
	return out
}

// removedFields lists the fields that a schema no longer has, without those below a removed field.
func removedFields(was, now map[string]any, at string) (list []string) {
	before, _ := was["properties"].(map[string]any)
	after, _ := now["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		here := name
		if at != "" {
			here = at + "." + name
		}
		old, _ := before[name].(map[string]any)
		new, ok := after[name].(map[string]any)
		switch {
		case ok:
			list = append(list, removedFields(old, new, here)...)
		case now["x-kubernetes-preserve-unknown-fields"] != true:
			list = append(list, here)
		}
	}
	for key, suffix := range map[string]string{"items": "[]", "additionalProperties": ".*"} {
		old, _ := was[key].(map[string]any)
		new, _ := now[key].(map[string]any)
		if old != nil && new != nil {
			list = append(list, removedFields(old, new, at+suffix)...)
		}
	}
	slices.Sort(list)
	return list
}
