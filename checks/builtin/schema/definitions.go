package schema

import (
	"reflect"
	"slices"
	"sync"
)

// definitions are the definitions of custom resources that a cluster has. They are safe for concurrent use. A schema is
// compiled when an object of it is first looked at.
type definitions struct {
	kinds map[kind]*declared
}

type kind struct{ group, name string }

// declared is a kind by all definitions of it: several roots may bring several versions of one.
type declared struct {
	serves   map[string][]*schemaOf // by version; nil: it has no schema
	versions []string               // sorted
	legacy   bool                   // a definition is of a version that is not read
}

// schemaOf is the schema of one version of a kind.
type schemaOf struct {
	source  any  // openAPIV3Schema
	unknown bool // fields that the schema does not name stay: spec.preserveUnknownFields
	once    sync.Once
	schema  *schema
	err     error
}

// newDefinitions returns the definitions of a kind, of whatever group, among some objects; others are left out.
func newDefinitions(objects []map[string]any, of string) *definitions {
	d := &definitions{kinds: map[kind]*declared{}}
	for _, o := range objects {
		d.add(o, of)
	}
	for _, k := range d.kinds {
		slices.Sort(k.versions)
	}
	return d
}

func (d *definitions) add(o map[string]any, of string) {
	if o["kind"] != "CustomResourceDefinition" {
		return
	}
	spec, _ := o["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	name, _ := names["kind"].(string)
	if group == "" || name == "" || name != of {
		return
	}
	k := d.kinds[kind{group, name}]
	if k == nil {
		k = &declared{serves: map[string][]*schemaOf{}}
		d.kinds[kind{group, name}] = k
	}
	if o["apiVersion"] != "apiextensions.k8s.io/v1" {
		k.legacy = true // its schema need not be structural
		return
	}
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		if name == "" || version["served"] == false {
			continue
		}
		if !slices.Contains(k.versions, name) {
			k.versions = append(k.versions, name)
		}
		holder, _ := version["schema"].(map[string]any)
		k.add(name, &schemaOf{source: holder["openAPIV3Schema"], unknown: spec["preserveUnknownFields"] == true})
	}
}

// maxVersions bounds how many definitions of one version of a kind are kept. More than these are not known to say what
// an object may be.
const maxVersions = 8

func (k *declared) add(version string, s *schemaOf) {
	list := k.serves[version]
	if len(list) <= maxVersions && !slices.ContainsFunc(list, func(o *schemaOf) bool {
		return o.unknown == s.unknown && reflect.DeepEqual(o.source, s.source)
	}) {
		k.serves[version] = append(list, s)
	}
}

// has reports whether a kind is defined.
func (d *definitions) has(group, name string) bool { return d.kinds[kind{group, name}] != nil }

// versions lists the versions of a kind that are served; none where its definition does not tell.
func (d *definitions) versions(group, name string) []string {
	if k := d.kinds[kind{group, name}]; k != nil && !k.legacy {
		return k.versions
	}
	return nil
}
