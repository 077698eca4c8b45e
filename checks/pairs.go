package checks

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// pair is one resource of a root before and after the change: an admission review to be.
type pair struct {
	root      roots.Root
	operation admission.Operation
	old, new  *render.Resource // nil on the side that has none
}

// resource is the one the review is about.
func (p *pair) resource() *render.Resource {
	if p.new != nil {
		return p.new
	}
	return p.old
}

// key identifies an object across versions of its API, as the API server does: by group, kind, namespace and
// name.
type key struct{ group, kind, namespace, name string }

func keyOf(r *render.Resource) key {
	id := admission.IdentityOf(r.Object)
	return key{id.Group, id.Kind, id.Namespace, id.Name}
}

// pairs matches the resources of one root at both commits. What did not change is left out, unless all is set.
func pairs(root roots.Root, before, after []*render.Resource, all bool) []*pair {
	olds := map[key]*render.Resource{}
	for _, r := range before {
		olds[keyOf(r)] = r
	}
	var list []*pair
	seen := map[key]bool{}
	for _, r := range after {
		k := keyOf(r)
		seen[k] = true
		old := olds[k]
		switch {
		case old == nil:
			list = append(list, &pair{root: root, operation: admission.Create, new: r})
		case all || !reflect.DeepEqual(old.Object, r.Object):
			list = append(list, &pair{root: root, operation: admission.Update, old: old, new: r})
		}
	}
	for _, r := range before {
		if !seen[keyOf(r)] {
			list = append(list, &pair{root: root, operation: admission.Delete, old: r})
		}
	}
	return list
}

// both lists the resources of one side that the other has, too.
func both(before, after []*render.Resource) []*render.Resource {
	seen := map[key]bool{}
	for _, r := range after {
		seen[keyOf(r)] = true
	}
	return slices.DeleteFunc(slices.Clone(before), func(r *render.Resource) bool { return !seen[keyOf(r)] })
}

// join turns a removal in one root and an addition of the same object in another into the move it is: an
// update, if anything changed at all. Objects that several roots add or remove stay as they are, since
// which of them moved is anybody's guess. Of the removals in moved, those that are no part of a move do not count.
func join(list, moved []*pair) []*pair {
	created, deleted := map[key][]*pair{}, map[key][]*pair{}
	for _, p := range slices.Concat(list, moved) {
		switch p.operation {
		case admission.Create:
			created[keyOf(p.new)] = append(created[keyOf(p.new)], p)
		case admission.Delete:
			deleted[keyOf(p.old)] = append(deleted[keyOf(p.old)], p)
		}
	}
	drop := map[*pair]bool{}
	for k, from := range deleted {
		to := created[k]
		if len(from) != 1 || len(to) != 1 {
			continue
		}
		drop[from[0]] = true
		if reflect.DeepEqual(from[0].old.Object, to[0].new.Object) {
			drop[to[0]] = true
			continue
		}
		to[0].operation, to[0].old = admission.Update, from[0].old
	}
	var out []*pair
	for _, p := range list {
		if !drop[p] {
			out = append(out, p)
		}
	}
	return out
}

// stableField rewrites a pointer so that it survives other elements of a list coming and going: an index
// becomes the element's name where it has one.
func stableField(object any, pointer string) string {
	parts := strings.Split(pointer, "/")
	for i := 1; i < len(parts); i++ {
		token := strings.ReplaceAll(strings.ReplaceAll(parts[i], "~1", "/"), "~0", "~")
		switch at := object.(type) {
		case map[string]any:
			object = at[token]
		case []any:
			k := index(token)
			if k < 0 || k >= len(at) {
				return strings.Join(parts, "/")
			}
			object = at[k]
			if m, ok := object.(map[string]any); ok {
				if name, ok := m["name"].(string); ok && name != "" {
					parts[i] = "[name=" + name + "]"
				}
			}
		default:
			return strings.Join(parts, "/")
		}
	}
	return strings.Join(parts, "/")
}

// index reads a list index of a pointer, -1 if it is none.
func index(token string) int {
	if token == "" || len(token) > 9 {
		return -1
	}
	n := 0
	for _, c := range token {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
