package fix

import (
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// follow is the node behind an alias.
func follow(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// entry finds a key that is written in a mapping itself; those of merge keys belong elsewhere.
func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	n = follow(n)
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
	return follow(v)
}

func items(n *yaml.Node) []*yaml.Node {
	if n = follow(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func isMapping(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 0
}

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// set and remove change a field of the document.
func set(parent, field string, value any) func(any) {
	return func(document any) {
		if m, ok := jsonpointer.At(document, parent).(map[string]any); ok {
			m[field] = value
		}
	}
}

func remove(parent, field string) func(any) {
	return func(document any) {
		if m, ok := jsonpointer.At(document, parent).(map[string]any); ok {
			delete(m, field)
		}
	}
}
