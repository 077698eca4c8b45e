// Package graph indexes what the kustomizations of a tree refer to, and what its manifests contain. Nothing is rendered, and
// it does not know which folders are roots (see render/roots).
//
// A graph is the index of a nearby commit and the differences from it. So building one costs as much as the change is large.
package graph

import (
	"path"
	"slices"
	"sync"

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

	base                       *snapshot
	hiddenFolders, hiddenFiles map[string]bool // whose facts in base are outdated
	added                      *facts          // the facts that replace them

	located sync.Map // by folder, results of HasKustomization
	parsed  sync.Map // by folder, results of Kustomization
	outside sync.Map // by folder, results of elsewhere
}

// Tree returns the tree of the graph.
func (g *Graph) Tree() *tree.Tree { return g.tree }

// Memory returns the memory of the graph's cache, which may be nil.
func (g *Graph) Memory() *env.Memory {
	if g.cache == nil {
		return nil
	}
	return g.cache.Memory
}

// HasKustomization reports whether a folder has a kustomization file, even if it cannot be read.
func (g *Graph) HasKustomization(dir string) bool {
	if known, ok := g.located.Load(dir); ok {
		return known.(bool)
	}
	p, _, err := locate(g.tree, dir)
	has := p != "" || err != nil
	g.located.Store(dir, has)
	return has
}

// Kustomization returns the parsed file of a folder, or why it could not be read. Both are nil where the folder has
// none. The file is shared: do not change it.
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

// NamedBy lists the folders whose kustomization names a file or folder in any field, in no order.
func (g *Graph) NamedBy(p string) []string { return g.values(readers, p) }

// Generating lists the folders whose kustomization uses manifests in folders below it as data of a generator, sorted.
func (g *Graph) Generating() []string { return g.sorted(folders, generating) }

// Patching lists the folders whose kustomization uses a file as a patch, sorted.
func (g *Graph) Patching(p string) []string { return g.sorted(patches, p) }

// IncludedBy lists the folders whose kustomization includes a file or folder: as a resource, a base or a component, or
// as the configuration of a plugin. Data of a generator is not included.
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
