// Package deploy knows what a tree deploys: its roots, and what objects of Argo CD and Flux make of them. It reads these
// objects as they are in a cluster, including those that other objects deploy, and renders each root as it is deployed.
//
// It uses a worklist: it reads the files with objects that deploy something, renders what they deploy, reads the objects in
// that, and so on (see worklist). Its cost depends on the cache of the renderer: nothing is rendered again as long as
// everything that it depends on is unchanged.
package deploy

import (
	"context"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Set is the roots of one tree as they are deployed. It is safe for concurrent use, and valid as long as its tree can
// be read. Check tree.Objects.Err before using a result: after a read error, results may be incomplete.
type Set struct {
	*roots.Index
	Renderer *render.Renderer
	Texts    *Texts // finds roots by the text of their files

	clusters  func(roots.Root) []render.Cluster // see ForClusters
	found     func() *worklist                  // the finished worklist
	addresses func() [][2]gitops.Cluster        // see Named
	external  func() map[roots.Root]bool        // see externalKustomizations
	config    render.Config
	before    *Set // see After
}

// Open returns the roots of a tree. It reads what roots.Open reads; objects of Argo CD and Flux are read on first use.
// The error is that of roots.Open.
func Open(t *tree.Tree, o roots.Options, c *graph.Cache, config render.Config) (*Set, error) {
	x, err := roots.Open(t, o, c)
	if err != nil {
		return nil, err
	}
	return New(x, config), nil
}

// New returns the roots of an index as they are deployed. The globs of its options select roots, but do not apply to
// what live objects deploy: that is a root wherever it is.
func New(x *roots.Index, config render.Config) *Set {
	s := opened(x, config)
	if o := x.Options(); len(o.Include)+len(o.Exclude) > 0 {
		s = s.Settled()
	}
	return s
}

// Settled returns the set in which every folder that a live object deploys is a root, even if it looks like a policy
// test or input of a generator. It reads the objects of Argo CD and Flux, if the tree has any.
func (s *Set) Settled() *Set {
	for range maxFollowed {
		if !s.AsksForDeployed() || !s.Deploying.Any() {
			break
		}
		more := s.found().chosen()
		if more == s.Index {
			break
		}
		clusters, before := s.clusters, s.before
		s = opened(more, s.config)
		s.clusters, s.before = clusters, before
	}
	return s
}

func opened(x *roots.Index, config render.Config) *Set {
	s := &Set{Index: x, Renderer: render.New(x, config), config: config}
	s.found = sync.OnceValue(func() *worklist {
		w := newWorklist(x, s.Renderer, config)
		w.dropped = func(dir string) bool { return s.before != nil && s.before.IsDeployed(dir) && !w.isSent(dir) }
		return w.ready()
	})
	s.addresses = sync.OnceValue(func() [][2]gitops.Cluster {
		w := s.found()
		w.work.Lock()
		defer w.work.Unlock()
		return w.selectable().pairs
	})
	s.external = sync.OnceValue(s.externalKustomizations)
	s.Texts = &Texts{set: s}
	return s
}

// ForClusters sets the clusters that releases are rendered for, by root. Call it once, before anything is rendered.
func (s *Set) ForClusters(of func(roots.Root) []render.Cluster) { s.clusters = of }

// After sets the roots of the tree before a change. A folder that an object deployed there, and none deploys here, is not
// assumed to be deployed by hand. Call it once, before anything else.
func (s *Set) After(before *Set) { s.before = before }

// WithSources returns a set that renders with other remote sources (see render.Renderer.WithSources).
func (s *Set) WithSources(sources *remote.Sources) *Set {
	other := *s
	other.Renderer = s.Renderer.WithSources(sources)
	return &other
}

// With returns a set that renders the same roots with another configuration.
func (s *Set) With(config render.Config) *Set {
	other := *s
	other.Renderer, other.config = render.New(s.Index, config), config
	return &other
}

// Complete also finds what the objects deploy that kustomizations take from remote sources. It renders these kustomizations.
// Without it, that is known of those that a change reaches (see Between).
func (s *Set) Complete() {
	s.found().followExternal()
	s.found().followBrought(s.all())
}

// All lists all roots, sorted, including those that objects of Argo CD and Flux deploy. It reads the whole tree, and
// renders remote charts to find objects that deploy.
func (s *Set) All() []roots.Root {
	s.found().followExternal()
	return s.all()
}

// all is All without remote charts, which have to be fetched and rendered.
func (s *Set) all() []roots.Root {
	return s.merge(s.InFolders(), s.found().sorted())
}

// Reach lists the roots that a change of the given paths can change, sorted. links are those paths that are or were
// symlinks: a change of one changes what is read through it. Releases are not listed, as what they read decides: see
// Between.
func (s *Set) Reach(changed, links []string) []roots.Root {
	list := s.Touching(changed, links)
	if !s.Deploying.Any() {
		return list
	}
	folders := s.FoldersAround(changed, links)
	around := s.found().composing(folders...)
	for _, dir := range folders {
		for _, one := range s.found().at(dir) {
			if one.Release == nil && one.External == nil {
				around = append(around, one)
			}
		}
	}
	return s.merge(list, around)
}

// merge returns the roots of some folders and deployments. A root that is only deployed by an object of its own is left
// out.
func (s *Set) merge(standing []roots.Root, deployments []*Deployment) []roots.Root {
	list := slices.DeleteFunc(slices.Clone(standing), s.found().covered)
	for _, one := range deployments {
		list = append(list, one.root())
	}
	return s.Chosen(list)
}

// Has reports whether a root is in this tree.
func (s *Set) Has(root roots.Root) bool {
	if !s.Selects(root.Path) {
		return false
	}
	return root.Object == "" && s.IsRoot(root) && !s.found().covered(root) || len(s.Deployers(root)) > 0
}

// Of lists the roots of a name, sorted: those of the folder with this path, and those that an Application or Flux
// Kustomization of this name deploys in its own way.
func (s *Set) Of(name string) []roots.Root {
	var list []roots.Root
	if dir, ok := tree.Clean(name); ok {
		for _, kind := range []roots.Kind{roots.Chart, roots.Kustomization, roots.Folder} {
			if root := (roots.Root{Path: dir, Kind: kind}); s.Has(root) {
				list = append(list, root)
			}
		}
	}
	for _, one := range s.found().sorted() {
		if root := one.root(); root.Object != "" && (one.Name == name || one.Path == name) {
			list = append(list, root)
		}
	}
	return s.Chosen(list)
}

// Files lists the manifests of a root, sorted. It must be a folder, or one that an Application deploys as such. A root
// with a kustomization has none.
func (s *Set) Files(root roots.Root) []string {
	if root.Object == "" {
		return s.Index.Files(root)
	}
	if one := s.found().of(root); one != nil {
		return one.resolved().Files
	}
	return nil
}

// Target returns a root with how it is deployed.
func (s *Set) Target(root roots.Root) render.Target {
	t := s.found().target(root)
	if root.Kind == roots.Folder {
		t.Files = s.Files(root)
	}
	if s.clusters != nil && t.IsRelease() {
		t.Clusters = s.clusters(root)
	}
	return t
}

// Render renders one root as it is deployed. See render.Renderer.Render.
func (s *Set) Render(ctx context.Context, root roots.Root) (*render.Rendering, []doc.Error, error) {
	return s.render(ctx, s.Target(root))
}

func (s *Set) render(ctx context.Context, t render.Target) (*render.Rendering, []doc.Error, error) {
	out, problems, err := s.Renderer.Render(ctx, t)
	if out != nil && t.Object == "" {
		out.MayBeFragments(sync.OnceValue(func() bool { return s.IsFragment(t.Root) }))
	}
	return out, problems, err
}

// Uses lists the remote sources of a rendering, as a root of this tree requests them. See render.Rendering.Uses.
func (s *Set) Uses(out *render.Rendering) []render.Use { return out.Uses(s.Target(out.Root)) }

// Same reports whether a root of this tree has the same rendering as in another tree. See render.Rendering.Same.
func (s *Set) Same(other *render.Rendering) bool { return other.Same(s.Renderer, s.Target(other.Root)) }

// Matches reports whether a glob matches any root. It only reads folders that the glob can match, until it finds a
// root.
func (s *Set) Matches(glob string) bool {
	re, err := roots.Glob(glob)
	return err == nil && slices.ContainsFunc(s.found().sorted(), func(one *Deployment) bool {
		return one.Object.Kind == roots.ChartEntryKind && re.MatchString(nameOf(one))
	}) || roots.Walk(s.Tree(), glob, func(dir string, e tree.Entry) bool {
		return e.Kind == tree.Dir && (s.IsRoot(roots.Root{Path: dir}) || s.IsRoot(roots.Root{Path: dir, Kind: roots.Folder}) ||
			len(s.found().at(dir)) > 0)
	})
}
