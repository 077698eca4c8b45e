package checks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// only returns the roots of both sides that the names stand for; nil selects all roots. It fails for a name that stands
// for no root or for several.
func only(trees *diff.Trees, names []report.RootName) ([]roots.Root, error) {
	var list []roots.Root
	for _, name := range names {
		found, err := named(trees, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name.Name, err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// named returns the roots of one name. It tries the meanings of the name in order, and takes the first one that either
// side has.
func named(trees *diff.Trees, name report.RootName) (list []roots.Root, err error) {
	first := errors.New("this is neither a path in the repository nor a name listed by \"lintel roots\"")
	for _, meaning := range append(slices.Clone(name.Paths), path.Clean(name.Name)) {
		for _, set := range []*deploy.Set{trees.Head.Roots, trees.Base.Roots} {
			if set == nil {
				continue
			}
			root, err := set.Find(meaning)
			if ambiguous := (*deploy.AmbiguousNameError)(nil); errors.As(err, &ambiguous) {
				return nil, err
			}
			if err == nil && !slices.Contains(list, root) {
				list = append(list, root)
			}
			first = err
		}
		if len(list) > 0 {
			return list, nil
		}
		if e, err := trees.Head.Tree.Entry(meaning); err == nil && e.Kind == tree.File {
			return nil, errors.New("this is a file: name the root that has it, as \"lintel roots\" lists it")
		}
	}
	return nil, first
}

// narrow removes everything that is not about the given roots.
func (p *pairs) narrow(list []roots.Root) {
	is := func(root roots.Root) bool {
		return slices.ContainsFunc(list, func(one roots.Root) bool { // a folder may be a root of two kinds
			return one.Path == root.Path && one.Object == root.Object
		})
	}
	isPair := func(pair *diff.Pair) bool { return is(pair.Root) }
	names := map[string]bool{}
	for _, root := range list {
		names[root.Name()] = true
	}
	p.others = len(p.roots)
	p.roots = slices.Clone(p.roots)
	p.roots = slices.DeleteFunc(p.roots, func(r *diff.Root) bool { return !is(r.Root) })
	p.others -= len(p.roots)
	p.charts = 0
	for _, pairs := range []*[]*diff.Pair{&p.list, &p.asking, &p.alone} {
		*pairs = slices.DeleteFunc(*pairs, func(pair *diff.Pair) bool { return !isPair(pair) })
	}
	p.notChecked = slices.DeleteFunc(p.notChecked, func(n report.NotChecked) bool {
		return !slices.ContainsFunc(strings.Split(n.Root, ", "), func(name string) bool { return names[name] })
	})
}
