package origin

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"github.com/lintel-bot/lintel/render/doc"
)

// plugins lists the configurations of a layer's generators or transformers, which may be inline, in files, or in
// folders with a kustomization.
func (s *transformation) plugins(l *Layer, field string) (list []document) {
	byEntry := map[string]Part{}
	for _, p := range l.Plugins {
		if p.Field == field {
			byEntry[p.Entry] = p.Part
		}
	}
	for _, entry := range doc.Items(l.File.Node, field) {
		part, listed := byEntry[entry.Value]
		switch {
		case listed && part.Layer != nil:
			list = append(list, s.b.manifests(part.Layer)...)
		case listed:
			list = append(list, inFile(part.Path, s.b.text(part.Path).documents())...)
		case entry.Kind == yaml.ScalarNode:
			list = append(list, inFile(l.File.Path, s.b.text(l.File.Path).inner(entry).documents())...)
		}
	}
	return list
}

// transformer runs the configuration of one of kustomize's own transformers
// (https://github.com/kubernetes-sigs/kustomize/tree/master/plugin/builtin).
func (s *transformation) transformer(c config, items []*item) []*item {
	get := func(name string) *yaml.Node { _, n := doc.Field(c.node, name); return n }
	specs := specsOf(doc.Items(c.node, "fieldSpecs"))
	switch doc.Text(c.node, "kind") {
	case "PrefixTransformer":
		if n := get("prefix"); n != nil {
			s.affix(c.with(n), specs, true, items)
		}
	case "SuffixTransformer":
		if n := get("suffix"); n != nil {
			s.affix(c.with(n), specs, false, items)
		}
	case "LabelTransformer":
		s.pairs(c.field("labels"), specs, items)
	case "AnnotationsTransformer":
		s.pairs(c.field("annotations"), specs, items)
	case "NamespaceTransformer":
		if _, n := doc.Field(get("metadata"), "namespace"); n != nil {
			s.namespace(c.with(n), namespacing{specs: specs, subjects: doc.Text(c.node, "setRoleBindingSubjects"),
				unsetOnly: doc.Text(c.node, "unsetOnly") == "true"}, items)
		}
	case "ImageTagTransformer":
		s.images(c.with(get("imageTag")), specs, items)
	case "ReplicaCountTransformer":
		s.replicas(c.with(get("replica")), specs, items)
	case "PatchTransformer":
		return s.patchWith(c, get("patch"), doc.Text(c.node, "path"), get("target"), items)
	case "PatchJson6902Transformer":
		return s.patchWith(c, get("jsonOp"), doc.Text(c.node, "path"), get("target"), items)
	case "PatchStrategicMergeTransformer":
		for _, p := range doc.Items(c.node, "paths") {
			items = s.patchStrategic(c.with(p), items)
		}
		return s.patchWith(c, get("patches"), "", nil, items)
	case "ReplacementTransformer":
		for _, n := range doc.Items(c.node, "replacements") {
			s.replacement(c.with(n), items)
		}
	case "ValueAddTransformer":
		s.valueAdd(c, get("value"), items)
	}
	return items
}

// valueAdd writes a value to fields. If a field contains a path, the value becomes one element of it.
func (s *transformation) valueAdd(c config, n *yaml.Node, items []*item) {
	if n == nil {
		return
	}
	targets := doc.Items(c.node, "targets")
	if file := doc.Text(c.node, "targetFilePath"); file != "" {
		for _, d := range s.b.text(c.layer.sibling(file)).documents() {
			targets = append(targets, doc.Items(d, "targets")...)
		}
	}
	by := s.mark(c, n)
	for _, target := range targets {
		_, chosen := doc.Field(target, "selector")
		path := utils.PathSplitter(strings.Trim(doc.Text(target, "fieldPath"), "/"), "/")
		for _, i := range selected(chosen, items) {
			if slices.Equal(path, []string{"metadata", "namespace"}) {
				s.namespace(c.with(n), namespacing{}, []*item{i})
				continue
			}
			(fieldSpec{create: true}).walk(i.root, path, yaml.ScalarNode, by, func(v *value) {
				v.write(n.Value, by)
				v.approximate = doc.Text(target, "filePathPosition") != ""
			})
		}
	}
}
