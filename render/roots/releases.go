package roots

import "github.com/lintel-bot/lintel/render/gitops"

// Released reports whether what an object deploys is a release of a chart that is a root of the tree, as far as its
// objects were read.
func (s *Set) Released(object gitops.Reference) bool {
	for _, one := range s.deployed.known() {
		if one.Release != nil && one.Object == object {
			return true
		}
	}
	return false
}
