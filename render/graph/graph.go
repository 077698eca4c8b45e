// Package graph finds the roots of a repository and which of them a change reaches, by reading kustomization
// files only: nothing is rendered.
//
// A root is a kustomization that no other one includes, or a folder of plain manifests that no kustomization
// reads. The graph errs on the side of reaching too much: a root that renders without need costs time, a root
// that is left out costs the truth of the check.
package graph

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// Options choose what counts as a root.
type Options struct {
	Include []string // globs over root paths, "**" crosses folders; empty: all
	Exclude []string
	Limits  source.Limits
}

// Root is one thing that is deployed as a whole.
type Root struct {
	Path  string // folder, "." for the top
	Plain bool   // a folder of manifests without a kustomization
}

// Graph is what one tree's kustomizations refer to. It is immutable and safe for concurrent use.
type Graph struct {
	files    map[string]*kustomization.File // by folder
	broken   map[string]error               // by folder: *source.Error, *tree.TooLargeError
	includes map[string][]string            // folder -> folders it includes
	readers  map[string][]string            // file or folder -> folders whose kustomization names it
	patched  map[string]bool                // files that a kustomization uses as a patch or as data, not as a manifest
	plugins  []string                       // folders whose plugin configurations may name further files
	plain    map[string][]string            // folder -> manifest files that no kustomization reads
	charts   map[string]bool                // folders that are Helm charts
	unread   map[string]bool                // manifest files beside a kustomization that does not name them
	roots    []Root
}

// Cache keeps parsed kustomization files by object id, so that the second commit of a change costs what
// differs. It is not safe for concurrent use; the zero value is ready.
type Cache struct {
	parsed map[string]parsed // by object id and path: positions name the path
}

type parsed struct {
	file *kustomization.File
	err  error
}

// Build reads the kustomization files of a tree. Errors of single files are kept with their folder (see
// Broken); an error of Build means that the repository itself could not be read.
func Build(t *tree.Tree, o Options, cache *Cache) (*Graph, error) {
	filter, err := newFilter(o.Include, o.Exclude)
	if err != nil {
		return nil, err
	}
	g := &Graph{
		files: map[string]*kustomization.File{}, broken: map[string]error{}, includes: map[string][]string{},
		readers: map[string][]string{}, patched: map[string]bool{}, plain: map[string][]string{}, unread: map[string]bool{},
		charts: map[string]bool{},
	}
	var manifests []string
	err = t.Walk(func(p string, e tree.Entry) error {
		switch {
		case kustomization.IsFileName(p):
			g.read(t, p, o.Limits, cache)
		case path.Base(p) == "Chart.yaml":
			g.charts[path.Dir(p)] = true
		case IsManifestName(p) && !hidden(p) && e.Kind == tree.File:
			manifests = append(manifests, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, dir := range slices.Sorted(maps.Keys(g.files)) {
		g.link(t, g.files[dir])
	}
	for _, p := range manifests {
		dir := path.Dir(p)
		switch {
		case len(g.readers[p]) > 0 || g.chartOf(dir) != "":
		case g.hasKustomization(dir):
			g.unread[p] = true
		default:
			g.plain[dir] = append(g.plain[dir], p)
		}
	}
	g.findRoots(filter)
	return g, nil
}

func (g *Graph) hasKustomization(dir string) bool {
	return g.files[dir] != nil || g.broken[dir] != nil
}

func (g *Graph) read(t *tree.Tree, p string, limits source.Limits, cache *Cache) {
	dir := path.Dir(p)
	if g.hasKustomization(dir) {
		g.broken[dir] = &source.Error{Path: p, Message: "stands beside another kustomization file: kustomize accepts one a folder"}
		delete(g.files, dir)
		return
	}
	data, id, err := t.ReadFile(p)
	if err != nil {
		var large *tree.TooLargeError
		if errors.As(err, &large) {
			err = &source.Error{Path: p, Message: large.Error()}
		}
		g.broken[dir] = err
		return
	}
	if cache.parsed == nil {
		cache.parsed = map[string]parsed{}
	}
	key := id + " " + p
	entry, ok := cache.parsed[key]
	if !ok {
		entry.file, entry.err = kustomization.Parse(p, data, limits)
		cache.parsed[key] = entry
	}
	if entry.err != nil {
		g.broken[dir] = entry.err
		return
	}
	g.files[dir] = entry.file
}

// link records what a kustomization names. What does not exist is recorded under the name as written, so
// that a change which adds it reaches the kustomization.
func (g *Graph) link(t *tree.Tree, f *kustomization.File) {
	plugin := false
	for _, ref := range f.Refs {
		if kustomization.Remote(ref.Value) {
			continue
		}
		named, ok := tree.Clean(path.Join(f.Dir, ref.Value))
		if !ok || strings.HasPrefix(ref.Value, "/") {
			continue
		}
		plugin = plugin || ref.Role == kustomization.Plugin
		targets := []string{named}
		if real, e, err := t.Lookup(named); err == nil {
			if real != named {
				targets = append(targets, real)
			}
			if e.Kind == tree.Dir {
				g.includes[f.Dir] = append(g.includes[f.Dir], real)
			}
		}
		for _, target := range targets {
			g.readers[target] = append(g.readers[target], f.Dir)
			if ref.Role == kustomization.Patch || ref.Role == kustomization.Data {
				g.patched[target] = true
			}
		}
	}
	if plugin {
		g.plugins = append(g.plugins, f.Dir)
	}
}

func (g *Graph) findRoots(filter *filter) {
	included := map[string]bool{}
	for _, targets := range g.includes {
		for _, dir := range targets {
			included[dir] = true
		}
	}
	reached := map[string]bool{}
	var mark func(dir string)
	mark = func(dir string) {
		if !reached[dir] {
			reached[dir] = true
			for _, next := range g.includes[dir] {
				mark(next)
			}
		}
	}
	var list []Root
	add := func(r Root) {
		mark(r.Path)
		if filter.match(r.Path) {
			list = append(list, r)
		}
	}
	dirs := slices.Sorted(maps.Keys(g.files))
	for _, dir := range dirs {
		if !included[dir] && !g.files[dir].Component {
			add(Root{Path: dir})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(g.broken)) {
		if !included[dir] {
			add(Root{Path: dir})
		}
	}
	// What is left hangs in a circle: one root for each, so that rendering it says so.
	for _, dir := range dirs {
		if !reached[dir] && !g.files[dir].Component {
			add(Root{Path: dir})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(g.plain)) {
		if filter.match(dir) {
			list = append(list, Root{Path: dir, Plain: true})
		}
	}
	slices.SortFunc(list, Compare)
	g.roots = list
}

// Compare orders roots by path, a kustomization before the plain manifests of the same folder.
func Compare(a, b Root) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	if a.Plain == b.Plain {
		return 0
	}
	if a.Plain {
		return 1
	}
	return -1
}

// Roots lists all roots, sorted.
func (g *Graph) Roots() []Root { return slices.Clone(g.roots) }

// Has says whether a root is one of this tree.
func (g *Graph) Has(r Root) bool {
	_, ok := slices.BinarySearchFunc(g.roots, r, Compare)
	return ok
}

// Kustomization answers the parsed file of a folder, or why it could not be read. Both are nil where the
// folder has none.
func (g *Graph) Kustomization(dir string) (*kustomization.File, error) {
	return g.files[dir], g.broken[dir]
}

// Plain lists the manifest files of a plain root, sorted.
func (g *Graph) Plain(dir string) []string { return g.plain[dir] }

// Unread says whether a file looks like a manifest by its name and place, but no kustomization names it
// though its folder has one.
func (g *Graph) Unread(p string) bool { return g.unread[p] }

// Patch says whether a kustomization uses a file as a patch or as data: it is no manifest by itself.
func (g *Graph) Patch(p string) bool { return g.patched[p] }

// Reach lists the roots that a change of the given paths can change, sorted.
func (g *Graph) Reach(changed []string) []Root {
	dirty := map[string]bool{} // folders with a kustomization
	plain := map[string]bool{}
	for _, p := range changed {
		dir := path.Dir(p)
		if kustomization.IsFileName(p) {
			dirty[dir] = true
		}
		for _, reader := range g.readers[p] {
			dirty[reader] = true
		}
		for up := dir; up != "."; up = path.Dir(up) {
			if g.hasKustomization(up) {
				continue // reached by what its kustomization names
			}
			for _, reader := range g.readers[up] {
				dirty[reader] = true // the folder may appear or vanish with its files
			}
		}
		for _, reader := range g.plugins {
			if reader == "." || strings.HasPrefix(p, reader+"/") {
				dirty[reader] = true
			}
		}
		if slices.Contains(g.plain[dir], p) {
			plain[dir] = true
		}
	}
	memo := map[string]bool{}
	var list []Root
	for _, r := range g.roots {
		if r.Plain && plain[r.Path] || !r.Plain && g.reaches(r.Path, dirty, memo, map[string]bool{}) {
			list = append(list, r)
		}
	}
	return list
}

func (g *Graph) reaches(dir string, dirty, memo, open map[string]bool) bool {
	if dirty[dir] {
		return true
	}
	if known, ok := memo[dir]; ok {
		return known
	}
	if open[dir] {
		return false
	}
	open[dir] = true
	answer := slices.ContainsFunc(g.includes[dir], func(next string) bool { return g.reaches(next, dirty, memo, open) })
	if answer || len(open) == 1 {
		// A "no" found inside a circle may be only half the answer; it is kept for the start alone.
		memo[dir] = answer
	}
	delete(open, dir)
	return answer
}

// IsManifestName says whether a file's name is that of a YAML or JSON file.
func IsManifestName(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// hidden says whether a path has an element that starts with a dot: tools' own files, test fixtures.
func hidden(p string) bool { return strings.HasPrefix(p, ".") || strings.Contains(p, "/.") }

// Chart answers the folder of the Helm chart that a file is part of, empty where it is part of none.
func (g *Graph) Chart(p string) string {
	if hidden(p) {
		return ""
	}
	return g.chartOf(path.Dir(p))
}

// chartOf answers the nearest folder from dir upwards that is a Helm chart, empty where none is: its files are
// templates and values.
func (g *Graph) chartOf(dir string) string {
	for ; ; dir = path.Dir(dir) {
		if g.charts[dir] {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// Manifest says whether a file can be a manifest by its name and place: not hidden, not part of a Helm chart,
// not a patch.
func (g *Graph) Manifest(p string) bool {
	return IsManifestName(p) && !hidden(p) && !g.patched[p] && g.chartOf(path.Dir(p)) == ""
}
