package graph

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Reach lists the roots that a change of the given paths can change, sorted. It follows the kustomizations upwards
// from what changed and looks at no others.
func (g *Graph) Reach(changed []string) []Root {
	dirty, plain := g.touched(changed)
	list := g.rootsAbove(dirty)
	for dir, is := range plain {
		if is {
			list = append(list, Root{Path: dir, Plain: true})
		}
	}
	return g.Chosen(list)
}

// Around lists the folders that a change of the given paths, and of the given symlinks, can change in any way: those
// of the kustomizations on the way up to the roots, and all folders around them and the paths.
func (g *Graph) Around(changed, links []string) []string {
	dirty, _ := g.touched(changed)
	if len(links) > 0 {
		maps.Copy(dirty, g.touchedByLinks(links))
	}
	seen := map[string]bool{".": true}
	add := func(dir string) {
		for ; !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	for _, p := range changed {
		add(path.Dir(p))
	}
	for dir := range dirty {
		add(dir)
	}
	done := map[string]bool{}
	for queue := slices.Collect(maps.Keys(dirty)); len(queue) > 0; queue = queue[1:] {
		for _, reader := range g.values(readers, queue[0]) {
			if !done[reader] {
				done[reader] = true
				add(reader)
				queue = append(queue, reader)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// touched answers the folders whose kustomization a change of the given paths can change, and those whose plain
// manifests it does.
func (g *Graph) touched(changed []string) (dirty, plain map[string]bool) {
	dirty, plain = map[string]bool{}, map[string]bool{}
	plugins := g.values(folders, plugin)
	for _, p := range changed {
		dir := path.Dir(p)
		if kustomization.IsFileName(p) {
			dirty[dir] = true
			plain[dir] = plain[dir] || len(g.Plain(dir)) > 0 // it comes, and takes the manifests over, or it went
		}
		g.mark(dirty, p)
		for up := dir; up != "."; up = path.Dir(up) {
			if !g.hasKustomization(up) { // else it is reached by what its kustomization names
				g.mark(dirty, up) // the folder may appear or vanish with its files
			}
		}
		for _, reader := range plugins {
			if reader == "." || strings.HasPrefix(p, reader+"/") {
				dirty[reader] = true
			}
		}
		plain[dir] = plain[dir] || g.plainFile(p)
	}
	return dirty, plain
}

// ReachLinks lists the roots that a change of the given symlinks can change beyond what Reach says of their paths:
// all that read anything through a link, or may.
func (g *Graph) ReachLinks(changed []string) []Root {
	return g.Chosen(g.rootsAbove(g.touchedByLinks(changed)))
}

func (g *Graph) touchedByLinks(changed []string) map[string]bool {
	dirty := map[string]bool{}
	for _, trait := range []string{linked, plugin} {
		for _, dir := range g.values(folders, trait) {
			dirty[dir] = true
		}
	}
	for _, p := range changed {
		for _, target := range g.below(readers, p) {
			g.mark(dirty, target)
		}
	}
	return dirty
}

// mark adds the folders whose kustomization names a path.
func (g *Graph) mark(dirty map[string]bool, p string) {
	for _, reader := range g.values(readers, p) {
		dirty[reader] = true
	}
}

// Chosen sorts roots and leaves out what the options do.
func (g *Graph) Chosen(list []Root) []Root {
	list = slices.DeleteFunc(list, func(r Root) bool { return !g.filter.match(r.Path) })
	slices.SortFunc(list, Compare)
	return list
}

// rootsAbove lists the roots whose kustomization includes one of the given folders, or is in one.
//
// A folder's readers are all that is asked of the index: a root is a kustomization nobody reads, and all its
// ways down to a folder pass through readers of readers of that folder.
func (g *Graph) rootsAbove(start map[string]bool) []Root {
	includes := map[string][]string{} // folder -> folders it includes, as far as they lead to the start
	included := map[string]bool{}
	seen := maps.Clone(start)
	for queue := slices.Collect(maps.Keys(start)); len(queue) > 0; queue = queue[1:] {
		dir := queue[0]
		for _, reader := range g.values(readers, dir) {
			includes[reader] = append(includes[reader], dir)
			included[dir] = true
			if !seen[reader] {
				seen[reader] = true
				queue = append(queue, reader)
			}
		}
	}
	reached := map[string]bool{}
	var list []Root
	add := func(dir string) {
		list = append(list, Root{Path: dir})
		for stack := []string{dir}; len(stack) > 0; {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !reached[top] {
				reached[top] = true
				stack = append(stack, includes[top]...)
			}
		}
	}
	var circles []string
	for _, dir := range slices.Sorted(maps.Keys(seen)) {
		switch {
		case g.has(folders, component, dir) || !g.hasKustomization(dir):
		case !included[dir]:
			add(dir)
		case !g.has(folders, broken, dir):
			circles = append(circles, dir)
		}
	}
	// What is left hangs in a circle: one root for each, so that rendering it says so.
	for _, dir := range circles {
		if !reached[dir] {
			add(dir)
		}
	}
	return list
}

// Selects says whether the options choose a root.
func (g *Graph) Selects(r Root) bool { return g.filter.match(r.Path) }

// Roots lists all roots, sorted. It looks at the whole tree.
func (g *Graph) Roots() []Root {
	dirs, plain := map[string]bool{}, map[string]bool{}
	// An error is that of the repository, which remembers it (see tree.Objects.Err).
	_ = g.tree.Walk(func(p string, e tree.Entry) error {
		switch {
		case kustomization.IsFileName(p):
			dirs[path.Dir(p)] = true
		case IsManifestName(p):
			plain[path.Dir(p)] = true
		}
		return nil
	})
	list := g.rootsAbove(dirs)
	for dir := range plain {
		if len(g.Plain(dir)) > 0 {
			list = append(list, Root{Path: dir, Plain: true})
		}
	}
	return g.Chosen(list)
}

// Has says whether a root is one of this tree.
func (g *Graph) Has(r Root) bool {
	if !g.filter.match(r.Path) {
		return false
	}
	if r.Plain {
		return len(g.Plain(r.Path)) > 0
	}
	return slices.Contains(g.rootsAbove(map[string]bool{r.Path: true}), r)
}
