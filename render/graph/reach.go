package graph

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Around lists the folders that a change of the given paths and symlinks may affect in any way: those of the paths,
// those of kustomizations that include them, directly or not, and all parent folders of these.
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

// ancestors returns the given folders, and all whose kustomization includes one of them, directly or not. If visit is
// not nil, it is called for each folder and each reader that includes it.
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

// Touched returns the folders whose kustomization a change of the given paths can change. A change of the given
// symlinks can change every kustomization that reads, or may read, anything through a symlink.
func (g *Graph) Touched(changed, links []string) map[string]bool {
	dirty := map[string]bool{}
	plugins := g.values(folders, plugin)
	elsewhere := map[string][]string{}
	if len(changed) > 0 {
		for _, reader := range g.values(folders, configured) {
			elsewhere[reader] = g.elsewhere(reader)
		}
	}
	for _, p := range changed {
		dir := path.Dir(p)
		if kustomization.IsFileName(p) {
			dirty[dir] = true
		}
		g.mark(dirty, p)
		for up := dir; up != "."; up = path.Dir(up) {
			if !g.HasKustomization(up) { // otherwise kustomizations that name it are reached by those
				g.mark(dirty, up) // the folder may appear or disappear with its files
			}
		}
		for up, top := p, false; !top; up = path.Dir(up) {
			for _, reader := range g.values(folders, reading+up) {
				dirty[reader] = true
			}
			top = up == "."
		}
		for _, reader := range plugins {
			if within(reader, p) || slices.ContainsFunc(elsewhere[reader], func(named string) bool { return within(named, p) }) {
				dirty[reader] = true
			}
		}
	}
	if len(links) > 0 {
		g.touchedByLinks(dirty, links)
	}
	return dirty
}

// within reports whether a path is a folder, or in or below it.
func within(dir, p string) bool { return dir == "." || p == dir || strings.HasPrefix(p, dir+"/") }

// elsewhere lists the paths outside of a folder that files with configurations of its plugins name. It is not part of the
// index, since there the facts of a kustomization depend on its own file alone.
func (g *Graph) elsewhere(dir string) (list []string) {
	if known, ok := g.outside.Load(dir); ok {
		return known.([]string)
	}
	defer func() { g.outside.Store(dir, list) }()
	f, err := g.Kustomization(dir)
	if f == nil || err != nil {
		return nil
	}
	for _, ref := range f.Refs {
		if named, ok := tree.Clean(path.Join(dir, ref.Value)); ok && ref.Role == kustomization.Plugin && IsManifestName(named) {
			if data, _, err := g.tree.ReadFile(named); err == nil {
				documents, _ := doc.Parse(named, data, g.options.Limits)
				list = append(list, outside(dir, documents)...)
			}
		}
	}
	return list
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

// IsStandalone reports whether a folder has a kustomization that can be deployed by itself: one that is no component.
func (g *Graph) IsStandalone(dir string) bool {
	return g.HasKustomization(dir) && !g.has(folders, component, dir)
}

// Live reports whether the kustomization of a folder, or one that includes it, directly or not, can be deployed by
// itself and counts.
func (g *Graph) Live(dir string, counts func(dir string) bool) bool {
	for up := range g.ancestors(map[string]bool{dir: true}, nil) {
		if g.IsStandalone(up) && counts(up) {
			return true
		}
	}
	return false
}

// Ancestors lists the given folders and those whose kustomization includes one of them, directly or not, sorted.
func (g *Graph) Ancestors(start map[string]bool) []string {
	return slices.Sorted(maps.Keys(g.ancestors(start, nil)))
}

// TopLevel lists the folders whose kustomization counts, is not included by another live one (see Live), and is in or
// includes one of the given folders. If kustomizations include each other in a circle, it lists one, so that rendering
// reports the circle.
//
// It only reads which folders include a given one, because these contain all paths from a top-level folder to the given
// ones.
func (g *Graph) TopLevel(start map[string]bool, counts func(dir string) bool) []string {
	includes := map[string][]string{} // folder -> folders that it includes, if those include a start folder
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
	// The remaining ones are in a circle.
	for _, dir := range circles {
		if !reached[dir] {
			add(dir)
		}
	}
	return list
}
