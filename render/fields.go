package render

import (
	"strconv"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// Field is one field of a rendered resource: a map's entry or a list's element.
type Field struct {
	Pointer string     // RFC 6901, into the resource
	Node    *yaml.Node // the value, with aliases resolved. Do not change it.
	plain   bool       // see doc.Value
}

// Scalar reports whether the field holds neither a map nor a list.
func (f Field) Scalar() bool { return f.Node.Kind == yaml.ScalarNode }

// Fields lists every field of the resource in the order it is printed; a map or list comes before its content. In a
// resource from the cache, the fields of a map are in the order of their keys.
func (r *Resource) Fields() []Field {
	n := r.tree()
	if n == nil {
		n = &yaml.Node{}
		if n.Encode(r.Object) != nil {
			return nil // not reached: Object is JSON
		}
	}
	var list []Field
	collect(n, "", r.plain, &list)
	return list
}

func collect(n *yaml.Node, pointer string, plain bool, list *[]Field) {
	add := func(token string, value *yaml.Node) {
		value = doc.Deref(value)
		p := pointer + "/" + jsonpointer.Escape(token)
		*list = append(*list, Field{Pointer: p, Node: value, plain: plain})
		collect(value, p, plain, list)
	}
	switch n = doc.Deref(n); n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			collect(c, pointer, plain, list)
		}
	case yaml.MappingNode:
		seen := map[string]bool{}
		for _, key := range doc.Keys(n) {
			if !seen[key] {
				seen[key] = true
				if _, value := doc.Field(n, key); value != nil {
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

// DuplicateKeys lists the pointers of keys that a map of the resource has more than once. It finds none in a resource
// that kustomize built, which refuses such files, nor in one from the cache.
func (r *Resource) DuplicateKeys() (pointers []string) {
	duplicateKeys(r.node, "", &pointers)
	return pointers
}

func duplicateKeys(n *yaml.Node, pointer string, list *[]string) {
	n = doc.Deref(n)
	if n == nil {
		return
	}
	seen := map[string]int{}
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.DocumentNode:
			duplicateKeys(c, pointer, list)
		case n.Kind == yaml.SequenceNode:
			duplicateKeys(c, pointer+"/"+strconv.Itoa(i), list)
		case n.Kind == yaml.MappingNode && i%2 == 1:
			key := doc.Deref(n.Content[i-1])
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				continue
			}
			p := pointer + "/" + jsonpointer.Escape(key.Value)
			if seen[key.Value]++; seen[key.Value] == 2 {
				*list = append(*list, p)
			}
			duplicateKeys(c, p, list)
		}
	}
}

// Value returns the value of the field as JSON: whole numbers as int64, others as float64.
func (f Field) Value() any { return doc.Value(f.Node, f.plain) }
