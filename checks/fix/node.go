package fix

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// written returns documents with their nodes as the text has them, with aliases and merge keys.
func written(data []byte, docs []policy.Document) []policy.Document {
	roots, _ := doc.Documents("", data, doc.Limits{})
	docs = slices.Clone(docs)
	for i, d := range docs {
		for _, root := range roots {
			if n := mappingAt(root, d.Node.Line, d.Node.Column); n != nil {
				docs[i].Node = n
			}
		}
	}
	return docs
}

// mappingAt finds the mapping that starts at a place.
func mappingAt(n *yaml.Node, line, column int) *yaml.Node {
	if n.Kind == yaml.MappingNode && n.Line == line && n.Column == column {
		return n
	}
	for _, c := range n.Content {
		if found := mappingAt(c, line, column); found != nil {
			return found
		}
	}
	return nil
}

// entry finds a key that is written in a mapping itself; those of merge keys belong elsewhere.
func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	n = doc.Deref(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

func valueOf(n *yaml.Node, name string) *yaml.Node {
	_, v := entry(n, name)
	return doc.Deref(v)
}

func items(n *yaml.Node) []*yaml.Node {
	if n = doc.Deref(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func isMapping(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 0
}

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// within changes the mapping that a document has at a pointer; set and remove change a field of it.
func within(pointer string, do func(map[string]any)) func(any) {
	return func(document any) {
		if m, ok := jsonpointer.At(document, pointer).(map[string]any); ok {
			do(m)
		}
	}
}

func set(parent, field string, value any) func(any) {
	return within(parent, func(m map[string]any) { m[field] = value })
}

func remove(parent, field string) func(any) {
	return within(parent, func(m map[string]any) { delete(m, field) })
}
