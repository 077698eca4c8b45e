package render

import (
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
)

// spot is a field of a manifest, found as far as it exists.
type spot struct {
	object      *yaml.Node
	pointer     string
	manifest    helm.Manifest
	part        *manifestPart
	key, value  *yaml.Node   // key is nil for the element of a list and for the whole
	keys        []*yaml.Node // the keys that lead there, the outermost first
	missingKeys []string     // that are missing below
	missing     string       // the same as a JSON Pointer
	steps       []step       // that lead there
}

// step is one part of a pointer with what it leads to.
type step struct {
	part       string
	key, value *yaml.Node
}

// follow goes down a pointer as far as it leads: from where it leaves that of another field of the object, if one is given.
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

// pointerAt returns the pointer of the value that begins at a position, or whose key does; column 0: on the line.
// holder means that it is a map or a list.
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
