package roots

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/tree"
)

// maxAliases limits how many files below linked folders are visited.
const maxAliases = 200_000

// maxLinkSteps limits through how many nested symlinks a changed file is followed.
const maxLinkSteps = 8

// aliases lists the paths through symlinks to changed files, and the targets of changed symlinks. A symlink to one of
// its own parent folders is skipped.
func (x *Index) aliases(changed, links []string) (list []string) {
	is := setOf(links)
	var leads [][2]string // pairs of a symlink and its target
	for _, l := range x.Links() {
		real, e, err := x.Tree().Lookup(l)
		if err != nil || real == "." || strings.HasPrefix(l, real+"/") {
			continue
		}
		leads = append(leads, [2]string{l, real})
		switch {
		case is[l] && e.Kind == tree.Dir:
			filesBelow(x.Tree(), l, &list)
		case is[l] && e.Kind == tree.File:
			list = append(list, l)
		}
	}
	found := slices.Concat(changed, list)
	for range maxLinkSteps {
		var more []string
		for _, lead := range leads {
			l, real := lead[0], lead[1]
			for _, p := range found {
				if len(list)+len(more) >= maxAliases {
					return append(list, more...)
				}
				if rest, below := strings.CutPrefix(p, real+"/"); below {
					more = append(more, path.Join(l, rest))
				} else if p == real {
					more = append(more, l)
				}
			}
		}
		if len(more) == 0 {
			break
		}
		list, found = append(list, more...), more
	}
	return list
}

// filesBelow adds the files of a folder and of folders below it.
func filesBelow(t *tree.Tree, dir string, list *[]string) {
	entries, err := t.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		switch p := path.Join(dir, e.Name); {
		case len(*list) >= maxAliases:
			return
		case e.Kind == tree.Dir:
			filesBelow(t, p, list)
		default:
			*list = append(*list, p)
		}
	}
}

// movedByLink reports whether a path leads through a symlink to a manifest that is part of a root at its own place,
// unless that is in the folder of another cluster.
func (x *Index) movedByLink(p string) bool {
	real, _, err := x.Tree().Lookup(p)
	return err == nil && real != p && x.Selects(path.Dir(real)) && x.Unreferenced(real) &&
		!gitops.ClusterOfFolder(path.Dir(p)).Apart(gitops.ClusterOfFolder(path.Dir(real)))
}

// Dangling reports whether a path is a symlink with the name of a manifest, or to a folder of manifests, whose target
// does not exist in the repository.
func (x *Index) Dangling(p string) bool {
	e, err := x.Tree().Entry(p)
	if err != nil || e.Kind != tree.Symlink || x.concealed(p) || ofChart(x, p) {
		return false
	}
	_, _, err = x.Tree().Lookup(p)
	if !errors.Is(err, tree.ErrNotExist) {
		return false
	}
	dir := path.Dir(p)
	return x.owner(dir) == Folder && (x.unreferenced(p) || path.Ext(p) == "" && len(x.manifests(dir, 1)) > 0)
}
