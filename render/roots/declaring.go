package roots

import (
	"path"
	"slices"

	"github.com/lintel-bot/lintel/render/kustomization"
)

// Declaring lists the kustomizations that are roots by themselves and may have objects of a kind in them, and the
// manifests that may and are part of their folder's own root, both sorted. The objects that Argo CD and Flux deploy are
// not among them.
func (x *Index) Declaring(kind string) (kustomizations []Root, files []string) {
	dirs := map[string]bool{}
	for _, p := range x.Mentions(kind) {
		switch {
		case kustomization.IsFileName(p):
			dirs[path.Dir(p)] = true
		case x.Unreferenced(p):
			files = append(files, p)
		default:
			for _, dir := range x.IncludedBy(p) {
				dirs[dir] = true
			}
		}
	}
	for dir := range dirs {
		if !x.IsLive(dir) {
			delete(dirs, dir)
		}
	}
	kustomizations = x.rootsOver(dirs)
	slices.SortFunc(kustomizations, Compare)
	return kustomizations, files
}
