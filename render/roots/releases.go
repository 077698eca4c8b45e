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
