package roots

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// isBelow reports whether a folder is inside another one.
func isBelow(dir, other string) bool {
	return dir != other && (other == "." || strings.HasPrefix(dir, other+"/"))
}

// isData reports whether a manifest is there for objects to be generated of it, and not to be deployed: all that its folder
// has is, now and in the earlier tree, by live kustomizations above it, and nothing deploys the folder. The kustomization at
// the top of the repository has no such folders.
func (x *Index) isData(p string) bool {
	dir := path.Dir(p)
	return !x.filter.isDeployed(dir) && x.isDataOfOne(p) && x.onlyData(dir) &&
		(x.options.Before == nil || x.options.Before.onlyData(dir))
}

// onlyData reports whether all manifests of a folder are data; they are where there are none.
func (x *Index) onlyData(dir string) bool {
	known, ok := x.dataFolders.Load(dir)
	if !ok {
		entries, _ := x.Tree().ReadDir(dir) // nil where there is no folder
		known = !slices.ContainsFunc(entries, func(e tree.Entry) bool {
			p := path.Join(dir, e.Name)
			return e.Kind != tree.Dir && graph.IsManifestName(p) && x.holdsObjects(p) && !x.isDataOfOne(p)
		})
		x.dataFolders.Store(dir, known)
	}
	return known.(bool)
}

// isDataOfOne reports whether a live kustomization in a folder above a file generates an object of it.
func (x *Index) isDataOfOne(p string) bool {
	return slices.ContainsFunc(x.NamedBy(p), func(dir string) bool {
		f, err := x.Kustomization(dir)
		return dir != "." && isBelow(path.Dir(p), dir) && f != nil && err == nil && x.IsLive(dir) &&
			slices.ContainsFunc(f.Refs, func(r kustomization.Ref) bool {
				named, ok := tree.Clean(path.Join(dir, r.Value))
				return ok && named == p && r.Role == kustomization.Data
			})
	})
}
