package policy

import (
	"iter"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Value is the document as JSON: maps, slices, strings, bools, nil, int64 for whole numbers and float64 for
// others. Each call builds a new tree.
func (d Document) Value() any { return Value(d.Node) }

// Value is a plain YAML node (see [Source]) as JSON (see [Document.Value]).
func Value(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for key, value := range entries(n) {
			m[key.Value] = Value(value)
		}
		return m
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, c := range n.Content {
			l[i] = Value(c)
		}
		return l
	}
	return scalar(n)
}

// entries yields the keys and values of a mapping.
func entries(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
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
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for k, v := range entries(n) {
		if k.Value == name {
			return k, v
		}
	}
	return nil, nil
}

// scalar is the JSON value of a scalar node.
func scalar(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool": // true, yes, on or y, in one case or another
		return strings.ContainsAny(n.Value[:min(1, len(n.Value))], "tTyY") || strings.EqualFold(n.Value, "on")
	case "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err == nil {
			return number(v)
		}
	}
	return n.Value
}

// number converts a decoded scalar to the convention of k8s.io/apimachinery: JSON has one kind of number, so
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

// Position is where the field behind an RFC 6901 pointer is written: its key, or the item of a list. Where
// the document has no such field it is the nearest parent it has.
func (d Document) Position(pointer string) (line, column int) {
	n := d.Node
	line, column = n.Line, n.Column
	for token := range jsonpointer.Tokens(pointer) {
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

// TextPosition is where a place inside the string behind a pointer is written; line and column count from 1
// within the string. The column is 0 where the way the string is written (block scalars, escapes, folded
// lines) leaves only the line certain.
func (d Document) TextPosition(pointer string, line, column int) (int, int) {
	n := d.Node
	for token := range jsonpointer.Tokens(pointer) {
		if n = child(n, token); n == nil {
			return d.Position(pointer)
		}
	}
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		return n.Line + line, 0
	case n.Style&yaml.FoldedStyle != 0:
		return n.Line + 1, 0
	case line > 1 || strings.Contains(n.Value, "\n"):
		return n.Line, 0
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return n.Line, n.Column + column
	}
	return n.Line, n.Column + column - 1
}
