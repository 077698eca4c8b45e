package deploy

import (
	"slices"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// CreatedNamespace returns the Namespace that what deploys a root creates if the cluster lacks it; nil: it creates none.
func (s *Set) CreatedNamespace(root roots.Root) *render.Resource {
	one := s.found().of(root)
	if one == nil {
		return nil
	}
	object, place := one.CreatedNamespace()
	if object == nil {
		return nil
	}
	out := render.NewResource(object, func(pointer string) origin.Place {
		at, exact := place(pointer)
		p := origin.Place{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(1, at.Line, at.EndLine), How: origin.Writer}
		if !exact {
			p.How, p.Missing, p.SuggestedFix = origin.Enclosing, pointer, one.Created.Fix
		}
		return p
	})
	out.Created = true
	return out
}

// Into lists the roots that are deployed to a namespace, as far as the objects that deploy them name it.
func (s *Set) Into(namespace string) (list []roots.Root) {
	w := s.found()
	for _, one := range w.ordered().into[namespace] {
		if w.isLive(one) {
			list = append(list, one.root())
		}
	}
	return slices.Compact(list)
}
