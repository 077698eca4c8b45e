package roots

import (
	"maps"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/gitops"
)

// Released reports whether what an object deploys is a release of a chart that is a root of the tree, or a problem says
// why that is not known, as far as the objects were read.
func (s *Set) Released(object gitops.Reference) bool {
	for _, one := range s.deployed.known() {
		if one.Release != nil && one.Object == object {
			return true
		}
	}
	return slices.ContainsFunc(s.Problems(), func(p gitops.Problem) bool { return p.Object == object })
}

// Brought lists the roots of which not all that they deploy is in files of the tree, sorted: releases of charts, folders
// of other repositories, and kustomizations that take something from there or from a chart. It reads every object that
// deploys something, but no chart from elsewhere that may print more.
func (s *Set) Brought() []Root {
	list := slices.Collect(maps.Keys(s.bringing()))
	if s.deploys {
		s.deployed.interesting(nil, nil)
	}
	for _, one := range s.deployed.sorted() {
		if one.Release == nil && one.Elsewhere == nil {
			continue
		}
		if root, ok := s.deployed.root(one); ok {
			list = append(list, root)
		}
	}
	return s.chosen(list)
}

// IsBrought reports whether a root is one of those.
func (s *Set) IsBrought(root Root) bool {
	one := s.deployed.of(root)
	return one != nil && (one.Release != nil || one.Elsewhere != nil) || s.bringing()[root]
}

// bringing are the kustomizations among them.
func (s *Set) bringing() map[Root]bool {
	s.brings.once.Do(func() {
		const generator = "HelmChartInflationGenerator"
		files := slices.DeleteFunc(s.Mentions(generator), func(p string) bool { return !s.Holds(p, generator) })
		for _, dir := range s.Bringing() {
			if f, err := s.Kustomization(dir); f != nil && err == nil {
				files = append(files, f.Path)
			}
		}
		s.brings.roots = map[Root]bool{}
		for _, root := range s.Reach(files, nil) {
			if root.Kind != Folder && root.Kind != Chart {
				s.brings.roots[root] = true
			}
		}
	})
	return s.brings.roots
}

// brings are what Set.bringing returns.
type brings struct {
	once  sync.Once
	roots map[Root]bool
}
