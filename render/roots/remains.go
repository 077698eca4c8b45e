package roots

import "slices"

// Remains reports whether what was a root of an earlier tree is still there, though it may not be one any more:
// included by another kustomization, made a component, named as data, declared a part of a chart. Whoever deploys the
// folder does not know, and a change must not take out of sight what it edits.
func (s *Set) Remains(before *Set, root Root) bool {
	switch {
	case root.Object != "" || !s.Selects(root):
		return false
	case root.Kind == Folder:
		return len(s.RemainingFiles(before, root)) > 0
	}
	f, err := s.Kustomization(root.Path)
	return f != nil || err != nil
}

// RemainingFiles lists the manifests of a folder now, and those it had in an earlier tree that are still files. Where
// the folder has a kustomization by now, that says what is deployed.
func (s *Set) RemainingFiles(before *Set, root Root) []string {
	if f, err := s.Kustomization(root.Path); f != nil || err != nil {
		return nil
	}
	files := s.Files(root)
	for _, p := range before.Files(root) {
		if s.isFile(p) {
			files = append(files, p)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
