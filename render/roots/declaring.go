package roots

import (
	"path"
	"slices"

	"github.com/lintel-bot/lintel/render/kustomization"
)

// Declaring lists the kustomizations that are roots and may have objects of a kind, and the manifests that may have
// such objects and are part of their folder's root, both sorted. What objects of Argo CD and Flux deploy is not listed.
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
