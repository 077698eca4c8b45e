package roots

import (
	"path"
	"slices"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// takenOver lists the roots of either tree that are none in the other, or have other files, though nothing of them need
// have changed: a kustomization that did took them over, or gave them up.
func takenOver(base, head *Set, changed []string) (list []Root) {
	seen := map[Root]bool{}
	visit := func(root Root, differs func() bool) {
		if !seen[root] {
			seen[root] = true
			if differs() {
				list = append(list, root)
			}
		}
	}
	for _, p := range changed {
		if !kustomization.IsFileName(p) {
			continue
		}
		for _, side := range []*Set{base, head} {
			dirs, files := side.below(path.Dir(p))
			for _, dir := range dirs {
				root := Root{Path: dir}
				visit(root, func() bool { return base.stands(root) != head.stands(root) && base.Has(root) != head.Has(root) })
			}
			for _, file := range files {
				root := Root{Path: path.Dir(file), Kind: Folder}
				if base.Loose(file) != head.Loose(file) {
					visit(root, func() bool { return base.Has(root) || head.Has(root) })
				}
			}
		}
	}
	return list
}

// below lists the folders with a kustomization that the one of a folder takes over, directly or not, and the files.
func (s *Set) below(dir string) (dirs, files []string) {
	seen := map[string]bool{dir: true}
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		f, err := s.Kustomization(queue[0])
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
			real, e, err := s.Tree().Lookup(named)
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

// Below lists the folders whose kustomizations that of a folder takes over, directly or not.
func (s *Set) Below(dir string) []string {
	dirs, _ := s.below(dir)
	return dirs
}

// TakesOver reports whether a root has another, of the same tree or of an earlier or later one, as a part: it takes
// over the kustomization of its folder.
func (s *Set) TakesOver(root, part Root) bool {
	return root.Kind == Kustomization && part.Kind == Kustomization && root.Path != part.Path &&
		slices.Contains(s.Above(map[string]bool{part.Path: true}), root.Path)
}
