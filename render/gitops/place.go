package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// place is where a value and what is in it are written.
type place struct {
	where  func() Position
	inside func() Position // in what Layer.Want comes to, where the place is not of this repository
	keys   map[string]*place
	items  []*place
	reason string // nobody knows it
}

// at returns the place of the value at a path, nil where there is none.
func (p *place) at(path []string) *place {
	for _, key := range path {
		if p == nil {
			return nil
		}
		if p.keys != nil {
			p = p.keys[key]
			continue
		}
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(p.items) {
			return nil
		}
		p = p.items[i]
	}
	return p
}

// place returns where the layer's values are written.
func (p *part) place() *place {
	if p.placed != nil {
		return p.placed
	}
	p.placed = &place{where: func() Position { return p.Where }}
	switch {
	case p.kind != mergeLayer:
		out := map[string]any{}
		if p.set(out, true) == nil {
			p.placed = p.placeOf(out)
		}
	case len(p.documents) == 1:
		p.placed = p.documents[0].place
	default:
		for _, d := range p.documents {
			p.placed = p.placed.over(d.place)
		}
	}
	return p.placed
}

// anyReason says why nobody knows the value, or one in it; empty: all are known.
func (p *place) anyReason() string {
	if p == nil {
		return ""
	}
	if p.reason != "" {
		return p.reason
	}
	for _, k := range slices.Sorted(maps.Keys(p.keys)) {
		if reason := p.keys[k].anyReason(); reason != "" {
			return reason
		}
	}
	for _, item := range p.items {
		if reason := item.anyReason(); reason != "" {
			return reason
		}
	}
	return ""
}

// over returns a place with another one over it.
func (p *place) over(top *place) *place {
	if p == nil || p.keys == nil && p.items != nil || top.keys == nil {
		return top
	}
	out := &place{where: top.where, keys: map[string]*place{}}
	for k, v := range p.keys {
		out.keys[k] = v
	}
	for k, v := range top.keys {
		out.keys[k] = out.keys[k].over(v)
	}
	return out
}

// from is a place in a layer from outside: here, it is where the layer is named.
func (p *place) from(layer Layer) *place {
	if p == nil {
		return nil
	}
	out := &place{where: func() Position { return layer.Where }, inside: p.where}
	if p.keys != nil {
		out.keys = map[string]*place{}
		for k, v := range p.keys {
			out.keys[k] = v.from(layer)
		}
	}
	for _, item := range p.items {
		out.items = append(out.items, item.from(layer))
	}
	return out
}

// placeOf is the place of what a single value makes: all of it is written there.
func (p *part) placeOf(v any) *place {
	out := &place{where: func() Position { return p.Where }, reason: p.Unknown}
	switch v := v.(type) {
	case map[string]any:
		out.keys = map[string]*place{}
		for k, value := range v {
			out.keys[k] = p.placeOf(value)
		}
	case []any:
		for _, value := range v {
			out.items = append(out.items, p.placeOf(value))
		}
	}
	return out
}

// placeOfField is the place of a field of an object. variables says that a ${} in a text is a variable that Flux puts a
// value in for.
func placeOfField(f *field, variables bool) *place {
	out := &place{where: func() Position { return f.position() }}
	text, _ := f.scalar.(string)
	switch {
	case f.fields != nil:
		out.keys = make(map[string]*place, len(f.keys))
		for _, k := range f.keys {
			out.keys[k] = placeOfField(f.fields[k], variables)
		}
	case f.list:
		for _, item := range f.items {
			out.items = append(out.items, placeOfField(item, variables))
		}
	case f.unknown:
		out.reason = "it depends on what only the cluster has"
	case variables:
		out.reason = variableIn(text)
	}
	return out
}

func variableIn(text string) string {
	if found := unset.FindString(text); found != "" {
		return fmt.Sprintf("nothing of this repository puts a value in for %.80s}", found)
	}
	return ""
}

// placeOfNode is the place of a node of a text; where says of a node where it stands in the repository.
func placeOfNode(n *yaml.Node, where func(*yaml.Node) Position, variables bool) *place {
	if n = doc.Deref(n); n == nil {
		return nil
	}
	out := &place{where: func() Position { return where(n) }}
	switch n.Kind {
	case yaml.MappingNode:
		out.keys = map[string]*place{}
		for key, value := range doc.Fields(n) {
			below := placeOfNode(value, where, variables)
			if truth, ok := doc.Bool(key); ok {
				out.keys[strconv.FormatBool(truth)] = below // as Helm reads it
			}
			out.keys[doc.Key(key)] = below
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			out.items = append(out.items, placeOfNode(c, where, variables))
		}
	case yaml.ScalarNode:
		if variables {
			out.reason = variableIn(n.Value)
		}
	}
	return out
}
