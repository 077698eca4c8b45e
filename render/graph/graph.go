// Package graph finds the roots of a repository and which of them a change reaches, by reading kustomization
// files only: nothing is rendered.
//
// A root is a kustomization that no other one includes, or a folder of plain manifests that no kustomization
// reads. The graph errs on the side of reaching too much: a root that renders without need costs time, a root
// that is left out costs the truth of the check.
//
// What all kustomizations name is kept in an index. The index of one commit serves its neighbors: a graph is
// an index and what differs from it, so that it costs what the change costs.
package graph

import (
	"cmp"
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
	Marks   []string // texts; Marked lists the manifests that hold one
}

// Root is one thing that is deployed as a whole.
type Root struct {
	Path   string // folder, "." for the top
	Plain  bool   // a folder of manifests without a kustomization
	Deploy string // names the object of Argo CD or Flux that deploys the folder in its own way; empty: deployed as it is
}

// Graph is what one tree's kustomizations refer to. It is immutable, safe for concurrent use, and good for as long
// as its tree can be read: when its answers count, ask tree.Objects.Err whether they are whole.
type Graph struct {
	tree    *tree.Tree
	options Options
	filter  *filter
	cache   *Cache

	base                       *snapshot
	hiddenFolders, hiddenFiles map[string]bool // of which the index is out of date
	added                      *facts          // and what is true in its place
}

// hasKustomization says whether a folder has a kustomization file, be it readable or not.
func (g *Graph) hasKustomization(dir string) bool {
	p, _, err := locate(g.tree, dir)
	return p != "" || err != nil
}

// Compare orders roots by path, a kustomization before the plain manifests of the same folder, and both before what
// objects of Argo CD and Flux make of it.
func Compare(a, b Root) int {
	plain := 0
	if a.Plain != b.Plain {
		plain = 1
		if b.Plain {
			plain = -1
		}
	}
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Deploy, b.Deploy), plain)
}

// Kustomization answers the parsed file of a folder, or why it could not be read. Both are nil where the
// folder has none. Do not change the file: others share it.
func (g *Graph) Kustomization(dir string) (*kustomization.File, error) {
	return g.cache.parse(g.tree, dir, g.options)
}

// Plain lists the manifest files of a plain root, sorted.
func (g *Graph) Plain(dir string) []string {
	if g.hasKustomization(dir) || g.chartOf(dir) != "" {
		return nil
	}
	entries, err := g.tree.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if p := path.Join(dir, e.Name); e.Kind == tree.File && g.loose(p) {
			list = append(list, p)
		}
	}
	return list
}

// plainFile says whether a file is one of a plain root.
func (g *Graph) plainFile(p string) bool {
	dir := path.Dir(p)
	return g.loose(p) && g.isFile(p) && !g.hasKustomization(dir) && g.chartOf(dir) == ""
}

// loose says whether a path has a manifest's name and no kustomization names it.
func (g *Graph) loose(p string) bool {
	return IsManifestName(p) && !kustomization.IsFileName(p) && !hidden(p) && len(g.values(readers, p)) == 0 && g.Fixture(p) == ""
}

// Fixture answers the policy test (kyverno-test.yaml) that a file is a resource of, empty where it is of none: it is
// there to be judged by policies, not to be deployed.
func (g *Graph) Fixture(p string) string {
	for at := p; at != "."; at = path.Dir(at) {
		if tests := g.values(fixtures, at); len(tests) > 0 {
			return slices.Min(tests)
		}
	}
	return ""
}

func (g *Graph) isFile(p string) bool {
	e, err := g.tree.Entry(p)
	return err == nil && e.Kind == tree.File
}

// Unread says whether a file looks like a manifest by its name and place, but no kustomization names it
// though its folder has one.
func (g *Graph) Unread(p string) bool {
	dir := path.Dir(p)
	return g.loose(p) && g.isFile(p) && g.chartOf(dir) == "" && g.hasKustomization(dir)
}

// Patch says whether a kustomization uses a file as a patch or as data: it is no manifest by itself.
func (g *Graph) Patch(p string) bool { return len(g.values(patches, p)) > 0 }

// Marked lists the files that hold one of the marks of the options and can be manifests by their name, sorted;
// kustomizations are not among them.
func (g *Graph) Marked() []string {
	list := g.values(mentions, marked)
	slices.Sort(list)
	return list
}

// Mentions lists the files that hold a word as a value, and so can bring forth an object of the kind of that name:
// manifests, and kustomizations with a generator or a patch. Symlinks are always listed. A word that does
// not start with a capital letter is found behind "kind:" only.
func (g *Graph) Mentions(word string) []string {
	list := append(g.values(mentions, word), g.values(mentions, link)...)
	slices.Sort(list)
	return slices.Compact(list)
}

// Deployers lists the files with objects of Argo CD and Flux that may deploy one of the given folders, those whose
// folders cannot be told from their text included. All of them are listed where no folder is given. Some may be no
// manifests (see Manifest).
func (g *Graph) Deployers(folders ...string) []string {
	list := g.values(deployers, anywhere)
	for _, dir := range folders {
		list = append(list, g.values(deployers, dir)...)
	}
	if len(folders) == 0 {
		list = g.values(mentions, deployer)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Substituted lists those of the deployers that replace variables by what ConfigMaps and Secrets hold.
func (g *Graph) Substituted() []string { return g.values(deployers, substituted) }

// Deploys says whether any file has such objects.
func (g *Graph) Deploys() bool { return len(g.values(mentions, deployer)) > 0 }

// Deployer says whether a file is one of those.
func (g *Graph) Deployer(p string) bool { return g.has(mentions, deployer, p) }

// Holds says whether a file holds a word as a value (see Mentions).
func (g *Graph) Holds(p, word string) bool { return g.has(mentions, word, p) }

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
		e, err := g.tree.Entry(path.Join(dir, "Chart.yaml"))
		if err == nil && (e.Kind == tree.File || e.Kind == tree.Symlink) {
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
	return IsManifestName(p) && !hidden(p) && !g.Patch(p) && g.chartOf(path.Dir(p)) == ""
}

func tooLarge(p string, e *tree.TooLargeError) error {
	return &source.Error{Path: p, Message: e.Error()}
}
