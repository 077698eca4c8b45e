package origin

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// plugins lists the configurations of a layer's generators or transformers: documents in the kustomization, in
// files, and in folders with a kustomization of their own.
func (s *simulation) plugins(l *Layer, field string) (list []document) {
	byEntry := map[string]Part{}
	for _, p := range l.Plugins {
		if p.Field == field {
			byEntry[p.Entry] = p.Part
		}
	}
	for _, entry := range source.Items(l.File.Node, field) {
		part, listed := byEntry[entry.Value]
		switch {
		case listed && part.Layer != nil:
			list = append(list, s.b.manifests(part.Layer)...)
		case listed:
			for _, n := range s.b.text(part.Path).docs {
				list = append(list, document{part.Path, n})
			}
		case entry.Kind == yaml.ScalarNode:
			for _, n := range s.b.text(l.File.Path).inner(entry).docs {
				list = append(list, document{l.File.Path, n})
			}
		}
	}
	return list
}

// transformer runs the configuration of one of kustomize's own transformers
// (https://github.com/kubernetes-sigs/kustomize/tree/master/plugin/builtin).
func (s *simulation) transformer(c config, items []*item) []*item {
	get := func(name string) *yaml.Node { _, n := source.Field(c.node, name); return n }
	switch source.Text(c.node, "kind") {
	case "PrefixTransformer":
		if n := get("prefix"); n != nil {
			s.affix(c.with(n), items, prefix)
		}
	case "SuffixTransformer":
		if n := get("suffix"); n != nil {
			s.affix(c.with(n), items, suffix)
		}
	case "LabelTransformer":
		s.pairs(c.with(get("labels")), items, label, onlyMissing)
	case "AnnotationsTransformer":
		s.pairs(c.with(get("annotations")), items, annotation, onlyMissing)
	case "NamespaceTransformer":
		if _, n := source.Field(get("metadata"), "namespace"); n != nil {
			s.namespace(c.with(n), items)
		}
	case "ImageTagTransformer":
		s.images(c.with(get("imageTag")), items)
	case "ReplicaCountTransformer":
		s.replicas(c.with(get("replica")), items)
	case "PatchTransformer":
		return s.patchWith(c, get("patch"), source.Text(c.node, "path"), get("target"), items)
	case "PatchJson6902Transformer":
		return s.patchWith(c, get("jsonOp"), source.Text(c.node, "path"), get("target"), items)
	case "PatchStrategicMergeTransformer":
		for _, p := range source.Items(c.node, "paths") {
			items = s.patchStrategic(c.with(p), items)
		}
		return s.patchWith(c, get("patches"), "", nil, items)
	case "ReplacementTransformer":
		for _, n := range source.Items(c.node, "replacements") {
			items = s.replacement(c.with(n), items)
		}
	case "ValueAddTransformer":
		s.valueAdd(c, get("value"), items)
	}
	return items
}

func (s *simulation) valueAdd(c config, n *yaml.Node, items []*item) {
	if n == nil {
		return
	}
	for _, target := range source.Items(c.node, "targets") {
		_, chosen := source.Field(target, "selector")
		path := strings.Split(strings.Trim(source.Text(target, "fieldPath"), "/"), "/")
		for _, i := range selected(chosen, items) {
			i.root.ensure(s.mark(c, n), path[:len(path)-1]...).set(path[len(path)-1], scalarValue(n.Value, s.mark(c, n)))
		}
	}
}
