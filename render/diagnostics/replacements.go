package diagnostics

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// replacement describes what is wrong with an entry of replacements.
func (s *search) replacement(c culprit) []doc.Error {
	n := doc.Deref(c.node)
	_, file := doc.Field(n, "path")
	if file == nil {
		return s.replaced(c, c.file.Path, n)
	}
	real, e, ok := named(s.repo, c.file, file.Value)
	if !ok || e.Kind != tree.File {
		return nil
	}
	if list := c.unreadable(file, real); list != nil {
		return list
	}
	documents := s.documents(real)
	if len(documents) == 0 {
		return nil
	}
	list := []*yaml.Node{documents[0]}
	if documents[0].Kind == yaml.SequenceNode {
		list = documents[0].Content
	}
	for _, one := range list {
		if found := s.replaced(c, real, doc.Deref(one)); found != nil {
			return found
		}
	}
	return nil
}

// sayer creates a problem from a node and a message.
type sayer func(at *yaml.Node, format string, args ...any) []doc.Error

// replaced describes what is wrong with one replacement, in the kustomization or a file of its own.
func (s *search) replaced(c culprit, file string, n *yaml.Node) []doc.Error {
	var say sayer = func(at *yaml.Node, format string, args ...any) []doc.Error {
		if at == nil {
			at = n
		}
		return problemAt(file, at, "replacements: "+fmt.Sprintf(format, args...))
	}
	if n.Kind != yaml.MappingNode {
		return say(n, "this must be a map with source and targets")
	}
	_, from := doc.Field(n, "source")
	_, value := doc.Field(n, "sourceValue")
	targets := doc.Items(n, "targets")
	switch {
	case from == nil && value == nil:
		return say(n, "this has no source: write source: with kind, name and fieldPath of the value, or sourceValue")
	case from != nil && value != nil:
		return say(value, "this has both source and sourceValue: keep one")
	case len(targets) == 0:
		return say(n, "this has no targets: write targets: with select and fieldPaths of where the value goes")
	}
	if from != nil {
		if list := s.source(c, from, say); list != nil {
			return list
		}
	}
	for _, target := range targets {
		_, selects := doc.Field(target, "select")
		if target.Kind != yaml.MappingNode || selects == nil {
			return say(target, "this target selects nothing: write select: with kind and name of what is to change")
		}
		for _, object := range selected(selects, c.objects) {
			for _, field := range doc.Items(target, "fieldPaths") {
				if doc.Text(target, "options", "create") == "true" || strings.ContainsAny(field.Value, "*[") {
					continue
				}
				if why := missing(object, utils.PathSplitter(field.Value, "."), showDotted); why != "" {
					return say(field, "in %s, %s; to have it created, write options: {create: true}", idOf(object), why)
				}
			}
		}
	}
	if file != c.file.Path {
		return nil
	}
	if target, ok := s.item(c, "targets"); ok {
		return say(doc.Deref(target), "%s", Clean(c.failure))
	}
	return nil
}

// source returns the reason why the value to copy does not exist.
func (s *search) source(c culprit, from *yaml.Node, say sayer) []doc.Error {
	if from.Kind != yaml.MappingNode {
		return nil
	}
	want := id{kind: doc.Text(from, "kind"), name: doc.Text(from, "name"), namespace: doc.Text(from, "namespace")}
	list := matching(want, c.objects)
	if _, at := doc.Field(from, "name"); len(list) == 0 {
		if want.kind == "" || want.name == "" {
			return say(at, "the source fits no resource here: write its kind and name")
		}
		return say(at, "the source is missing: %s", absent(want, c.objects))
	}
	if len(list) > 1 {
		return say(from, "the source fits %d resources, %s and %s among them: say which, by kind, name and namespace",
			len(list), idOf(list[0]), idOf(list[1]))
	}
	_, at := doc.Field(from, "fieldPath")
	if at == nil || strings.ContainsAny(at.Value, "[") {
		return nil
	}
	if why := missing(list[0], utils.PathSplitter(at.Value, "."), showDotted); why != "" {
		return say(at, "the source has no value: in %s, %s", idOf(list[0]), why)
	}
	return nil
}

// matching returns the objects that match an id, whose empty parts match everything.
func matching(want id, objects []*yaml.Node) (list []*yaml.Node) {
	fits := func(want, have string) bool { return want == "" || want == have }
	for n, i := range idsOf(objects) {
		if fits(want.kind, i.kind) && fits(want.name, i.name) && fits(want.namespace, i.namespace) {
			list = append(list, objects[n])
		}
	}
	return list
}

func showDotted(parts []string) string { return strings.Join(parts, ".") }
