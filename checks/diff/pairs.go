package diff

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// Pair is one resource of a root before and after the change: an admission review to be.
type Pair struct {
	Root      roots.Root
	Operation admission.Operation
	Old, New  *render.Resource // nil on the side that has none
}

// Resource returns the one that the review is about: the new one, or of a deletion the old one.
func (p *Pair) Resource() *render.Resource {
	if p.New != nil {
		return p.New
	}
	return p.Old
}

// Key identifies an object across versions of its API, as the API server does: by group, kind, namespace and name.
type Key struct{ Group, Kind, Namespace, Name string }

// KeyOf returns the key of a resource.
func KeyOf(r *render.Resource) Key {
	id := admission.IdentityOf(r.Object)
	return Key{id.Group, id.Kind, id.Namespace, id.Name}
}

// Pairs matches the resources of one root at both commits. What did not change is left out, unless all is set.
func Pairs(root roots.Root, before, after []*render.Resource, all bool) []*Pair {
	olds := map[Key]*render.Resource{}
	for _, r := range before {
		olds[KeyOf(r)] = r
	}
	var list []*Pair
	seen := map[Key]bool{}
	for _, r := range after {
		k := KeyOf(r)
		seen[k] = true
		old := olds[k]
		switch {
		case old == nil:
			list = append(list, &Pair{Root: root, Operation: admission.Create, New: r})
		case all || !same(old, r):
			list = append(list, &Pair{Root: root, Operation: admission.Update, Old: old, New: r})
		}
	}
	for _, r := range before {
		if !seen[KeyOf(r)] {
			list = append(list, &Pair{Root: root, Operation: admission.Delete, Old: r})
		}
	}
	return list
}

// same reports whether there is nothing to say about a resource that was not said before.
func same(a, b *render.Resource) bool {
	return reflect.DeepEqual(a.Object, b.Object) && slices.Equal(a.Issues, b.Issues)
}

// Both lists the resources of one side that the other has, too.
func Both(before, after []*render.Resource) []*render.Resource {
	seen := map[Key]bool{}
	for _, r := range after {
		seen[KeyOf(r)] = true
	}
	return slices.DeleteFunc(slices.Clone(before), func(r *render.Resource) bool { return !seen[KeyOf(r)] })
}

// Join turns a removal in one root and an addition of the same object in another into the move it is: an
// update, if anything changed at all. Objects that several roots add or remove stay as they are, since
// which of them moved is anybody's guess. Of the removals in moved, those that are not part of a move do not count.
func Join(list, moved []*Pair) []*Pair {
	created, deleted := map[Key][]*Pair{}, map[Key][]*Pair{}
	for _, p := range slices.Concat(list, moved) {
		switch p.Operation {
		case admission.Create:
			created[KeyOf(p.New)] = append(created[KeyOf(p.New)], p)
		case admission.Delete:
			deleted[KeyOf(p.Old)] = append(deleted[KeyOf(p.Old)], p)
		}
	}
	drop := map[*Pair]bool{}
	for k, from := range deleted {
		to := created[k]
		if len(from) != 1 || len(to) != 1 {
			continue
		}
		drop[from[0]] = true
		if same(from[0].Old, to[0].New) {
			drop[to[0]] = true
			continue
		}
		to[0].Operation, to[0].Old = admission.Update, from[0].Old
	}
	var out []*Pair
	for _, p := range list {
		if !drop[p] {
			out = append(out, p)
		}
	}
	return out
}

// StableField rewrites a pointer so that it survives other elements of a list coming and going: an index becomes the
// element's name where it has one.
func StableField(object any, pointer string) string {
	parts := strings.Split(pointer, "/")
	for i := 1; i < len(parts); i++ {
		_, inList := object.([]any)
		child, ok := jsonpointer.Child(object, jsonpointer.Unescape(parts[i]))
		if !ok {
			break
		}
		object = child
		if m, ok := child.(map[string]any); ok && inList {
			if name, ok := m["name"].(string); ok && name != "" {
				parts[i] = "[name=" + name + "]"
			}
		}
	}
	return strings.Join(parts, "/")
}
