package rendered

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// edit is the change of one resource of a root. old and new are nil where the resource does not exist.
type edit struct {
	root      roots.Root
	operation admission.Operation
	old, new  *render.Resource
	from      roots.Root // root that deployed the resource before and no longer does; the zero value: none

	places map[side]origin.Place // a cache
}

// side is a field of the old or the new resource of an edit.
type side struct {
	old     bool
	pointer string
}

// moved reports whether another root deployed the resource before.
func (e *edit) moved() bool { return e.from != roots.Root{} }

// replaces reports whether the resource is created in place of another one, which is deleted.
func (e *edit) replaces() bool { return e.operation == admission.Create && e.old != nil && !e.moved() }

// versions returns the resource before and after; nil where it does not exist.
func (e *edit) versions() (was, now map[string]any) {
	if e.old != nil {
		was = e.old.Made()
	}
	if e.new != nil {
		now = e.new.Made()
	}
	return was, now
}

func (e *edit) named() report.Resource {
	if e.new != nil {
		return review.Named(e.new.Object)
	}
	return review.Named(e.old.Object)
}

// hashed matches the name of a generated object. kustomize appends a hash of its content, in an alphabet that forms no
// words (https://github.com/kubernetes-sigs/kustomize/blob/master/api/hasher/hasher.go).
var hashed = regexp.MustCompile(`^(.+)-[2456789bcdfghkmt]{10}$`)

// stem is the identity of a generated object without its hash.
type stem struct {
	root                  roots.Root
	kind, namespace, name string
}

// left is a resource that a root no longer deploys.
type left struct {
	root roots.Root
	diff.Key
}

// editsOf converts pairs to the edits that are shown, sorted by root, then by resource. A generated object that gets
// another hash is one edit, and so is an object that moves from a former root to another root.
func editsOf(pairs []*diff.Pair) (list []*edit) {
	created, deleted := map[stem][]*edit{}, map[stem][]*edit{}
	gone := map[left]bool{}
	for _, p := range pairs {
		e := &edit{root: p.Root, operation: p.Operation, new: p.New, places: map[side]origin.Place{}}
		if p.Operation != admission.Create {
			e.old = p.Old
		}
		if p.Operation == admission.Create && p.Before != nil {
			e.old, e.from = p.Before, p.From
			gone[left{cmp.Or(p.From, p.Root), diff.KeyOf(p.Before)}] = true
		}
		list = append(list, e)
		named := e.named()
		match := hashed.FindStringSubmatch(named.Name)
		if match == nil || named.APIVersion != "v1" || named.Kind != "ConfigMap" && named.Kind != "Secret" {
			continue
		}
		of := stem{p.Root, named.Kind, named.Namespace, match[1]}
		switch {
		case p.Operation == admission.Create && e.old == nil:
			created[of] = append(created[of], e)
		case p.Operation == admission.Delete:
			deleted[of] = append(deleted[of], e)
		}
	}
	drop := map[*edit]bool{}
	for of, news := range created {
		if olds := deleted[of]; len(news) == 1 && len(olds) == 1 {
			news[0].old, drop[olds[0]] = olds[0].old, true
		}
	}
	list = slices.DeleteFunc(list, func(e *edit) bool {
		return drop[e] || e.operation == admission.Delete && gone[left{e.root, diff.KeyOf(e.old)}]
	})
	slices.SortStableFunc(list, func(a, b *edit) int {
		return cmp.Or(roots.Compare(a.root, b.root), compareResources(a.named(), b.named()))
	})
	return list
}
