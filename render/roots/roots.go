// Package roots knows which folders of a tree are roots, and which roots a change touches. It reads and renders no more than
// that needs. Package deploy knows what objects of Argo CD and Flux make of the roots.
//
// A root is a kustomization that no other one includes, a folder of plain manifests that no kustomization includes, or a
// chart. In doubt a change touches a root: an unneeded rendering costs time, but a missing one makes the check wrong.
//
// To add a kind of root:
//   - roots.go: its constant and name;
//   - kinds.go: its row, with functions that say whose files are its own, which folders a change touches and which of
//     them are roots. InFolders, IsRoot, Touching, Files, Manifest and Unread follow from the rows;
//   - what an object deploys has no row: KindOf in roots.go, and package deploy where it is not a folder's own root;
//   - if files must be found by their content (as a policy test names resources): one more graph.Notes in Open;
//   - render: its case in Renderer.once.
package roots

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

// Kind is what a root is. The zero value is a kustomization.
type Kind uint8

// The kinds of roots. The first three are folders of their own (see kinds). The others are deployed by an object of
// Argo CD or Flux (see KindOf).
const (
	Kustomization     Kind = iota
	Folder                 // manifests without a kustomization
	Chart                  // the folder of a Helm chart
	Application            // of Argo CD
	ApplicationSet         // what one of Argo CD generates
	FluxKustomization      // a Kustomization of Flux
	HelmRelease            // of Flux
)

var kindNames = [...]string{"Kustomization", "Folder", "Chart", "Application", "ApplicationSet", "FluxKustomization",
	"HelmRelease"}

// IsKindName reports whether a text is the name of a kind.
func IsKindName(name string) bool { return slices.Contains(kindNames[:], name) }

// String returns the name of a kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// ChartEntryKind is the kind of the object that a ChartEntry stands for.
const ChartEntryKind = "Chart"

// KindOf returns the kind of the roots that an object of a kind deploys.
func KindOf(object string) Kind {
	if i := slices.Index(kindNames[:], object); i > 0 {
		return Kind(i)
	}
	return FluxKustomization // of which Flux calls the kind Kustomization
}

// Root is one thing that is deployed as a whole. It is comparable: the same root of two trees is equal.
type Root struct {
	Path   string // folder, "." for the top
	Kind   Kind
	Object string // identifies the object of Argo CD or Flux that deploys the folder in its own way; empty: deployed as it is
}

// Name returns the name of a root for people: its path, or KIND/NAMESPACE/NAME of the object that deploys it, or
// PATH@VALUES for a ChartEntry. It may not be unique: see deploy.Set.List.
func (r Root) Name() string {
	if r.Object == "" {
		return r.Path
	}
	if r.Kind == Chart {
		return r.Path + "@" + gitops.NameOf(r.Object)
	}
	return r.Kind.String() + "/" + gitops.NameOf(r.Object)
}

// Compare orders roots by path. In a folder, a kustomization comes before plain manifests, and both before what objects
// of Argo CD and Flux deploy.
func Compare(a, b Root) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Object, b.Object), cmp.Compare(a.Kind, b.Kind))
}

// Options choose what counts as a root.
type Options struct {
	Include []string // globs over root paths, "**" crosses folders; empty: all
	Exclude []string
	Limits  doc.Limits   // of one file
	Marks   []string     // texts for Marked, which lists the manifests that contain one
	Charts  []ChartEntry // how charts are deployed for which the repository has no object

	// Repository has the repository's clone URLs, "owner/name" or name. With them, objects of Argo CD and Flux that
	// name other repositories are recognized. Without any, a folder counts as this repository's if it exists.
	Repository []string
	// Branches are the names of the tree's branch; see gitops.RepoNames.
	Branches []string
	// Before is an earlier tree. Policy tests of this tree do not claim files that may be deployed there. nil: there is
	// none.
	Before *Index
	// Unrestricted lets kustomizations read files outside their folders, see Index.Unrestricted.
	Unrestricted bool
}

// ChartEntry describes how charts of the repository are deployed, if the repository has no object for that. Each chart
// becomes a release, instead of a chart with its default values.
type ChartEntry struct {
	Path      string // glob over the folders of charts
	Values    []string
	Name      string // of the release; default: the folder's
	Namespace string
	File      string // file and line of the entry
	Line      int
}

// Index has the roots of one tree, with the graph of what its files refer to. It is safe for concurrent use, and valid
// as long as its tree can be read. Check tree.Objects.Err before using a result: after a read error, results may be
// incomplete.
type Index struct {
	*graph.Graph
	options      Options
	filter       *filter
	unrestricted bool
	contents     contents
	testFolders  env.Memo[string, bool]             // by folder: see PolicyTests.owns
	dataFolders  env.Memo[string, bool]             // by folder: see onlyData
	chartFolders env.Memo[string, bool]             // by folder: see HasChart
	chartReads   env.Memo[string, []*regexp.Regexp] // by folder: see readByTemplates
	includes     env.Memo[string, [2][]string]      // by folder: see Included

	Deploying *Deploying
}

// Open returns the roots of a tree. It reads what graph.Build reads, which the cache makes cheap. It fails if the
// repository could not be read, or if a glob of the options is invalid. Errors of single files are found with their
// folder.
func Open(t *tree.Tree, o Options, c *graph.Cache) (*Index, error) {
	notes := []graph.Notes{deployerNotes(o.Limits), policyTestNotes(o.Limits)}
	g, err := graph.Build(t, graph.Options{Limits: o.Limits, Marks: o.Marks, Notes: notes}, c)
	if err != nil {
		return nil, err
	}
	return newIndex(g, o)
}

// Unindexed returns an index that only knows the kustomization of each folder, which costs nothing. It is for callers
// that render one kustomization without looking for roots. It fails if a glob of the options is invalid.
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

// WithDeployed returns an index in which some folders are known to be deployed. Their roots are selected regardless of
// the options, and no policy test or generator claims their files. It returns x itself where that changes nothing.
func (x *Index) WithDeployed(folders []string) *Index {
	var tests []string
	for _, test := range x.Noted(policyTests, anyTest) {
		tests = append(tests, path.Dir(test))
	}
	owners := append(slices.Clone(tests), x.Generating()...)
	folders = slices.DeleteFunc(slices.Clone(folders), func(dir string) bool {
		return slices.Contains(x.filter.deployed, dir) || x.filter.match(dir) && !slices.Contains(tests, dir) &&
			!slices.ContainsFunc(owners, func(owner string) bool { return isBelow(dir, owner) })
	})
	if len(folders) == 0 {
		return x
	}
	f := *x.filter
	f.deployed = slices.Concat(f.deployed, folders)
	return filtered(x.Graph, x.options, &f)
}

// AsksForDeployed reports whether WithDeployed may change anything.
func (x *Index) AsksForDeployed() bool {
	return len(x.filter.include)+len(x.filter.exclude) > 0 || len(x.Noted(policyTests, anyTest))+len(x.Generating()) > 0
}

// Unrestricted reports whether kustomizations of the tree are built with LoadRestrictionsNone, so that they may read
// files of the repository outside their folders. Flux always builds in this way
// (https://fluxcd.io/flux/components/kustomize/kustomizations/). kustomize and Argo CD do it on request.
func (x *Index) Unrestricted() bool { return x.unrestricted }

// PolicyTests returns the policy tests of the tree.
func (x *Index) PolicyTests() PolicyTests { return PolicyTests{x} }

// RepoNames returns the names of the repository and its branch.
func (x *Index) RepoNames() gitops.RepoNames {
	return gitops.RepoNames{URLs: x.options.Repository, Branches: x.options.Branches}
}

// Options returns the options that the index was opened with.
func (x *Index) Options() Options { return x.options }

// InFolders lists the roots in the folders of the tree, sorted. It reads the whole tree.
func (x *Index) InFolders() (list []Root) {
	var paths []string
	// The repository remembers a read error (see tree.Objects.Err).
	_ = x.Tree().Walk(func(p string, _ tree.Entry) error {
		paths = append(paths, p)
		return nil
	})
	for _, k := range kinds() {
		dirs := map[string]bool{}
		all := slices.Clip(paths)
		if k.Kind == Folder {
			all = append(all, x.aliases(nil, x.Links())...)
		}
		for _, p := range all {
			if k.file(p) {
				dirs[path.Dir(p)] = true
			}
		}
		list = k.append(list, x, slices.Collect(maps.Keys(dirs)))
	}
	return x.Chosen(list)
}

// Touching lists the roots in folders that a change of the given paths can change, sorted. links are those paths that
// are or were symlinks: a change of one changes what is read through it.
func (x *Index) Touching(changed, links []string) []Root {
	var list []Root
	for _, k := range kinds() {
		list = k.append(list, x, k.touched(x, changed, links))
	}
	return x.Chosen(list)
}

// FoldersAround lists the folders that a change of the given paths and symlinks may affect in any way, also through
// symlinks (see graph.Graph.Around).
func (x *Index) FoldersAround(changed, links []string) []string {
	return x.Graph.Around(append(x.aliases(changed, links), changed...), links)
}

// IsRoot reports whether a root is in its folder, regardless of objects of Argo CD and Flux.
func (x *Index) IsRoot(root Root) bool {
	for _, k := range kinds() {
		if k.Kind == root.Kind {
			return slices.Contains(k.among(x, []string{root.Path}), root.Path)
		}
	}
	return false
}

// Selects reports whether the options select the root of a folder.
func (x *Index) Selects(dir string) bool { return x.filter.match(dir) }

// Excludes reports whether the options exclude the root of a folder.
func (x *Index) Excludes(dir string) bool { return x.filter.excludes(dir) }

// Chosen returns the roots that the options select, sorted.
func (x *Index) Chosen(list []Root) []Root {
	list = slices.DeleteFunc(list, func(r Root) bool { return !x.Selects(r.Path) })
	slices.SortFunc(list, Compare)
	return slices.Compact(list)
}
