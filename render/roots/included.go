package roots

import (
	"path"
	"slices"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Included lists the folders and the files that the kustomization of a folder includes, directly or not.
func (x *Index) Included(dir string) (dirs, files []string) {
	seen := map[string]bool{dir: true}
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		f, err := x.Kustomization(queue[0])
		if f == nil || err != nil {
			continue
		}
		for _, ref := range f.Refs {
			if ref.Role != kustomization.Resource && ref.Role != kustomization.Component || kustomization.Remote(ref.Value) {
				continue
			}
			named, ok := tree.Clean(path.Join(f.Dir, ref.Value))
			if !ok {
				continue
			}
			real, e, err := x.Tree().Lookup(named)
			switch {
			case err != nil || seen[real]:
			case e.Kind == tree.Dir:
				seen[real] = true
				dirs, queue = append(dirs, real), append(queue, real)
			default:
				seen[real] = true
				files = append(files, real)
			}
		}
	}
	return dirs, files
}

// Includes reports whether a root includes the kustomization of another root, which may be of an earlier or later tree.
func (x *Index) Includes(root, part Root) bool {
	return root.Kind == Kustomization && part.Kind == Kustomization && root.Path != part.Path &&
		slices.Contains(x.Ancestors(map[string]bool{part.Path: true}), root.Path)
}
