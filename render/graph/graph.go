// Package graph is the index of what the kustomizations of a tree refer to, and of what its manifests hold: who names
// whom. Nothing is rendered, and what a root is it does not know (see render/roots).
//
// The index of one commit serves its neighbors: a graph is an index and what differs from it, so that it costs what the
// change costs.
package graph

import (
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Options say what is read.
type Options struct {
	Limits doc.Limits
	Marks  []string // texts; Marked lists the manifests that hold one, however it is written
	Notes  []Notes
}

// Notes are what manifests say beyond what kustomizations name. Read calls note with each key under which the file is
// to be found (see Noted); the same content of the same path must give the same keys.
type Notes struct {
	Of    string   // tells them apart
	Marks []string // Read is called for files that hold one of these texts, however it is written; none: for all
	Read  func(p string, data []byte, note func(key string))
}

// Graph is what one tree's kustomizations refer to. It is immutable, safe for concurrent use, and good for as long
// as its tree can be read: when what it returns counts, ask tree.Objects.Err whether they are whole.
type Graph struct {
	tree    *tree.Tree
	options Options
	cache   *Cache

	base                       *snapshot
	hiddenFolders, hiddenFiles map[string]bool // of which the index is out of date
	added                      *facts          // and what is true in its place

	located sync.Map // by folder, what HasKustomization found
	parsed  sync.Map // by folder, what Kustomization found
}

// Tree returns the tree of the graph.
func (g *Graph) Tree() *tree.Tree { return g.tree }

// HasKustomization reports whether a folder has a kustomization file, be it readable or not.
func (g *Graph) HasKustomization(dir string) bool {
	if known, ok := g.located.Load(dir); ok {
		return known.(bool)
	}
	p, _, err := locate(g.tree, dir)
	has := p != "" || err != nil
	g.located.Store(dir, has)
	return has
}

// Kustomization returns the parsed file of a folder, or why it could not be read. Both are nil where the
// folder has none. Do not change the file: others share it.
func (g *Graph) Kustomization(dir string) (*kustomization.File, error) {
	if known, ok := g.parsed.Load(dir); ok {
		return known.(parsed).file, known.(parsed).err
	}
	f, err := g.cache.parse(g.tree, dir, g.options)
	g.parsed.Store(dir, parsed{f, err})
	return f, err
}

// Named reports whether a kustomization names a file or folder.
func (g *Graph) Named(p string) bool { return len(g.values(readers, p)) > 0 }

// NamedBy lists the folders whose kustomization names a file or folder.
func (g *Graph) NamedBy(p string) []string { return g.values(readers, p) }

// Generating lists the folders whose kustomization has manifests in folders below it as data, sorted.
func (g *Graph) Generating() []string { return g.sorted(folders, generating) }

// Patching lists the folders whose kustomization uses a file as a patch, sorted.
func (g *Graph) Patching(p string) []string { return g.sorted(patches, p) }

// IncludedBy lists the folders whose kustomization takes a file or folder over: as a resource, a base or a component,
// or as the configuration of a plugin. The data of a generator is included by nobody.
func (g *Graph) IncludedBy(p string) []string {
	return append(g.values(parents, p), g.values(plugins, p)...)
}

// IsResource reports whether a kustomization names a file or folder as one of its resources, bases or components.
func (g *Graph) IsResource(p string) bool { return len(g.values(parents, p)) > 0 }

// Odd lists the folders whose kustomization has objects of kinds that no manifest says: patches change them.
func (g *Graph) Odd() []string { return g.sorted(folders, odd) }

// External lists the folders whose kustomization takes something from outside of the tree, or the output of a chart: what
// that has no file of the tree says. Charts of configurations of plugins are not known.
func (g *Graph) External() []string { return g.sorted(folders, bringing) }

// Marked lists the files that hold one of the marks of the options and can be manifests by their name, sorted;
// kustomizations are not among them.
func (g *Graph) Marked() []string {
	return g.sorted(mentions, marked)
}

// Links lists the symlinks of the tree, sorted.
func (g *Graph) Links() []string { return g.sorted(mentions, links) }

// HasMark reports whether a file holds one of the marks of the options (see Marked).
func (g *Graph) HasMark(p string) bool { return g.has(mentions, marked, p) }

// Mentions lists the files that hold a word as a value, and so can produce an object of the kind of that name:
// manifests, and kustomizations with a generator or a patch. Symlinks are always listed. A word that does
// not start with a capital letter is found behind "kind:" only.
func (g *Graph) Mentions(word string) []string {
	return g.sorted(mentions, word, link)
}

// Noted lists the files that were noted under one of the keys, sorted.
func (g *Graph) Noted(of string, keys ...string) []string {
	var own []string
	for _, key := range keys {
		own = append(own, noteKey(of, key))
	}
	return g.sorted(noted, own...)
}

// sorted lists the paths that a relation has for some keys.
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

// MentionsIn reports whether a file holds a word as a value (see Mentions).
func (g *Graph) MentionsIn(p, word string) bool { return g.has(mentions, word, p) }

// IsManifestName reports whether a file's name is that of a YAML or JSON file.
func IsManifestName(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
