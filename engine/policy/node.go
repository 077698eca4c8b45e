package policy

import (
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Value is the document as JSON: maps, slices, strings, bools, nil, int64 for whole numbers and float64 for
// others, aliases and merge keys written out. Each call builds a new tree.
func (d Document) Value() any { return Value(d.Node) }

// Value is a YAML node as JSON (see [Document.Value]). Scalars are read as kubectl reads them, which is YAML
// 1.1: yes, no, on and off are booleans. The node must come from [Documents], which refuses those that
// could not be written out.
func Value(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	n = follow(n)
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for key, value := range entries(n) {
			m[keyText(key)] = Value(value)
		}
		return m
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, c := range n.Content {
			l[i] = Value(c)
		}
		return l
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil
}

// follow is the node behind an alias. Chains of aliases cannot be written in YAML, loops are refused before.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

func isMerge(key *yaml.Node) bool { return key.Tag == "!!merge" && key.Value == "<<" }

// entries yields the keys and values of a mapping, those of its merge keys (which its own override) last.
func entries(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if isMerge(n.Content[i]) {
				merged = append(merged, n.Content[i+1])
			} else if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
		if merged == nil {
			return
		}
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			seen[keyText(n.Content[i])] = true
		}
		for _, m := range merged {
			m = follow(m)
			sources := []*yaml.Node{m}
			if m.Kind == yaml.SequenceNode {
				sources = m.Content
			}
			for _, s := range sources {
				if s = follow(s); s.Kind != yaml.MappingNode {
					continue
				}
				for key, value := range entries(s) {
					if name := keyText(key); !seen[name] {
						seen[name] = true
						if !yield(key, value) {
							return
						}
					}
				}
			}
		}
	}
}

// field is the value of a key of a mapping, nil when there is none.
func field(n *yaml.Node, name string) *yaml.Node {
	_, value := entry(n, name)
	return value
}

func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n = follow(n); n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for k, v := range entries(n) {
		if keyText(k) == name {
			return k, v
		}
	}
	return nil, nil
}

// keyText is a key as JSON spells it: numbers and booleans become their text.
func keyText(n *yaml.Node) string {
	n = follow(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!str" && n.Style != 0 {
		return n.Value
	}
	switch v := scalar(n).(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return n.Value
}

// scalar is the JSON value of a scalar node.
func scalar(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return n.Value
		}
		return number(v)
	case "!!str":
		if n.Style == 0 {
			if b, ok := legacyBool(n.Value); ok {
				return b
			}
		}
	}
	return n.Value
}

// number brings a decoded scalar to the convention of k8s.io/apimachinery: JSON has one kind of number, so
// 1.0 is the integer 1.
func number(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case uint64:
		return float64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}

// legacyBool reads the booleans that YAML 1.1 knows beyond true and false
// (https://yaml.org/type/bool.html).
func legacyBool(s string) (value, ok bool) {
	if len(s) > 3 {
		return false, false
	}
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// Position is where the field behind an RFC 6901 pointer is written: its key, or the item of a list. Where
// the document has no such field it is the nearest parent it has.
func (d Document) Position(pointer string) (line, column int) {
	n := d.Node
	line, column = n.Line, n.Column
	if pointer == "" {
		return line, column
	}
	for token := range jsonpointer.Tokens(pointer) {
		n = follow(n)
		switch n.Kind {
		case yaml.MappingNode:
			key, value := entry(n, token)
			if key == nil {
				return line, column
			}
			line, column, n = key.Line, key.Column, value
		case yaml.SequenceNode:
			i, ok := jsonpointer.Index(token, len(n.Content))
			if !ok {
				return line, column
			}
			n = n.Content[i]
			line, column = n.Line, n.Column
		default:
			return line, column
		}
	}
	return line, column
}
