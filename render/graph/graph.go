// Package graph indexes what the kustomizations of a tree refer to, and what its manifests contain. Nothing is rendered, and
// it does not know which folders are roots (see render/roots).
//
// A graph is the index of a nearby commit and the differences from it. So building one costs as much as the change is large.
package graph

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Options say what is indexed.
type Options struct {
	Limits doc.Limits
	Marks  []string // texts for Marked, which finds them in any YAML spelling
	Notes  []Notes
}

// Notes are further facts about manifests. Read calls note with each key under which Noted shall find the file. It must
// only depend on path and content.
type Notes struct {
	Of    string   // name of these notes
	Marks []string // Read is called for files that contain one of these texts, in any YAML spelling; none: for all
	Built bool     // Read is called for kustomizations, too
	Read  func(p string, data []byte, note func(key string))
}

// Graph knows what a tree's kustomizations refer to. It is immutable, safe for concurrent use, and valid as long as its
// tree can be read. Check tree.Objects.Err before using a result: after a read error, results may be incomplete.
type Graph struct {
	tree    *tree.Tree
	options Options
	cache   *Cache
	scope   string // see Cache.scope; "" for a graph that does not start from an index

	base                       *snapshot
	hiddenFolders, hiddenFiles map[string]bool // whose facts in base are outdated
	added                      *facts          // the facts that replace them

	located env.Memo[string, bool]          // by folder, results of HasKustomization
	parsed  env.Memo[string, parsed]        // by folder, results of Kustomization
	plugins env.Memo[configuring, []string] // results of configured
	named   env.Memo[string, []string]      // by path, results of Reading
}

// Tree returns the tree of the graph.
func (g *Graph) Tree() *tree.Tree { return g.tree }

// Memory returns the memory of the graph's cache, which may be nil.
func (g *Graph) Memory() *env.Memory { return g.cache.Memory }

// HasKustomization reports whether a folder has a kustomization file, even if it cannot be read.
func (g *Graph) HasKustomization(dir string) bool {
	return g.located.Get(dir, func() bool {
		p, _, err := locate(g.tree, dir)
		return p != "" || err != nil
	})
}

// Kustomization returns the parsed file of a folder, or why it could not be read. Both are nil where the folder has
// none. The file is shared: do not change it.
func (g *Graph) Kustomization(dir string) (*kustomization.File, error) {
	known := g.parsed.Get(dir, func() parsed { return g.cache.parse(g.tree, dir, g.options) })
	return known.file, known.err
}

// Named reports whether a kustomization names a file or folder.
func (g *Graph) Named(p string) bool { return len(g.values(readers, p)) > 0 }

// NamedBy lists the folders whose kustomization names a file or folder in any field, sorted.
func (g *Graph) NamedBy(p string) []string { return g.values(readers, p) }

// Reading lists the folders whose kustomization names a file, or a configuration of its plugins and charts does, in no
// order.
func (g *Graph) Reading(p string) []string {
	return g.named.Get(p, func() []string {
		list := g.NamedBy(p)
		for _, dir := range g.values(folders, plugin) {
			if slices.ContainsFunc(g.configured(configuring{dir, true}), func(named string) bool { return named != dir && within(named, p) }) {
				list = append(list, dir)
			}
		}
		return slices.Clip(list)
	})
}

// Generating lists the folders whose kustomization uses manifests in folders below it as data of a generator, sorted.
func (g *Graph) Generating() []string { return g.sorted(folders, generating) }

// Patching lists the folders whose kustomization uses a file as a patch, sorted.
func (g *Graph) Patching(p string) []string { return g.sorted(patches, p) }

// IncludedBy lists the folders whose kustomization includes a file or folder: as a resource, a base or a component, or
// as the configuration of a plugin; those of plugins come last, and both are sorted. Data of a generator is not included.
func (g *Graph) IncludedBy(p string) []string {
	return append(g.values(parents, p), g.values(plugins, p)...)
}

// IsResource reports whether a kustomization names a file or folder as one of its resources, bases or components.
func (g *Graph) IsResource(p string) bool { return len(g.values(parents, p)) > 0 }

// Odd lists the folders whose kustomization has patches that change kinds, so that no manifest contains the kinds of
// its objects.
func (g *Graph) Odd() []string { return g.sorted(folders, odd) }

// InflatedBy lists the folders whose kustomization inflates the chart in a folder. Charts in configurations of plugins are
// not detected.
func (g *Graph) InflatedBy(dir string) []string { return g.values(folders, inflating+dir) }

// External lists the folders whose kustomization includes a remote source, or the output of a chart, so that the tree
// does not have all objects. Charts in configurations of plugins are not detected.
func (g *Graph) External() []string { return g.sorted(folders, bringing) }

// Marked lists the files with the name of a manifest that contain one of Options.Marks, sorted, without kustomizations.
func (g *Graph) Marked() []string { return g.sorted(mentions, marked) }

// Links lists the symlinks of the tree, sorted.
func (g *Graph) Links() []string { return g.sorted(mentions, links) }

// HasMark reports whether a file contains one of Options.Marks (see Marked).
func (g *Graph) HasMark(p string) bool { return g.has(mentions, marked, p) }

// Mentions lists the files that contain a word as a value, and so can produce an object of the kind with that name:
// manifests, and kustomizations with a generator or a patch. Symlinks are always listed. A word that does not start
// with a capital letter is only found after "kind:".
func (g *Graph) Mentions(word string) []string { return g.sorted(mentions, word, link) }

// Noted lists the files that were noted under one of the keys, sorted.
func (g *Graph) Noted(of string, keys ...string) []string {
	var own []string
	for _, key := range keys {
		own = append(own, noteKey(of, key))
	}
	return g.sorted(noted, own...)
}

// sorted lists the paths of some keys in a relation, sorted.
func (g *Graph) sorted(r relation, keys ...string) []string {
	var list []string
	for _, key := range keys {
		list = append(list, g.values(r, key)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// HasNote reports whether a file was noted under a key.
func (g *Graph) HasNote(of, key, p string) bool { return g.has(noted, noteKey(of, key), p) }

func noteKey(of, key string) string { return of + "\x00" + key }

// MentionsIn reports whether a file contains a word as a value (see Mentions).
func (g *Graph) MentionsIn(p, word string) bool { return g.has(mentions, word, p) }

// IsManifestName reports whether a file has the name of a YAML or JSON file.
func IsManifestName(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

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
func (g *Graph) ancestors(start []string, visit func(dir, reader string)) map[string]bool {
	seen, queue := map[string]bool{}, []string(nil)
	add := func(dir string) {
		if !seen[dir] {
			seen[dir] = true
			queue = append(queue, dir)
		}
	}
	for _, dir := range start {
		add(dir)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, reader := range g.IncludedBy(queue[0]) {
			if visit != nil {
				visit(queue[0], reader)
			}
			add(reader)
		}
	}
	return seen
}

// Touched lists the folders whose kustomization a change of the given paths can change, sorted. A change of the given
// symlinks can change every kustomization that reads, or may read, anything through a symlink.
func (g *Graph) Touched(changed, links []string) []string {
	var dirty []string
	add := func(dirs []string) { dirty = append(dirty, dirs...) }
	plugged := g.values(folders, plugin)
	elsewhere := map[string][]string{}
	if len(changed) > 0 {
		for _, reader := range g.values(folders, configured) {
			elsewhere[reader] = g.configured(configuring{folder: reader})
		}
	}
	for _, p := range changed {
		dir := path.Dir(p)
		if kustomization.IsFileName(p) {
			dirty = append(dirty, dir)
		}
		add(g.NamedBy(p))
		for up := dir; up != "."; up = path.Dir(up) {
			if !g.HasKustomization(up) { // otherwise kustomizations that name it are reached by those
				add(g.NamedBy(up)) // the folder may appear or disappear with its files
			}
		}
		for up, top := p, false; !top; up = path.Dir(up) {
			add(g.values(folders, reading+up))
			top = up == "."
		}
		for _, reader := range plugged {
			if within(reader, p) || slices.ContainsFunc(elsewhere[reader], func(named string) bool { return within(named, p) }) {
				dirty = append(dirty, reader)
			}
		}
	}
	if len(links) > 0 {
		add(g.sorted(folders, linked, plugin))
	}
	for _, p := range links {
		for _, target := range append(g.keys(readers, p+"/"), p) {
			add(g.NamedBy(target))
		}
	}
	slices.Sort(dirty)
	return slices.Compact(dirty)
}

// within reports whether a path is a folder, or in or below it.
func within(dir, p string) bool { return dir == "." || p == dir || strings.HasPrefix(p, dir+"/") }

// configuring is the configurations of a folder's plugins and charts. inside is as for paths.
type configuring struct {
	folder string
	inside bool
}

// configured lists the paths that configurations of plugins name, also those in files of their own (see paths). These are
// not part of the index, since there the facts of a kustomization depend on its own file alone.
func (g *Graph) configured(of configuring) []string {
	return g.plugins.Get(of, func() (list []string) {
		f, err := g.Kustomization(of.folder)
		if f == nil || err != nil {
			return nil
		}
		if of.inside { // others are in the index
			list = paths(of.folder, g.configurations(f), true)
		}
		for _, ref := range f.Refs {
			if named, ok := tree.Clean(path.Join(of.folder, ref.Value)); ok && ref.Role == kustomization.Plugin && IsManifestName(named) {
				if data, _, err := g.tree.ReadFile(named); err == nil {
					documents, _ := doc.Parse(named, data, g.options.Limits)
					list = append(list, paths(of.folder, documents, of.inside)...)
				}
			}
		}
		return list
	})
}

// IsStandalone reports whether a folder has a kustomization that can be deployed by itself: one that is no component.
func (g *Graph) IsStandalone(dir string) bool {
	return g.HasKustomization(dir) && !g.has(folders, component, dir)
}

// Live reports whether the kustomization of a folder, or one that includes it, directly or not, can be deployed by
// itself and counts.
func (g *Graph) Live(dir string, counts func(dir string) bool) bool {
	for up := range g.ancestors([]string{dir}, nil) {
		if g.IsStandalone(up) && counts(up) {
			return true
		}
	}
	return false
}

// Ancestors lists the given folders and those whose kustomization includes one of them, directly or not, sorted.
func (g *Graph) Ancestors(start ...string) []string {
	return slices.Sorted(maps.Keys(g.ancestors(start, nil)))
}

// TopLevel lists the folders whose kustomization counts, is not included by another live one (see Live), and is in or
// includes one of the given folders. If kustomizations include each other in a circle, it lists one, so that rendering
// reports the circle.
//
// It only reads which folders include a given one, because these contain all paths from a top-level folder to the given
// ones.
func (g *Graph) TopLevel(start []string, counts func(dir string) bool) []string {
	includes := map[string][]string{} // folder -> folders that it includes, if those include a start folder
	seen := g.ancestors(start, func(dir, reader string) {
		includes[reader] = append(includes[reader], dir)
	})
	var mark func(set map[string]bool, dir string) // with all that it includes
	mark = func(set map[string]bool, dir string) {
		if !set[dir] {
			set[dir] = true
			for _, next := range includes[dir] {
				mark(set, next)
			}
		}
	}
	live, included, reached := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for dir := range seen {
		if g.IsStandalone(dir) && counts(dir) {
			mark(live, dir)
		}
	}
	for dir := range live {
		for _, next := range includes[dir] {
			included[next] = true
		}
	}
	var list []string
	add := func(dir string) {
		list = append(list, dir)
		mark(reached, dir)
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
