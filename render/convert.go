package render

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// toJSON converts a node to JSON values: whole numbers are int64, aliases and merge keys are resolved, of a key that
// is written twice the last counts. A file that is deployed as it is is read the way the API server's clients read it
// (plain): YAML 1.1 booleans are booleans, dates are text. What kustomize built is read the way kustomize prints it.
func toJSON(n *yaml.Node, plain bool) any {
	n = source.Deref(n)
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil
		}
		return toJSON(n.Content[0], plain)
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		addFields(m, n, plain)
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = toJSON(c, plain)
		}
		return list
	default:
		return scalar(n, plain)
	}
}

func addFields(m map[string]any, n *yaml.Node, plain bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !source.IsMerge(n.Content[i]) {
			continue
		}
		// Of several merged maps the first that has a key wins.
		for _, one := range slices.Backward(source.Merged(n.Content[i+1])) {
			if one.Kind == yaml.MappingNode {
				addFields(m, one, plain)
			}
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !source.IsMerge(n.Content[i]) {
			m[source.Key(n.Content[i])] = toJSON(n.Content[i+1], plain)
		}
	}
}

func scalar(n *yaml.Node, plain bool) any {
	unquoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch n.ShortTag() {
	case "!!binary":
		return source.Key(n)
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true") || yaml11Bool(n.Value) == yes
	case "!!int":
		var v int64
		if err := n.Decode(&v); err == nil {
			return v
		}
		return floatOf(n)
	case "!!float":
		return floatOf(n)
	case "!!timestamp":
		var at time.Time
		if err := n.Decode(&at); err == nil && !plain {
			return at.Format(time.RFC3339Nano) // kustomize prints by way of JSON
		}
	case "!!str":
		if plain && unquoted && n.Style&yaml.TaggedStyle == 0 {
			switch yaml11Bool(n.Value) {
			case yes:
				return true
			case no:
				return false
			}
		}
	}
	return n.Value
}

func floatOf(n *yaml.Node) any {
	var f float64
	if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return n.Value // JSON has no such number
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f) // JSON prints 1.0 as 1, and so the API machinery reads a whole number
	}
	return f
}

type truth int

const (
	neither truth = iota
	yes
	no
)

// yaml11Bool reads the words that kubectl and the GitOps controllers take for booleans (YAML 1.1,
// https://yaml.org/type/bool.html).
func yaml11Bool(s string) truth {
	switch s {
	case "true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return yes
	case "false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return no
	}
	return neither
}
