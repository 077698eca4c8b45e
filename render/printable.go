package render

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// unprintable returns what keeps a built resource from being printed, and where, nil where nothing does: kustomize
// builds it and fails when it writes the result.
func unprintable(n *yaml.Node) (at *yaml.Node, why string) { return unprintableBelow(n, true) }

func unprintableBelow(n *yaml.Node, top bool) (at *yaml.Node, why string) {
	n = source.Deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		if at, why := badKeys(n, top); at != nil {
			return at, why
		}
	case yaml.ScalarNode:
		if n.Style&yaml.TaggedStyle != 0 {
			var v any
			if n.Decode(&v) != nil {
				return n, fmt.Sprintf("is tagged %s but is none", n.ShortTag())
			}
		}
		return nil, ""
	}
	for _, c := range n.Content {
		if at, why := unprintableBelow(c, false); at != nil {
			return at, why
		}
	}
	return nil, ""
}

// few is up to how many keys it costs less to compare them all than to make a map.
const few = 8

func badKeys(n *yaml.Node, top bool) (at *yaml.Node, why string) {
	var seen map[string]bool
	if len(n.Content) > 2*few {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := source.Deref(n.Content[i])
		// Below the top, keys are not turned into text (kyaml, RNode.MarshalJSON).
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" && !top && !source.IsMerge(n.Content[i]) {
			return n.Content[i], "has a key that is no text: put it in quotes"
		}
		twice := seen[key.Value]
		for j := 0; seen == nil && j < i; j += 2 {
			twice = twice || source.Deref(n.Content[j]).Value == key.Value
		}
		if twice {
			return n.Content[i], fmt.Sprintf("sets %q twice: keep one", key.Value)
		}
		if seen != nil {
			seen[key.Value] = true
		}
	}
	return nil, ""
}

// ambiguous returns the first key that stands above a merge key which brings the same: the map's own value counts for
// kustomize (YAML's rule) and the merged one for kubectl and Argo CD, which read with an older parser.
func ambiguous(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if !source.IsMerge(n.Content[i]) {
			continue
		}
		brought := map[string]bool{}
		for _, merged := range source.Merged(n.Content[i+1]) {
			for _, key := range source.Keys(merged) {
				brought[key] = true
			}
		}
		for j := 0; j < i; j += 2 {
			if !source.IsMerge(n.Content[j]) && brought[source.Key(n.Content[j])] {
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
