package render

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// Field is one field of a rendered resource: a map's entry or a list's element.
type Field struct {
	Pointer string     // RFC 6901, into the resource
	Node    *yaml.Node // the value, aliases replaced by what they stand for. Do not change it.
}

// Scalar says whether the field holds neither a map nor a list.
func (f Field) Scalar() bool { return f.Node.Kind == yaml.ScalarNode }

// Fields lists every field of the resource in the order it is printed, a map or list before what it holds.
func (r *Resource) Fields() []Field {
	var list []Field
	collect(r.node, "", &list)
	return list
}

func collect(n *yaml.Node, pointer string, list *[]Field) {
	add := func(token string, value *yaml.Node) {
		value = source.Deref(value)
		p := pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
		*list = append(*list, Field{Pointer: p, Node: value})
		collect(value, p, list)
	}
	switch n = source.Deref(n); n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			collect(c, pointer, list)
		}
	case yaml.MappingNode:
		seen := map[string]bool{}
		for _, key := range keys(n) {
			if !seen[key] {
				seen[key] = true
				if _, value := source.Field(n, key); value != nil {
					add(key, value)
				}
			}
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			add(strconv.Itoa(i), c)
		}
	}
}

// keys lists the keys of a map and of what it merges in, with repetitions.
func keys(n *yaml.Node) []string {
	var list []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], source.Deref(n.Content[i+1])
		switch {
		case key.Tag != "!!merge":
			list = append(list, key.Value)
		case value.Kind == yaml.MappingNode:
			list = append(list, keys(value)...)
		case value.Kind == yaml.SequenceNode:
			for _, c := range value.Content {
				if c = source.Deref(c); c.Kind == yaml.MappingNode {
					list = append(list, keys(c)...)
				}
			}
		}
	}
	return list
}

// Value is what the field holds as JSON, numbers as int64 where whole, else float64.
func (f Field) Value() any { return toJSON(f.Node) }
