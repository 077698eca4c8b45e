// Package roots knows which roots a tree has by itself, and which of them a change touches. It reads and renders nothing
// but what it takes to know that. What objects of Argo CD and Flux make of the roots, package deploy knows.
//
// A root is a kustomization that no other one includes, a folder of plain manifests that no kustomization reads, or a
// chart. Where it is not certain, a change touches too much: a root that renders without need costs time, a root that is
// left out costs the truth of the check.
//
// To add a kind of root:
//   - root.go: its constant and name;
//   - kinds.go: its row, with functions that say whose files are its own, which folders a change touches and which of
//     them are roots. InFolders, IsRoot, Touching, Files, Manifest and Unread follow from the rows;
//   - what an object deploys has no row: KindOf in root.go, and package deploy where it is not a folder's own root;
//   - if files must be found by what they say (as a policy test names resources): one more graph.Notes in Open;
//   - render: its case in Renderer.once.
package roots

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

// Options choose what counts as a root.
type Options struct {
	Include []string // globs over root paths, "**" crosses folders; empty: all
	Exclude []string
	Limits  doc.Limits   // of one file
	Marks   []string     // texts; Marked lists the manifests that hold one
	Charts  []ChartEntry // how charts are deployed that no object here deploys

	// Repository is its clone URLs, "owner/name" or name. They tell its own folders from those of others where
	// objects of Argo CD and Flux name them; without any, a folder counts that exists.
	Repository []string
	// Branches are the names of the branch that the tree is a state of; see gitops.RepoNames.
	Branches []string
	// Before is an earlier tree: what may be deployed there no policy test of this tree takes. Nil: there is none.
	Before *Index
	// Unrestricted has kustomizations read files that are not below their folders, see Index.Unrestricted.
	Unrestricted bool
}

// ChartEntry describes how charts of the repository are deployed by somebody whom the repository does not have: each is
// a release of its own, in place of the chart with its own values.
type ChartEntry struct {
	Path      string // glob over the folders of charts
	Values    []string
	Name      string // of the release; default: the folder's
	Namespace string
	File      string // where it is written; likewise Line
	Line      int
}

// Index is the roots that one tree has by itself, with the graph of what its files refer to. It is safe for concurrent
// use, and good for as long as its tree can be read: when what it returns counts, ask tree.Objects.Err whether that is
// whole.
type Index struct {
	*graph.Graph
	options      Options
	filter       *filter
	unrestricted bool
	contents     contents
	testFolders  sync.Map // by folder: bool, see PolicyTests.owns
	dataFolders  sync.Map // by folder: bool, see onlyData

	Deploying *Deploying
}

// Open returns the roots of a tree. It reads what graph.Build does, which the cache makes cheap. An error means that the
// repository itself could not be read, or that a glob of the options is not one; errors of single files are kept with
// their folder.
func Open(t *tree.Tree, o Options, c *graph.Cache) (*Index, error) {
	notes := []graph.Notes{deployerNotes(o.Limits), policyTestNotes(o.Limits), exceptionNotes(o.Limits)}
	g, err := graph.Build(t, graph.Options{Limits: o.Limits, Marks: o.Marks, Notes: notes}, c)
	if err != nil {
		return nil, err
	}
	return newIndex(g, o)
}

// Unindexed returns roots of which nothing is known but the kustomization of each folder: it costs nothing. It is for
// whoever renders a kustomization and asks for no roots. An error means that a glob of the options is not one.
func Unindexed(t *tree.Tree, o Options) (*Index, error) {
	return newIndex(graph.Unindexed(t, graph.Options{Limits: o.Limits}), o)
}

func newIndex(g *graph.Graph, o Options) (*Index, error) {
	f, err := newFilter(o.Include, o.Exclude)
	if err != nil {
		return nil, err
	}
	return filtered(g, o, f), nil
}

func filtered(g *graph.Graph, o Options, f *filter) *Index {
	x := &Index{Graph: g, options: o, filter: f}
	x.unrestricted = o.Unrestricted || len(g.Noted(deployers, ofFlux)) > 0
	x.contents.index, x.Deploying = x, newDeploying(x)
	return x
}

// WithDeployed returns an index that knows of some folders that somebody deploys: their roots are chosen whatever the options
// say, and no policy test and no generator has their files for its own. With a slash at its end a folder stands for all that is
// below. It returns the index itself where that makes no difference.
func (x *Index) WithDeployed(folders []string) *Index {
	var tests []string
	for _, test := range x.Noted(policyTests, anyTest) {
		tests = append(tests, path.Dir(test))
	}
	owners := append(slices.Clone(tests), x.Generating()...)
	folders = slices.DeleteFunc(slices.Clone(folders), func(folder string) bool {
		dir := strings.TrimSuffix(folder, "/")
		meets := func(owner string) bool { return isBelow(dir, owner) || dir != folder && isBelow(owner, dir) }
		return slices.Contains(x.filter.deployed, folder) || x.filter.match(dir) && !slices.Contains(tests, dir) &&
			!slices.ContainsFunc(owners, meets)
	})
	if len(folders) == 0 {
		return x
	}
	f := *x.filter
	f.deployed = slices.Concat(f.deployed, folders)
	return filtered(x.Graph, x.options, &f)
}

// AsksForDeployed reports whether it may matter to what is a root which folders are deployed: see WithDeployed.
func (x *Index) AsksForDeployed() bool {
	return len(x.filter.include)+len(x.filter.exclude) > 0 || len(x.Noted(policyTests, anyTest))+len(x.Generating()) > 0
}

// Unrestricted reports whether kustomizations of the tree are built with LoadRestrictionsNone: they may read files of
// the repository that are not below their folders. Flux builds so, whatever it builds
// (https://fluxcd.io/flux/components/kustomize/kustomizations/); kustomize itself and Argo CD do when they are told to.
func (x *Index) Unrestricted() bool { return x.unrestricted }

// PolicyTests are those of the tree.
func (x *Index) PolicyTests() PolicyTests { return PolicyTests{x} }

// RepoNames are what the repository and its branch are called.
func (x *Index) RepoNames() gitops.RepoNames {
	return gitops.RepoNames{URLs: x.options.Repository, Branches: x.options.Branches}
}

// Options are those that the index was opened with.
func (x *Index) Options() Options { return x.options }

// InFolders lists the roots that stand in the folders of the tree, sorted. It looks at the whole tree.
func (x *Index) InFolders() []Root {
	rows := kinds()
	dirs := make([]map[string]bool, len(rows))
	for i := range rows {
		dirs[i] = map[string]bool{}
	}
	// An error is that of the repository, which remembers it (see tree.Objects.Err).
	_ = x.Tree().Walk(func(p string, _ tree.Entry) error {
		for i, k := range rows {
			if k.file(p) {
				dirs[i][path.Dir(p)] = true
			}
		}
		return nil
	})
	for _, p := range x.aliases(nil, x.Links()) {
		for i, k := range rows {
			if k.Kind == Folder && k.file(p) {
				dirs[i][path.Dir(p)] = true
			}
		}
	}
	var list []Root
	for i, k := range rows {
		list = k.append(list, x, dirs[i])
	}
	return x.Chosen(list)
}

// Touching lists the roots that stand in a folder and that a change of the given paths can change, sorted; links are those
// of them that are, or were, symlinks: what is read through them changes, too.
func (x *Index) Touching(changed, links []string) []Root {
	var list []Root
	for _, k := range kinds() {
		list = k.append(list, x, k.touched(x, changed, links))
	}
	return x.Chosen(list)
}

// FoldersAround lists the folders that a change of the given paths, and of the given symlinks, can change in any way, those that
// are reached through symlinks included (see graph.Graph.Around).
func (x *Index) FoldersAround(changed, links []string) []string {
	return x.Graph.Around(append(x.aliases(changed, links), changed...), links)
}

// IsRoot reports whether a root stands in its folder by itself, whatever objects of Argo CD and Flux make of it.
func (x *Index) IsRoot(root Root) bool {
	for _, k := range kinds() {
		if k.Kind == root.Kind {
			return slices.Contains(k.among(x, map[string]bool{root.Path: true}), root.Path)
		}
	}
	return false
}

// Selects reports whether the options choose the root of a folder.
func (x *Index) Selects(dir string) bool { return x.filter.match(dir) }

// Excludes reports whether the options leave the root of a folder out by name.
func (x *Index) Excludes(dir string) bool { return x.filter.excludes(dir) }

// Chosen sorts roots and leaves out what the options do.
func (x *Index) Chosen(list []Root) []Root {
	list = slices.DeleteFunc(list, func(r Root) bool { return !x.Selects(r.Path) })
	slices.SortFunc(list, Compare)
	return slices.Compact(list)
}
