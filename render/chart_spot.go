package render

import (
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
)

// spot is a field of a manifest. Where the field does not exist, it is the nearest existing parent.
type spot struct {
	object      *yaml.Node
	pointer     string
	manifest    helm.Manifest
	part        *manifestPart
	key, value  *yaml.Node   // key is nil for a list element and for the whole object
	keys        []*yaml.Node // the keys that lead to it, the outermost first
	missingKeys []string     // the keys below it that do not exist
	missing     string       // the same as a JSON Pointer
	steps       []step       // the steps that lead to it
}

// step is one part of a pointer and the node that it leads to.
type step struct {
	part       string
	key, value *yaml.Node
}

// follow goes down a pointer as far as it exists. If last is given, it starts where the pointer diverges from that of
// last, a field of the same object.
func (s *spot) follow(pointer string, last *spot) {
	parts := strings.Split(strings.TrimSuffix(pointer, "/"), "/")[1:]
	from := 0
	if last != nil && last.object == s.object {
		for from < len(parts)-1 && from < len(last.steps) && last.steps[from].part == parts[from] {
			from++
		}
		s.steps = append(make([]step, 0, len(parts)), last.steps[:from]...)
	}
	for i, part := range parts {
		if i < from {
			s.enter(s.steps[i])
			continue
		}
		token := jsonpointer.Unescape(part)
		var key, value *yaml.Node
		switch s.value.Kind {
		case yaml.MappingNode:
			key, value = doc.Field(s.value, token)
		case yaml.SequenceNode:
			if k, err := strconv.Atoi(token); err == nil && k >= 0 && k < len(s.value.Content) {
				value = s.value.Content[k]
			}
		}
		if value = doc.Deref(value); value == nil {
			s.missing = "/" + strings.Join(parts[i:], "/")
			for _, part := range parts[i:] {
				s.missingKeys = append(s.missingKeys, jsonpointer.Unescape(part))
			}
			return
		}
		s.steps = append(s.steps, step{part, key, value})
		s.enter(s.steps[i])
	}
}

func (s *spot) enter(to step) {
	if s.key, s.value = to.key, to.value; to.key != nil {
		s.keys = append(s.keys, to.key)
	}
}

// pointerAt returns the JSON Pointer of the value that begins, or whose key begins, at a position. Column 0 is any
// column of the line. holder means that only maps and lists count.
func pointerAt(n *yaml.Node, line, column int, holder bool) (string, bool) {
	at := func(n *yaml.Node) bool { return n != nil && n.Line == line && (column == 0 || n.Column == column) }
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			here := "/" + jsonpointer.Escape(key.Value)
			scalar := value.Kind == yaml.ScalarNode
			if (at(key) || at(value) && (scalar || value.Style&yaml.FlowStyle != 0)) && !(holder && scalar) {
				return here, true
			}
			if below, ok := pointerAt(value, line, column, holder); ok {
				return here + below, true
			}
		}
		if len(n.Content) > 0 && at(n.Content[0]) {
			return "", true
		}
	case yaml.SequenceNode:
		for i, value := range n.Content {
			here := "/" + strconv.Itoa(i)
			if at(value) && value.Kind == yaml.ScalarNode && !holder {
				return here, true
			}
			if below, ok := pointerAt(value, line, column, holder); ok {
				return here + below, true
			}
		}
	}
	return "", false
}
