package assert

import (
	"fmt"

	"github.com/lintel-bot/lintel/engine/hint"
)

// asks is the hint of a value that has to be another one: the value itself, or what is computed from it.
func asks(at path, v value, want any) hint.Hint {
	if v.exact {
		return hint.Write(want)
	}
	return hint.Hint{Words: at.String() + " to be " + hint.Text(want)}
}

// absent is the hint of a field that has to be there and to be like a part of the tree.
func absent(n node) hint.Hint {
	if value, ok := sample(n); ok {
		return hint.Write(value)
	}
	return hint.Hint{Words: "that it is set", Edits: []hint.Edit{{Value: hint.Placeholder, Example: true}}}
}

// unlike is the hint of a list that is no list, or of another length.
func (l list) unlike() hint.Hint {
	h := hint.Hint{Words: fmt.Sprintf("a list of %d elements", len(l))}
	if value, ok := sample(l); ok {
		h.Edits = []hint.Edit{{Value: value}}
	}
	return h
}

// sample is a value that a part of a tree takes; it is not known where expressions decide.
func sample(n node) (any, bool) {
	switch n := n.(type) {
	case leaf:
		return n.value, n.expr == nil && n.value != nil
	case mapping:
		out := map[string]any{}
		for _, e := range n {
			if e.each || e.expr != nil {
				return nil, false
			}
			v, ok := sample(e.below)
			if !ok {
				return nil, false
			}
			out[e.name] = v
		}
		return out, len(out) > 0
	case list:
		var out []any
		for _, e := range n {
			v, ok := sample(e)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return out, len(out) > 0
	}
	return nil, false
}
