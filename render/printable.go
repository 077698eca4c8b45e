package render

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// unprintable returns what keeps a built resource, or what is in one, from being printed, empty where nothing does:
// kustomize builds it and fails when it writes the result.
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

// few is up to how many keys it costs less to compare them all than to make a map.
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

// ambiguous returns the first key that stands above a merge key which brings the same: the map's own value counts for
// kustomize (YAML's rule) and the merged one for kubectl and Argo CD, which read with an older parser.
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
	for _, c := range n.Content { // what an alias stands for is looked at where it is written
		if at := ambiguous(c); at != nil {
			return at
		}
	}
	return nil
}
