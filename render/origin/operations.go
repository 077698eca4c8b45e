package origin

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// operations runs a JSON patch (RFC 6902) on a resource.
func (s *transformation) operations(w writer, patch *yaml.Node, i *item) {
	for _, op := range patch.Content {
		op = doc.Deref(op)
		to := doc.Tokens(doc.Text(op, "path"))
		if len(to) == 0 || !s.room() {
			continue
		}
		switch name := doc.Text(op, "op"); name {
		case "add", "replace":
			if key, n := doc.Field(op, "value"); n != nil {
				insert(i.root, to, s.made(w.value(n, key)), name == "replace")
			}
		case "remove":
			remove(i.root, to, w.lines(op))
		case "move":
			if v := remove(i.root, doc.Tokens(doc.Text(op, "from")), w.lines(op)); v != nil {
				insert(i.root, to, v, false)
			}
		case "copy":
			if v := lookup(i.root, doc.Tokens(doc.Text(op, "from"))); v != nil {
				if v = s.copyOf(v); v != nil {
					insert(i.root, to, v, false)
				}
			}
		}
	}
}

// copyOf copies a value; nil where the limit of the simulation is reached.
func (s *transformation) copyOf(v *value) *value {
	n := v.size(maxValues)
	if s.copied += n; s.copied > maxValues {
		return nil
	}
	return v.clone()
}

func lookup(v *value, path []string) *value {
	for _, token := range path {
		switch {
		case v == nil:
			return nil
		case v.kind == yaml.SequenceNode:
			k := index(token)
			if k < 0 || k >= len(v.items) {
				return nil
			}
			v = v.items[k]
		default:
			v = v.get(token)
		}
	}
	return v
}

// parent returns the container of the last element of a path.
func parent(root *value, path []string) (*value, string) {
	if len(path) == 0 {
		return nil, ""
	}
	return lookup(root, path[:len(path)-1]), path[len(path)-1]
}

// insert puts a value at a path. In a list it is put before the element there, or replaces it.
func insert(root *value, path []string, v *value, instead bool) {
	holder, token := parent(root, path)
	switch k := index(token); {
	case holder == nil:
	case holder.kind == yaml.MappingNode:
		holder.set(token, v)
	case instead && k >= 0 && k < len(holder.items):
		v.replaces(holder.items[k])
		holder.items[k] = v
	case instead:
	case token == "-":
		holder.items = append(holder.items, v)
	case k >= 0 && k <= len(holder.items):
		holder.items = slices.Insert(holder.items, k, v)
	}
}

func remove(root *value, path []string, by mark) *value {
	holder, token := parent(root, path)
	if holder == nil {
		return nil
	}
	v := lookup(holder, path[len(path)-1:])
	if holder.kind == yaml.MappingNode {
		holder.take(token, by)
	} else if k := index(token); v != nil {
		holder.items = slices.Delete(holder.items, k, k+1)
	}
	return v
}
