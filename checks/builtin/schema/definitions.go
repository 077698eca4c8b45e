package schema

import (
	"reflect"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// definitions are the definitions of custom resources in a cluster. It is safe for concurrent use. A schema is compiled
// when an object of its kind is first checked.
type definitions struct {
	kinds map[kind]*declared
}

type kind struct{ group, name string }

// declared is a kind with all of its definitions: several roots may have definitions of different versions.
type declared struct {
	serves   map[string][]*schemaOf // by version; nil: without a schema
	versions []string               // sorted
	legacy   bool                   // one definition has an API version that Lintel does not read
	webhook  bool                   // one definition has a webhook that converts objects between versions
}

// schemaOf is the schema of one version of a kind.
type schemaOf struct {
	source  any    // openAPIV3Schema
	unknown bool   // spec.preserveUnknownFields: fields that the schema does not name are kept
	part    bool   // of a definition that does not keep them: nulls are left out as by the whole one
	status  bool   // its status is a subresource, which nobody applies
	scaled  string // where the subresource scale has the number of replicas, as ".spec.replicas"; empty: nowhere
	minor   int    // of the Kubernetes that has it; 0: unknown
	once    sync.Once
	schema  *schema
	err     error
}

// newDefinitions returns the definitions of a kind among some objects. minor is the version of Kubernetes, 0 if unknown.
func newDefinitions(objects []map[string]any, of kind, minor int) *definitions {
	d := &definitions{kinds: map[kind]*declared{}}
	for _, o := range objects {
		d.add(o, of, minor)
	}
	for _, k := range d.kinds {
		slices.Sort(k.versions)
	}
	return d
}

func (d *definitions) add(o map[string]any, of kind, minor int) {
	if o["kind"] != "CustomResourceDefinition" {
		return
	}
	spec, _ := o["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	name, _ := names["kind"].(string)
	if of != (kind{group, name}) {
		return
	}
	k := d.kinds[of]
	if k == nil {
		k = &declared{serves: map[string][]*schemaOf{}}
		d.kinds[of] = k
	}
	if o["apiVersion"] != "apiextensions.k8s.io/v1" {
		k.legacy = true // its schema need not be structural
		return
	}
	k.webhook = k.webhook || jsonpointer.At(spec, "/conversion/strategy") == "Webhook"
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
		scaled, _ := jsonpointer.At(version, "/subresources/scale/specReplicasPath").(string)
		k.add(name, &schemaOf{source: holder["openAPIV3Schema"], unknown: spec["preserveUnknownFields"] == true,
			status: jsonpointer.At(version, "/subresources/status") != nil, scaled: scaled, minor: minor})
	}
}

// maxVersions limits the different definitions of one version of a kind. With more of them, an object of the kind is
// not checked.
const maxVersions = 8

func (k *declared) add(version string, s *schemaOf) {
	list := k.serves[version]
	if len(list) <= maxVersions && !slices.ContainsFunc(list, func(o *schemaOf) bool {
		return o.unknown == s.unknown && o.status == s.status && o.scaled == s.scaled && reflect.DeepEqual(o.source, s.source)
	}) {
		k.serves[version] = append(list, s)
	}
}

// has reports whether a kind is defined.
func (d *definitions) has(group, name string) bool { return d.kinds[kind{group, name}] != nil }

// versions lists the served versions of a kind; none if its definition cannot be read.
func (d *definitions) versions(group, name string) []string {
	if k := d.kinds[kind{group, name}]; k != nil && !k.legacy {
		return k.versions
	}
	return nil
}
