package roots

import (
	"path"
	"slices"

	"github.com/lintel-bot/lintel/render/kustomization"
)

// Declaring lists the kustomizations that are roots by themselves and may have objects of a kind in them, and the
// manifests that may and are part of their folder's own root, both sorted. What objects of Argo CD and Flux bring is not
// among them.
func (s *Set) Declaring(kind string) (kustomizations []Root, files []string) {
	dirs := map[string]bool{}
	for _, p := range s.Mentions(kind) {
		switch {
		case kustomization.IsFileName(p):
			dirs[path.Dir(p)] = true
		case s.Loose(p):
			files = append(files, p)
		default:
			for _, dir := range s.Taking(p) {
				dirs[dir] = true
			}
		}
	}
	for dir := range dirs {
		if !s.Live(dir, s.counts) {
			delete(dirs, dir)
		}
	}
	kustomizations = s.rootsOver(dirs)
	slices.SortFunc(kustomizations, Compare)
	return kustomizations, files
}
