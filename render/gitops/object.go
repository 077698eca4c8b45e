package gitops

import (
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/env"
)

// Object is a manifest of the repository, from a file or from a rendering. Each of its fields has a place.
type Object struct {
	Head
	root func() *field
	from string // the root that renders it; empty: it is in a file
	id   string // see Identified

	uncertain bool // see Uncertain
}

// Wanted selects objects that another one refers to.
type Wanted struct {
	Group, Kind string
	Namespace   string // objects without a namespace are selected, too; empty: in any
	Name        string
	Any         bool // of any name
}

// Selects reports whether an object is wanted.
func (n Wanted) Selects(o Object) bool {
	return n.Group == o.Group && n.Kind == o.Kind && (n.Any || n.Name == o.Name) && sameNamespace(n.Namespace, o.Namespace)
}

// Found are the objects that another one refers to.
type Found struct {
	Objects []Object
	Digest  string // of their ids
}

// Select returns the wanted objects of a list.
func (n Wanted) Select(list []Object) (found Found) {
	var parts []any
	for _, o := range list {
		if n.Selects(o) {
			found.Objects = append(found.Objects, o)
			parts = append(parts, o.from, o.id)
		}
	}
	if found.Digest = digest(parts...); slices.ContainsFunc(found.Objects, func(o Object) bool { return o.id == "" }) {
		found.Digest = env.Unanswered
	}
	return found
}

// Head is what is needed of most objects.
type Head struct {
	Group, Kind, Namespace, Name string
	File                         string      // that its name is written in
	Refs                         []Reference `json:",omitempty"` // without namespaces: the sources, and the values and variables, of an object of Flux
}

// Later returns an object that is read when more than its head is needed.
func Later(head Head, read func() Object) Object {
	return Object{Head: head, root: sync.OnceValue(func() *field { return read().root() })}
}

func newObject(root *field) Object {
	group, _ := resid.ParseGroupVersion(root.text("apiVersion"))
	out := Object{root: func() *field { return root }, Head: Head{Group: group, Kind: root.text("kind"),
		Namespace: root.text("metadata", "namespace"), Name: root.text("metadata", "name"), File: root.position("metadata", "name").Path}}
	spec := root.get("spec")
	for _, ref := range append(slices.Concat(spec.elements("postBuild", "substituteFrom"), spec.elements("valuesFrom")),
		spec.get("sourceRef"), spec.get("chartRef"), spec.get("chart", "spec", "sourceRef")) {
		if kind, name := ref.text("kind"), ref.text("name"); kind != "" && name != "" {
			for _, of := range holders(kind) {
				out.Refs = append(out.Refs, Reference{Kind: of, Name: name})
			}
		}
	}
	return out
}

// Identified returns the object with an id. Objects with equal ids must have the same content and places.
func (o Object) Identified(id string) Object {
	o.id = id
	return o
}

// Is reports whether two objects have the same content, in the same root.
func (o Object) Is(other Object) bool { return o.from == other.from && o.id == other.id && o.id != "" }

// In returns the object as part of a root that renders it unchanged; see FromRoot.
func (o Object) In(root string) Object {
	o.from = root
	return o
}

// FromNode returns the object of one YAML document of a file.
func FromNode(path string, n *yaml.Node) Object { return newObject(fieldOfNode(path, n)) }

// FromRoot returns an object that a root renders. where returns the place of the nth field: parents come before their
// fields, and keys are sorted.
func FromRoot(root string, value map[string]any, where func(nth int) Position) Object {
	next := -1
	return newObject(fieldOf(value, 0, func() Position {
		next++
		return where(next)
	})).In(root)
}

// From returns the root that renders the object; see FromRoot.
func (o Object) From() string { return o.from }

// Reference returns the kind, namespace and name of the object.
func (o Object) Reference() Reference {
	return Reference{o.Kind, o.Namespace, o.Name}
}

// Same reports whether two objects are one object before and after it was rendered. Both have the same kind and name,
// and the same file, or no different namespaces.
func (o Object) Same(other Object) bool {
	return o.Kind == other.Kind && o.Name == other.Name && (o.File == other.File || sameNamespace(o.Namespace, other.Namespace))
}
