package diagnostics

import (
	"fmt"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// resource describes what is wrong with a file or a base.
func (s *search) resource(c culprit) []doc.Error {
	real, e, ok := named(s.repo, c.file, c.node.Value)
	if !ok {
		return nil
	}
	if e.Kind == tree.Dir {
		if f, err := s.repo.Kustomization(real); err == nil && f != nil && f.Component {
			return c.problem(c.node, "%q is a component: list it under components", c.node.Value)
		}
		if list := s.below(c); len(list) > 0 {
			return list
		}
		objects, err := s.repo.Build(real, nil)
		if err != nil {
			return nil
		}
		for _, i := range idsOf(objects) {
			if list := s.twice(c, c.file.Path, c.node, i, i.String()+", which "+real+" includes,"); list != nil {
				return list
			}
		}
		return nil
	}
	if kustomization.IsFileName(real) {
		return c.problem(c.node, "%q is a kustomization: list its folder, %q, not the file", c.node.Value,
			path.Dir(c.node.Value))
	}
	if list := c.unreadable(c.node, real); list != nil {
		return list
	}
	documents := s.documents(real)
	if len(documents) == 0 {
		return nil
	}
	n, ok := s.first(len(documents), func(n int) error {
		_, err := s.attemptFile(c, real, documents[:n])
		return err
	})
	if ok {
		documents = documents[:n]
	}
	var seen []id
	for i, d := range documents {
		for _, object := range doc.Unlist(d) {
			if !ok || i == n-1 {
				if list := s.object(c, real, object, seen); list != nil {
					return list
				}
			}
			seen = append(seen, idOf(object))
		}
	}
	if ok {
		return problemAt(real, documents[n-1], Clean(c.failure))
	}
	return nil
}

// component describes what is wrong with an entry of components.
func (s *search) component(c culprit) []doc.Error {
	real, _, ok := named(s.repo, c.file, c.node.Value)
	if f, err := s.repo.Kustomization(real); ok && err == nil && f != nil && !f.Component {
		return c.problem(c.node, "%q is not a component: list it under resources, or write kind: Component in it", c.node.Value)
	}
	return s.below(c)
}

// object describes what is wrong with one resource of a file. seen are those above it.
func (s *search) object(c culprit, file string, n *yaml.Node, seen []id) []doc.Error {
	n = doc.Deref(n)
	if n.Kind != yaml.MappingNode {
		return problemAt(file, n, fmt.Sprintf("is %s, and a resource is a map with apiVersion, kind and metadata",
			shape(doc.Value(n, true))))
	}
	i := idOf(n)
	what := i.kind
	if i.kind == "" {
		what = "resource"
	}
	_, meta := doc.Field(n, "metadata")
	switch {
	case i.kind == "":
		for _, key := range doc.Keys(n) {
			if nearest(key, []string{"kind"}) != "" {
				at, _ := doc.Field(n, key)
				return problemAt(file, at, fmt.Sprintf("this has no kind, so it is not a resource: write kind in place of %s", key))
			}
		}
		return problemAt(file, n, "this has no kind, so it is not a resource: write apiVersion and kind, or remove "+
			"the file from resources")
	case i.apiVersion == "":
		return problemAt(file, n, fmt.Sprintf("this %s has no apiVersion: write it above kind", what))
	case meta != nil && meta.Kind != yaml.MappingNode:
		return problemAt(file, meta, fmt.Sprintf("metadata of this %s is %s and must be a map with name", what,
			shape(doc.Value(meta, true))))
	case i.name == "":
		key, at := doc.Field(meta, "generateName")
		if at != nil {
			return problemAt(file, key, fmt.Sprintf("this %s has generateName in place of a name, and kustomize needs a name: write "+
				"metadata.name", what))
		}
		if key, _ = doc.Field(n, "metadata"); key == nil {
			key = n
		}
		if other, value := doc.Field(meta, "name"); value != nil {
			key = other
		}
		return problemAt(file, key, fmt.Sprintf("this %s has no name: write metadata.name", what))
	case slices.ContainsFunc(seen, i.same):
		return problemAt(file, nameOf(n), fmt.Sprintf("%s is in this file twice: remove one, or give it another name "+
			"or namespace", i))
	}
	if list := s.twice(c, file, nameOf(n), i, i.String()); list != nil {
		return list
	}
	return oddMaps(file, n)
}

// nameOf returns the node with the name of a resource.
func nameOf(n *yaml.Node) *yaml.Node {
	_, meta := doc.Field(n, "metadata")
	if key, _ := doc.Field(meta, "name"); key != nil {
		return key
	}
	return n
}

// oddMaps describes where labels or annotations are no map of texts, which kustomize does not take.
func oddMaps(file string, n *yaml.Node) []doc.Error {
	_, meta := doc.Field(n, "metadata")
	for _, field := range []string{"labels", "annotations"} {
		_, value := doc.Field(meta, field)
		if value == nil || value.ShortTag() == "!!null" {
			continue
		}
		if value.Kind != yaml.MappingNode {
			return problemAt(file, value, fmt.Sprintf("metadata.%s is %s and must be a map (name: value)", field,
				shape(doc.Value(value, true))))
		}
		for key, v := range doc.Fields(value) {
			if _, ok := doc.Value(v, true).(string); !ok {
				return problemAt(file, v, fmt.Sprintf("metadata.%s: %s is %s and must be text: put it in quotes", field,
					doc.Key(key), shape(doc.Value(v, true))))
			}
		}
	}
	return nil
}

// twice returns the problem of a resource that another entry contains, too, and names that entry; nil if none does.
func (s *search) twice(c culprit, file string, at *yaml.Node, i id, what string) []doc.Error {
	if !slices.ContainsFunc(idsOf(c.objects), i.same) {
		return nil
	}
	words := what + " is already part of this kustomization"
	for _, e := range c.before {
		if e.field != "resources" && e.field != "bases" {
			continue
		}
		real, found, ok := named(s.repo, c.file, e.node.Value)
		if !ok {
			continue
		}
		if e.node.Value == c.node.Value {
			return c.problem(c.node, "%q is listed twice: remove one of the two", e.node.Value)
		}
		if s.has(real, found, i) {
			if found.Kind == tree.Dir {
				real = "the kustomization in " + real
			}
			words += ", by " + real
			break
		}
	}
	return problemAt(file, at, words+": remove one, or give it another name or namespace (to change it, write a patch)")
}

// has reports whether an entry of resources contains a resource.
func (s *search) has(real string, e tree.Entry, i id) bool {
	if e.Kind == tree.Dir {
		objects, err := s.repo.Build(real, nil)
		return err == nil && slices.ContainsFunc(idsOf(objects), i.same)
	}
	data, err := s.repo.Read(real)
	if err != nil {
		return false
	}
	documents, _ := doc.Documents(real, data, s.finder.Limits)
	return slices.ContainsFunc(documents, func(d *yaml.Node) bool {
		return slices.ContainsFunc(doc.Unlist(d), func(n *yaml.Node) bool { return idOf(n).same(i) })
	})
}
