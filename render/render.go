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

	// Issues are what keeps the resource from being deployed as it is, or is not known of that.
	Issues []Issue

	made    func() map[string]any // Object as Helm printed it; nil: there is no difference
	locator Locator               // nil where the rendering was recalled
	in      *places               // that are kept; nil: they are not
	index   int                   // of the resource in these
	node    *yaml.Node            // nil where the rendering was recalled
	plain   bool                  // read from a file as it is, not built: see doc.Value

	manifest int         // the number of what Helm printed it in; 0: something else made it
	fragment func() bool // see Fragment; nil: it is none
}

// Fragment reports whether the resource may be part of another one (see deploy.Set.IsFragment).
func (r *Resource) Fragment() bool { return r.fragment != nil && r.fragment() }

// MayBeFragments has the resources say whether they may be parts of others.
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
	Partial   bool              // there are problems, and the resources are what is deployed without what they are about
	target    Target
	asked     env.Asked         // all that it rests on; nil: that is not known, or may be another without a change of anything
	links     map[string]string // where paths led that met a symlink; nil: it cannot be kept
	build     *sharedBuild      // that it is made of, held for others; nil: it is no kustomization, or was recalled
	versions  askedVersions     // what the chart asked of the API versions
	lookups   []helm.Lookup     // what the chart asked the cluster for
	wants     wants             // what was asked for from outside
	notes     func(context.Context) []doc.Error
	inactive  func() []*Resource         // the HelmRelease with its post renderers that match nothing; nil: it is no release
	whole     func() (*Rendering, error) // see Whole; nil: it was not recalled

	// Rest finds what kustomize says against the rest of a root of which nothing is rendered because a part is missing. It
	// may be only that the part is missing, so this is no problem by itself. nil: there is nothing to find.
	Rest func() []doc.Error
}

// Config describes how a renderer works. The zero value means the defaults.
type Config struct {
	Limits Limits
	Cache  *Cache // where answers about renderings are kept; nil: nowhere
	// Progress is told what is rendered to find out what is deployed; nil: nobody is.
	Progress progress.Func
	// Sources is what was fetched from outside of the repository; nil: nothing is looked for there.
	Sources *remote.Sources
	// Namespaced reports whether objects of a kind live in a namespace; nil: kustomize is asked.
	Namespaced func(apiVersion, kind string) bool
	// Branch says that the tree is the tip of the base branch, now: what it comes to is the last that is known of it (see
	// LastOfKind). The zero time says that it is not.
	Branch time.Time
	// AttemptSteps is how many steps the templates of a release may take in renderings that only try out which value
	// decides a field, as the shadow counted them: no clock, so that a place is the same on any machine. A chart of 130
	// resources takes 40,000 for one. Less makes places less exact. 0: 20,000,000.
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
	texts      *texts // see MayDeploy
	memo       *memo
	asking     *asking
	inactives  *inactiveLayers
	fresh      bool // no rendering is recalled or kept
	branch     time.Time
}

// New returns a renderer of the roots of one tree.
func New(x *roots.Index, c Config) *Renderer {
	r := &Renderer{builder: newBuilder(x, c.Limits.withDefaults(), &mounts{sources: c.Sources}), namespaced: c.Namespaced,
		counts: &counts{}, texts: &texts{}, memo: &memo{}, asking: &asking{}, inactives: &inactiveLayers{}}
	r.cache, r.steps = c.Cache, cmp.Or(max(0, c.AttemptSteps), trial.Steps)
	r.branch = c.Branch
	r.declared = sync.OnceValue(r.findVersions)
	r.lookups = &lookups{renderer: r}
	return r
}

// WithSources returns a renderer that takes what comes from outside from other sources, which have the same and note what
// it lacks.
func (r *Renderer) WithSources(s *remote.Sources) *Renderer {
	other := *r
	other.mounts, other.memo, other.builds = &mounts{sources: s}, nil, &builds{} // its renderings are those of another
	return &other
}

// counts is how much a renderer, and those made from it, did.
type counts struct{ built, recalled atomic.Int64 }

// Counts returns how many kustomizations were built, and how many remembered renderings were used in place of that.
func (r *Renderer) Counts() (built, recalled int) {
	return int(r.counts.built.Load()), int(r.counts.recalled.Load())
}

// With returns a renderer that sees other contents of some files: by path, with links resolved. Files that the tree
// does not have must be kustomizations. The graph stays that of the tree.
func (r *Renderer) With(files map[string][]byte) *Renderer {
	other := *r
	other.builder, other.texts, other.memo = *r.with(files), &texts{}, nil
	other.lookups = &lookups{renderer: &other}
	return &other
}

// Render renders one target. The problems are what stands in the way of rendering all of it; where they are about parts
// of it, the rest is rendered (see Rendering.Partial). What is wrong with single resources is not among them: see
// Resource.Issues. The error is about the repository or the context, not about what is written in it.
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
	return r.once(ctx, t)
}

// once renders a target that is not a plain folder, perhaps at the same time as somebody else does.
func (r *Renderer) once(ctx context.Context, t Target) (*Rendering, []doc.Error, error) {
	if !r.fresh {
		if out, problems := r.recall(ctx, t); out != nil {
			r.counts.recalled.Add(1)
			if len(problems) == 0 {
				r.keepLast(out)
			}
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
	return out, problems, nil
}

// files reads the manifests of a target as they are.
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
		list, id, problem, err := r.Manifest(real)
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
