package assert

import (
	"fmt"

	"github.com/lintel-bot/lintel/engine/explain"
)

// asks is the requirement of a value that has to be another one: the value itself, or what is computed from it.
func asks(at path, v value, want any) explain.Requirement {
	if v.exact {
		return explain.Write(want)
	}
	return explain.Requirement{Words: at.String() + " to be " + explain.Text(want)}
}

// absent is the requirement of a field that has to be there and to be like a part of the tree.
func absent(n node) explain.Requirement {
	if value, ok := sample(n); ok {
		return explain.Write(value)
	}
	return explain.Requirement{Words: "that it is set", Changes: []explain.Change{{Value: explain.Placeholder, Example: true}}}
}

// unlike is the requirement of a list that is no list, or of another length.
func (l list) unlike() explain.Requirement {
	h := explain.Requirement{Words: fmt.Sprintf("a list of %d elements", len(l))}
	if value, ok := sample(l); ok {
		h.Changes = []explain.Change{{Value: value}}
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
