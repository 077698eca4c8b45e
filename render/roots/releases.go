package roots

import (
	"slices"

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

// Brought lists the roots that no files of the tree show as they are deployed, sorted: releases of charts, and folders of
// other repositories. It reads every object that deploys something, but no chart from elsewhere that may print more.
func (s *Set) Brought() []Root {
	if !s.deploys {
		return nil
	}
	s.deployed.interesting(nil, nil)
	var list []Root
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
	return one != nil && (one.Release != nil || one.Elsewhere != nil)
}
