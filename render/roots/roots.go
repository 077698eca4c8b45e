// Package roots knows which roots a tree has, what a change reaches, and what objects of Argo CD and Flux make of its
// folders. It reads and renders nothing but what it takes to know that.
//
// A root is a kustomization that no other one includes, a folder of plain manifests that no kustomization reads, or a
// chart, as it is or as an object of Argo CD or Flux deploys it. Where it is not certain, a change reaches too much: a
// root that renders without need costs time, a root that is left out costs the truth of the check.
//
// To add a kind of root:
//   - root.go: its constant and name;
//   - kinds.go: its row, with functions that say whose files are its own, which folders a change touches and which of
//     them are roots. All, Has, Reach, Files, Manifest and Unread follow from the rows;
//   - what an object deploys has no row: kindOf in root.go, and deployed.go where it is not a folder's own root;
//   - if files must be found by what they say (as a policy test names resources): one more graph.Notes in Open;
//   - render: its case in Renderer.once, and a Locator.
package roots

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
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
	// Branches are the names of the branch that the tree is a state of; see gitops.RepoHint.
	Branches []string
	// Unrestricted has kustomizations read files that are not below their folders, see Set.Unrestricted.
	Unrestricted bool
}

// Set is the roots of one tree, with the index of what its files refer to. It is safe for concurrent use, and good for
// as long as its tree can be read: when what it returns counts, ask tree.Objects.Err whether they are whole.
type Set struct {
	*graph.Graph
	options string
	filter  *filter
	limits  doc.Limits
	deploys bool // there are objects of Argo CD or Flux
	// unrestricted: see Unrestricted.
	unrestricted bool
	contents     contents
	builds       builds
	unnoted      unnoted
	printing     printers
	brings       brings
	sayings      *sayings
	variable     variablePaths
	deployed     *deployments

	deployersBy func() map[string][]string // what findDeployersBy found
}

// Open returns the roots of a tree. It reads what graph.Build does, which the cache makes cheap; objects of Argo CD and
// Flux are read when a folder that they may deploy is asked for. An error means that the repository itself could not
// be read, or that a glob of the options is not one; errors of single files are kept with their folder.
func Open(t *tree.Tree, o Options, c *graph.Cache) (*Set, error) {
	notes := []graph.Notes{deployerNotes(o.Limits), sourceNotes(o.Limits), chartNotes(o.Limits), policyTestNotes(o.Limits),
		exceptionNotes(o.Limits), askNotes()}
	g, err := graph.Build(t, graph.Options{Limits: o.Limits, Marks: o.Marks, Notes: notes}, c)
	if err != nil {
		return nil, err
	}
	s, err := newSet(g, o)
	if err == nil {
		s.deployed.enter(o.Charts)
	}
	return s, err
}

// Unindexed returns a set that knows the kustomization of each folder and nothing of how they hang together: it costs
// nothing. It is for whoever renders a kustomization and asks for no roots. An error means that a glob of the options
// is not one.
func Unindexed(t *tree.Tree, o Options) (*Set, error) {
	return newSet(graph.Unindexed(t, graph.Options{Limits: o.Limits}), o)
}

func newSet(g *graph.Graph, o Options) (*Set, error) {
	f, err := newFilter(o.Include, o.Exclude)
	if err != nil {
		return nil, err
	}
	s := &Set{Graph: g, options: describe(o), filter: f, limits: o.Limits}
	s.deploys = len(o.Charts) > 0 || len(g.Noted(deployers, anyFolder)) > 0 || len(g.Odd()) > 0 ||
		len(s.linkedDeployers()) > 0
	s.deployersBy = sync.OnceValue(s.findDeployersBy)
	s.sayings = &sayings{set: s}
	s.unrestricted = o.Unrestricted || len(g.Noted(deployers, ofFlux)) > 0
	s.deployed = &deployments{set: s, repo: gitops.RepoHint{URLs: o.Repository, Branches: o.Branches},
		limits: gitops.Limits{Source: o.Limits},
		read:   map[string]bool{}, rendered: map[string]rendered{}, added: map[Root]bool{}, followed: map[string]bool{},
		byPath: map[string][]*Deployment{}, byID: map[string]*Deployment{}}
	return s, nil
}

// Unrestricted reports whether kustomizations of the tree are built with LoadRestrictionsNone: they may read files of
// the repository that are not below their folders. Flux builds so, whatever it builds
// (https://fluxcd.io/flux/components/kustomize/kustomizations/); kustomize itself and Argo CD do when they are told to.
func (s *Set) Unrestricted() bool { return s.unrestricted }

// Options tells sets that were opened with different options apart, in text.
func (s *Set) Options() string { return s.options }

func describe(o Options) string {
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Sprint(o) // options are texts and numbers
	}
	return string(text)
}

// All lists all roots, sorted: those of the folders, as the objects of Argo CD and Flux deploy them. It looks at the
// whole tree.
func (s *Set) All() []Root { return s.all(true) }

// all is All; charts from elsewhere are looked into only if that is asked for: they have to be fetched and rendered.
func (s *Set) all(charts bool) []Root {
	rows := kinds()
	dirs := make([]map[string]bool, len(rows))
	for i := range rows {
		dirs[i] = map[string]bool{}
	}
	// An error is that of the repository, which remembers it (see tree.Objects.Err).
	_ = s.Tree().Walk(func(p string, _ tree.Entry) error {
		for i, k := range rows {
			if k.file != nil && k.file(p) {
				dirs[i][path.Dir(p)] = true
			}
		}
		return nil
	})
	for _, p := range s.aliases(nil, s.Links()) {
		for i, k := range rows {
			if k.Kind == Folder && k.file(p) {
				dirs[i][path.Dir(p)] = true
			}
		}
	}
	var list []Root
	for i, k := range rows {
		list = k.append(list, s, dirs[i])
	}
	s.deployed.interesting(nil, nil)
	s.deployed.follow(s.deployed.sorted(), charts)
	return s.deployed.merge(s.chosen(list), nil)
}

// Reach lists the roots that a change of the given paths can change, sorted; links are those of them that are, or were,
// symlinks: what is read through them changes, too.
func (s *Set) Reach(changed, links []string) []Root {
	var list []Root
	for _, k := range kinds() {
		if k.touched != nil {
			list = k.append(list, s, k.touched(s, changed, links))
		}
	}
	list = s.chosen(list)
	if !s.deploys {
		return list
	}
	folders := s.Around(append(s.aliases(changed, links), changed...), links) // Argo CD and Flux follow symlinks
	s.deployed.interesting(folders, changed)
	around := map[string]bool{}
	for _, dir := range folders {
		around[dir] = true
	}
	return s.deployed.merge(list, around)
}

// Has reports whether a root is one of this tree.
func (s *Set) Has(root Root) bool {
	switch {
	case !s.Selects(root):
		return false
	case !s.deploys:
		return s.stands(root)
	}
	s.deployed.interesting(upwards(root.Path), nil)
	return s.stands(root) && !s.deployed.covered(root) || s.deployed.brings(root)
}

// stands reports whether a root is one by itself, whatever objects of Argo CD and Flux make of it.
func (s *Set) stands(root Root) bool {
	for _, k := range kinds() {
		if k.Kind == root.Kind && k.among != nil {
			return slices.Contains(k.among(s, map[string]bool{root.Path: true}), root.Path)
		}
	}
	return false
}

// Selects reports whether the options choose a root.
func (s *Set) Selects(root Root) bool { return s.filter.match(root.Path) }

// Excludes reports whether the options leave the root of a folder out by name.
func (s *Set) Excludes(dir string) bool { return s.filter.excludes(dir) }

// Of lists the roots that a name stands for, sorted: those of the folder of this path, and those that an Application or
// Flux Kustomization of this name deploys in a way of its own. It reads every object that deploys something.
func (s *Set) Of(name string) []Root {
	var list []Root
	if dir, ok := tree.Clean(name); ok {
		for _, k := range kinds() {
			if root := (Root{Path: dir, Kind: k.Kind}); k.among != nil && s.Has(root) {
				list = append(list, root)
			}
		}
	}
	s.deployed.interesting(nil, nil)
	for _, one := range s.deployed.known() {
		if root, ok := s.deployed.root(one); ok && root.Object != "" && (one.Name == name || one.Path == name) {
			list = append(list, root)
		}
	}
	return s.chosen(list)
}

// chosen sorts roots and leaves out what the options do.
func (s *Set) chosen(list []Root) []Root {
	list = slices.DeleteFunc(list, func(r Root) bool { return !s.Selects(r) })
	slices.SortFunc(list, Compare)
	return slices.Compact(list)
}
