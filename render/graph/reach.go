package graph

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/kustomization"
)

// Around lists the folders that a change of the given paths, and of the given symlinks, can change in any way: those
// of the kustomizations on the way up to the roots, and all folders around them and the paths.
func (g *Graph) Around(changed, links []string) []string {
	seen := map[string]bool{".": true}
	add := func(dir string) {
		for ; !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	for _, p := range changed {
		add(path.Dir(p))
	}
	for dir := range g.ancestors(g.Touched(changed, links), nil) {
		add(dir)
	}
	return slices.Sorted(maps.Keys(seen))
}

// ancestors returns the given folders and all whose kustomization includes one of them, or one of these. It calls
// visit, if there is one, for each of them and each folder whose kustomization includes it.
func (g *Graph) ancestors(start map[string]bool, visit func(dir, reader string)) map[string]bool {
	seen := maps.Clone(start)
	for queue := slices.Collect(maps.Keys(start)); len(queue) > 0; queue = queue[1:] {
		for _, reader := range g.IncludedBy(queue[0]) {
			if visit != nil {
				visit(queue[0], reader)
			}
			if !seen[reader] {
				seen[reader] = true
				queue = append(queue, reader)
			}
		}
	}
	return seen
}

// Touched returns the folders whose kustomization a change of the given paths can change, and of the given symlinks:
// that can change all that read anything through a link, or may.
func (g *Graph) Touched(changed, links []string) map[string]bool {
	dirty := map[string]bool{}
	plugins := g.values(folders, plugin)
	for _, p := range changed {
		dir := path.Dir(p)
		if kustomization.IsFileName(p) {
			dirty[dir] = true
		}
		g.mark(dirty, p)
		for up := dir; up != "."; up = path.Dir(up) {
			if !g.HasKustomization(up) { // else it is reached by what its kustomization names
				g.mark(dirty, up) // the folder may appear or vanish with its files
			}
		}
		for _, reader := range plugins {
			if reader == "." || strings.HasPrefix(p, reader+"/") {
				dirty[reader] = true
			}
		}
	}
	if len(links) > 0 {
		g.touchedByLinks(dirty, links)
	}
	return dirty
}

func (g *Graph) touchedByLinks(dirty map[string]bool, changed []string) {
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
}

// mark adds the folders whose kustomization names a path.
func (g *Graph) mark(dirty map[string]bool, p string) {
	for _, reader := range g.values(readers, p) {
		dirty[reader] = true
	}
}

// IsStandalone reports whether a folder has a kustomization that can be deployed by itself: it is no component.
func (g *Graph) IsStandalone(dir string) bool {
	return g.HasKustomization(dir) && !g.has(folders, component, dir)
}

// Live reports whether the kustomization of a folder is one that counts and can be deployed by itself, or leads to one
// by those that include it.
func (g *Graph) Live(dir string, counts func(dir string) bool) bool {
	for up := range g.ancestors(map[string]bool{dir: true}, nil) {
		if g.IsStandalone(up) && counts(up) {
			return true
		}
	}
	return false
}

// Ancestors lists the folders whose kustomization takes one of the given folders over, directly or not, and those folders
// themselves, sorted.
func (g *Graph) Ancestors(start map[string]bool) []string {
	return slices.Sorted(maps.Keys(g.ancestors(start, nil)))
}

// TopLevel lists the folders whose kustomization counts, which no other live one includes (see Live), and which takes
// over one of the given folders or is in one. Of kustomizations that include each other in a circle it lists one, so
// that rendering it says so.
//
// Who takes a folder over is all that is asked of the index: all ways from a top down to a folder pass through those.
func (g *Graph) TopLevel(start map[string]bool, counts func(dir string) bool) []string {
	includes := map[string][]string{} // folder -> folders it includes, as far as they lead to the start
	seen := g.ancestors(start, func(dir, reader string) {
		includes[reader] = append(includes[reader], dir)
	})
	live := map[string]bool{}
	var below func(dir string)
	below = func(dir string) {
		if live[dir] {
			return
		}
		live[dir] = true
		for _, next := range includes[dir] {
			below(next)
		}
	}
	for dir := range seen {
		if g.IsStandalone(dir) && counts(dir) {
			below(dir)
		}
	}
	included := map[string]bool{}
	for dir := range live {
		for _, next := range includes[dir] {
			included[next] = true
		}
	}
	reached := map[string]bool{}
	var list []string
	add := func(dir string) {
		list = append(list, dir)
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
		case !g.IsStandalone(dir) || !counts(dir):
		case !included[dir]:
			add(dir)
		case !g.has(folders, broken, dir):
			circles = append(circles, dir)
		}
	}
	// What is left hangs in a circle.
	for _, dir := range circles {
		if !reached[dir] {
			add(dir)
		}
	}
	return list
}
