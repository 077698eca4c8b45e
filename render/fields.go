package render

import (
	"strconv"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// Field is one field of a rendered resource: a map's entry or a list's element.
type Field struct {
	Pointer string     // RFC 6901, into the resource
	Node    *yaml.Node // the value, aliases replaced by what they stand for. Do not change it.
	plain   bool       // see source.Value
}

// Scalar reports whether the field holds neither a map nor a list.
func (f Field) Scalar() bool { return f.Node.Kind == yaml.ScalarNode }

// Fields lists every field of the resource in the order it is printed, a map or list before what it holds.
func (r *Resource) Fields() []Field {
	var list []Field
	collect(r.node, "", r.plain, &list)
	return list
}

func collect(n *yaml.Node, pointer string, plain bool, list *[]Field) {
	add := func(token string, value *yaml.Node) {
		value = source.Deref(value)
		p := pointer + "/" + jsonpointer.Escape(token)
		*list = append(*list, Field{Pointer: p, Node: value, plain: plain})
		collect(value, p, plain, list)
	}
	switch n = source.Deref(n); n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			collect(c, pointer, plain, list)
		}
	case yaml.MappingNode:
		seen := map[string]bool{}
		for _, key := range source.Keys(n) {
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

// Value is what the field holds as JSON, numbers as int64 where whole, else float64.
func (f Field) Value() any { return source.Value(f.Node, f.plain) }
