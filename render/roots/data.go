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

// isData reports whether a manifest is only data of a generator, and not deployed itself. This is so if all manifests
// of its folder are used as data by live kustomizations above, now and in the earlier tree, and nothing deploys the
// folder. Data of the kustomization at the top of the repository does not count.
func (x *Index) isData(p string) bool {
	dir := path.Dir(p)
	return !x.filter.isDeployed(dir) && x.isDataOfOne(p) && x.onlyData(dir) &&
		(x.options.Before == nil || x.options.Before.onlyData(dir))
}

// onlyData reports whether all manifests of a folder are data. It is true where there are none.
func (x *Index) onlyData(dir string) bool {
	known, ok := x.dataFolders.Load(dir)
	if !ok {
		entries, _ := x.Tree().ReadDir(dir) // nil where the folder does not exist
		known = !slices.ContainsFunc(entries, func(e tree.Entry) bool {
			p := path.Join(dir, e.Name)
			return e.Kind != tree.Dir && graph.IsManifestName(p) && x.holdsObjects(p) && !x.isDataOfOne(p)
		})
		x.dataFolders.Store(dir, known)
	}
	return known.(bool)
}

// isDataOfOne reports whether a live kustomization in a folder above uses a file as data of a generator.
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
