package render

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// unprintable returns why a built resource, or a value in one, cannot be printed; empty if it can. Kustomize builds
// such a resource and fails when it writes the result.
func unprintable(n *yaml.Node, top bool) (why string) {
	n = doc.Deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		why = badKey(n, top)
	case yaml.ScalarNode:
		var v any
		if n.Style&yaml.TaggedStyle != 0 && n.Decode(&v) != nil {
			return fmt.Sprintf("has the YAML tag %s and another type of value", n.ShortTag())
		}
		return ""
	}
	for i := 0; why == "" && i < len(n.Content); i++ {
		why = unprintable(n.Content[i], false)
	}
	return why
}

// few is the number of keys up to which comparing all pairs is cheaper than a map.
const few = 8

func badKey(n *yaml.Node, top bool) (why string) {
	var seen map[string]bool
	if len(n.Content) > 2*few {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := doc.Deref(n.Content[i])
		// Below the top, keys are not turned into text (kyaml, RNode.MarshalJSON).
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" && !top && !doc.IsMerge(n.Content[i]) {
			return "has a key that is no text: put it in quotes"
		}
		twice := seen[key.Value]
		for j := 0; seen == nil && j < i; j += 2 {
			twice = twice || doc.Deref(n.Content[j]).Value == key.Value
		}
		if twice {
			return fmt.Sprintf("sets %q twice: keep one", key.Value)
		}
		if seen != nil {
			seen[key.Value] = true
		}
	}
	return ""
}

// ambiguous returns the first key before a merge key ("<<") that merges the same key. Kustomize takes the map's own
// value, as YAML says. kubectl and Argo CD use an older parser, which takes the merged value.
func ambiguous(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if !doc.IsMerge(n.Content[i]) {
			continue
		}
		brought := map[string]bool{}
		for _, merged := range doc.Merged(n.Content[i+1]) {
			for _, key := range doc.Keys(merged) {
				brought[key] = true
			}
		}
		for j := 0; j < i; j += 2 {
			if !doc.IsMerge(n.Content[j]) && brought[doc.Key(n.Content[j])] {
				return n.Content[j]
			}
		}
	}
	for _, c := range n.Content { // the target of an alias is checked where it is written
		if at := ambiguous(c); at != nil {
			return at
		}
	}
	return nil
}
