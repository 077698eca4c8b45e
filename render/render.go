// Package render turns the roots of a repository tree into the resources they deploy, each of which can say
// where any of its fields was written.
//
// Kustomizations are rendered by kustomize itself (krusty) over a file system that holds only the tree;
// what kustomize would fetch, run or read elsewhere is refused before it starts, with a file and a line.
package render

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/trial"
)

// Resource is one rendered object.
type Resource struct {
	// Object is the resource as JSON, numbers as int64 where whole, else float64. Do not change it.
	Object map[string]any

	// Created says that what deploys the root creates the object, a Namespace, only where the cluster lacks it.
	Created bool

	// Issues are problems with the deployment of this resource, and fields whose value is not known.
	Issues []Issue

	made    func() map[string]any // Object as Helm printed it; nil: it is Object
	printed map[string]any        // Object before Admitted changed it; nil: it is Object
	locator Locator               // renders again where the rendering came from the cache; nil: there are no places
	in      *places               // cached places; nil: they are not cached
	index   int                   // of the resource in the cached places
	node    *yaml.Node            // nil where it is packed, or the rendering came from the cache
	packed  packed                // of a resource that kustomize built
	plain   bool                  // read from a file, and not built: see doc.Value

	crd      bool        // from crds/ of a chart
	manifest int         // the number of Helm's manifest that printed it; 0: none did
	fragment func() bool // see Fragment; nil: it is not one
}

// Fragment reports whether the resource may be part of another one (see deploy.Set.IsFragment).
func (r *Resource) Fragment() bool { return r.fragment != nil && r.fragment() }

// kind returns the kind of the resource, empty where it has none.
func (r *Resource) kind() string {
	kind, _ := r.Object["kind"].(string)
	return kind
}

// MayBeFragments sets the function that answers Fragment for all resources of the rendering.
func (r *Rendering) MayBeFragments(are func() bool) {
	for _, res := range r.Resources {
		res.fragment = are
	}
}

// Rendering is what one root deploys.
type Rendering struct {
	Root      roots.Root
	Resources []*Resource
	Reads     map[string]string // every file that was read, by object id; "" for a path that was probed and is absent
	Partial   bool              // parts of the root have problems and are missing from the resources
	target    Target
	asked     env.Asked         // everything that the rendering depends on; nil: unknown, or it may change although nothing of it changes
	links     map[string]string // targets of the symlinks that were followed; nil: it cannot be cached
	build     *sharedBuild      // keeps the shared build alive; nil: it is no kustomization, or came from the cache
	versions  askedVersions     // API versions that the chart asked for
	lookups   []helm.Lookup     // what the chart looked up
	wants     wants             // requested remote sources
	notes     func(context.Context) []doc.Error
	inactive  func() []*Resource         // see inactivePostRenderers; nil: it is no release
	whole     func() (*Rendering, error) // see Whole; nil: it did not come from the cache
	all       []string                   // the kind of each cached resource, also of those that were not wanted; see recall

	// Rest finds problems that kustomize reports for the remaining parts of a root of which nothing could be rendered.
	// They may only be consequences of the missing part, so they are not problems of the rendering. nil: there is
	// nothing to find.
	Rest func() []doc.Error
}

// Config describes how a renderer works. The zero value means the defaults.
type Config struct {
	Limits Limits
	Cache  *Cache // caches results; nil: nothing is cached
	// Progress is called with what is rendered to find out what is deployed; nil: not called.
	Progress progress.Func
	// Sources are the fetched remote sources; nil: nothing remote is rendered.
	Sources *remote.Sources
	// Namespaced reports whether a kind is namespaced; nil: as kustomize does.
	Namespaced func(apiVersion, kind string) bool
	// Branch is the current time if the tree is the tip of the base branch: its renderings are then kept for
	// LastOfKind. Zero means that it is not.
	Branch time.Time
	// AttemptSteps is how many template steps a release may spend on attempts to find which value decides a field, as
	// counted in the traced run. It is no time limit, so that places are the same on any machine. A chart of 130
	// resources takes 40,000 steps for one attempt. A lower limit makes places less exact. 0: 20,000,000.
	AttemptSteps int
}

// Renderer renders roots of one tree. It is safe for concurrent use, and renders a kustomization that sets a schema
// of its own alone in the process: kustomize keeps its schema in a global variable.
type Renderer struct {
	builder
	namespaced func(apiVersion, kind string) bool
	declared   func() []string // see findVersions
	lookups    *lookups
	counts     *counts
	texts      *env.Memo[roots.Root, *text] // see MayDeploy
	memo       *memo
	asking     *asking
	inactives  *inactiveLayers
	fresh      bool // ignore and do not write the cache
	branch     time.Time
}

// New returns a renderer of the roots of one tree.
func New(x *roots.Index, c Config) *Renderer {
	r := &Renderer{builder: newBuilder(x, c.Limits.withDefaults(), &mounts{sources: c.Sources}), namespaced: c.Namespaced,
		counts: &counts{}, texts: &env.Memo[roots.Root, *text]{}, memo: &memo{}, asking: &asking{}, inactives: &inactiveLayers{}}
	r.cache, r.steps = c.Cache, cmp.Or(max(0, c.AttemptSteps), trial.Steps)
	r.branch = c.Branch
	r.declared = sync.OnceValue(r.findVersions)
	r.lookups = &lookups{renderer: r}
	return r
}

// WithSources returns a renderer that uses other remote sources. They must have the same content, but may record
// separately what is missing.
func (r *Renderer) WithSources(s *remote.Sources) *Renderer {
	other := *r
	other.mounts, other.memo, other.builds = &mounts{sources: s}, nil, &builds{} // cached renderings use the other sources
	return &other
}

// counts counts the work of a renderer and those made from it.
type counts struct{ built, recalled atomic.Int64 }

// Counts returns how many targets were rendered, and how many renderings came from the cache.
func (r *Renderer) Counts() (built, recalled int) {
	return int(r.counts.built.Load()), int(r.counts.recalled.Load())
}

// With returns a renderer with other contents of some files, by path with symlinks resolved. Files that the tree does
// not have must be kustomizations. The graph stays that of the tree.
func (r *Renderer) With(files map[string][]byte) *Renderer {
	other := *r
	other.builder, other.texts, other.memo = *r.with(files), &env.Memo[roots.Root, *text]{}, nil
	other.lookups = &lookups{renderer: &other}
	return &other
}

// Render renders one target. The problems say why it could not be rendered completely; where they concern only parts,
// everything else is rendered (see Rendering.Partial). Problems of single resources are in Resource.Issues instead. The
// error is about the repository or the context, never about the content.
func (r *Renderer) Render(ctx context.Context, t Target) (*Rendering, []doc.Error, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if t.Kind == roots.Folder {
		return r.files(ctx, t)
	}
	if r.kept() != nil && r.kept().Disk != nil {
		defer r.cache.lock(r.key(t))()
	}
	if out, problems := r.memo.take(r.ownKey(t)); out != nil {
		return out, problems, nil
	}
	return r.once(ctx, t, "")
}

// once renders a target that is not a plain folder, without a lock: another goroutine may render the same target. With a kind,
// a cached rendering may only have the objects of that kind.
func (r *Renderer) once(ctx context.Context, t Target, kind string) (*Rendering, []doc.Error, error) {
	if !r.fresh {
		if out, problems := r.recall(ctx, t, kind); out != nil {
			return out, problems, nil
		}
	}
	r.counts.built.Add(1)
	var out *Rendering
	var problems []doc.Error
	var err error
	switch {
	case t.Object != "":
		out, problems, err = r.deployed(ctx, t)
	case t.Kind == roots.Chart:
		out, problems, err = r.release(ctx, t, t.release())
	default:
		out, problems = r.build(t.Root)
	}
	if err != nil {
		return nil, nil, err
	}
	if out.Root, out.target = t.Root, t; len(problems) == 0 || out.Partial {
		r.remember(out, problems)
	}
	if len(problems) == 0 && !out.Partial {
		r.keepLast(out)
	}
	for _, res := range out.Resources {
		res.pack()
	}
	return out, problems, nil
}

// files reads the manifests of a plain folder, or of one that Argo CD reads, without kustomize.
func (r *Renderer) files(ctx context.Context, t Target) (*Rendering, []doc.Error, error) {
	out := &Rendering{Root: t.Root, Reads: map[string]string{}, target: t}
	var problems []doc.Error
	for _, name := range t.Files {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		real, _, err := r.lookup(name)
		if err != nil {
			real = name
		}
		list, id, problem, err := r.plainFile(real, t.By != nil)
		if err != nil {
			return nil, nil, err
		}
		out.Reads[name] = id
		if problem != nil {
			problems = append(problems, *problem)
		}
		out.Resources = append(out.Resources, list...)
		if len(out.Resources) > r.limits.Resources {
			return &Rendering{Root: t.Root, Reads: out.Reads}, append(problems, tooMany(name, r.limits.Resources)), nil
		}
	}
	out.Partial = len(problems) > 0
	return out, problems, nil
}

// Limits bound the cost of one root. The zero value means the defaults, which are far above what real repositories
// need.
type Limits struct {
	Source    doc.Limits // of one file
	Layers    int        // kustomizations that one root includes, counted each time; default 2,000
	Depth     int        // how deep bases may be nested; default 32
	Resources int        // resources of one root; default 20,000
}

func (l Limits) withDefaults() Limits {
	l.Layers = cmp.Or(max(0, l.Layers), 2000)
	l.Depth = cmp.Or(max(0, l.Depth), 32)
	l.Resources = cmp.Or(max(0, l.Resources), 20_000)
	return l
}
