// Package render turns the roots of a repository tree into the resources they deploy, each of which can say
// where any of its fields was written.
//
// Kustomizations are rendered by kustomize itself (krusty) over a file system that holds only the tree;
// what kustomize would fetch, run or read elsewhere is refused before it starts, with a file and a line.
package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/diagnostics"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
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

// Config says how a renderer works. The zero value means the defaults.
type Config struct {
	Limits Limits
	Cache  *Cache // where answers about renderings are kept; nil: nowhere
	// Sources is what was fetched from outside of the repository; nil: nothing is looked for there.
	Sources *remote.Sources
	// Namespaced reports whether objects of a kind live in a namespace; nil: kustomize is asked.
	Namespaced func(apiVersion, kind string) bool
	// AttemptSteps is how many steps the templates of a release may take in renderings that only try out which value
	// decides a field, as the shadow counted them: no clock, so that a place is the same on any machine. A chart of 130
	// resources takes 40,000 for one. Less makes places less exact. 0: 20,000,000.
	AttemptSteps int
}

// Renderer renders roots of one tree. It is safe for concurrent use, and renders a kustomization that sets a schema
// of its own alone in the process: kustomize keeps its schema in a global variable.
type Renderer struct {
	tree       *tree.Tree
	index      *roots.Index
	limits     Limits
	cache      *Cache // nil: nothing is kept
	namespaced func(apiVersion, kind string) bool
	declared   func() []string // see findVersions
	counts     *counts
	known      *lookups
	texts      *texts // see MayBring
	held       *held
	asking     *asking
	inactives  *inactiveLayers
	builds     *builds
	fresh      bool                // no rendering is recalled or kept
	whatever   bool                // what awaits something is rendered without it, also where that is done again
	steps      int                 // see Config.AttemptSteps
	outside    *outside            // what is brought in
	overlay    map[string][]byte   // by path, links resolved
	virtual    *gitops.Virtual     // among these, a kustomization of which nobody can edit a line; nil: there is none
	finder     *diagnostics.Finder // for the files as this renderer sees them
	failed     *sync.Map           // likewise, by folder: []doc.Error, see obstacles
}

// New returns a renderer of the roots of one tree.
func New(x *roots.Index, c Config) *Renderer {
	r := &Renderer{tree: x.Tree(), index: x, limits: c.Limits.withDefaults(), cache: c.Cache, namespaced: c.Namespaced,
		counts: &counts{}, failed: &sync.Map{}, finder: &diagnostics.Finder{Limits: c.Limits.withDefaults().Source},
		outside: &outside{sources: c.Sources}, known: &lookups{}, texts: &texts{}, held: &held{}, asking: &asking{},
		inactives: &inactiveLayers{}, builds: &builds{}, steps: cmp.Or(max(0, c.AttemptSteps), trial.Steps)}
	r.declared = sync.OnceValue(r.findVersions)
	return r
}

// WithSources returns a renderer that takes what comes from outside from other sources, which have the same and note what
// it lacks.
func (r *Renderer) WithSources(s *remote.Sources) *Renderer {
	other := *r
	other.outside, other.held, other.builds = &outside{sources: s}, nil, &builds{} // what is held was asked for by another
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
	other.overlay, other.failed, other.finder = files, &sync.Map{}, &diagnostics.Finder{Limits: r.limits.Source}
	other.known, other.texts, other.held = &lookups{}, &texts{}, nil
	return &other
}

// instead returns a renderer that builds a kustomization in place of a folder's own.
func (r *Renderer) instead(v *gitops.Virtual) *Renderer {
	other := r.With(map[string][]byte{v.Path: v.Data})
	other.virtual = v
	return other
}

// read returns the content and the object id of a file. A file of the overlay has the id of the one that it hides.
func (r *Renderer) read(name string) ([]byte, string, error) {
	if len(r.overlay) > 0 {
		real, e, err := r.lookup(name)
		if data, ok := r.overlay[real]; ok && err == nil {
			return data, e.ID, nil
		}
	}
	if isOutside(name) {
		m, in, ok := r.outside.of(name)
		if !ok {
			return nil, "", fmt.Errorf("%s: %w", name, tree.ErrNotExist)
		}
		return m.read(in)
	}
	return r.tree.ReadFile(name)
}

// readDir lists a folder.
func (r *Renderer) readDir(name string) ([]tree.Entry, error) {
	if m, in, ok := r.outside.of(name); ok && m.file == "" && m.inflated == nil {
		return m.source.Tree.ReadDir(in)
	}
	return r.tree.ReadDir(name)
}

// lookup returns where a path leads, and what is there.
func (r *Renderer) lookup(name string) (string, tree.Entry, error) {
	if isOutside(name) {
		m, in, ok := r.outside.of(name)
		if !ok {
			return "", tree.Entry{}, fmt.Errorf("%s: %w", name, tree.ErrNotExist)
		}
		real, e, err := m.lookup(in)
		if _, made := r.overlay[name]; made && err != nil {
			return name, tree.Entry{Name: path.Base(name), Kind: tree.File}, nil
		}
		return real, e, err
	}
	real, e, err := r.tree.Lookup(name)
	if _, ok := r.overlay[name]; ok && err != nil {
		return name, tree.Entry{Name: path.Base(name), Kind: tree.File}, nil
	}
	return real, e, err
}

// kustomization returns the parsed file of a folder, nil where it has none.
func (r *Renderer) kustomization(dir string) (*kustomization.File, error) {
	var f *kustomization.File
	var err error
	if m, in, ok := r.outside.of(dir); ok {
		f, err = m.kustomization(in, r.limits.Source)
	} else {
		f, err = r.index.Kustomization(dir)
	}
	for _, name := range kustomization.FileNames() {
		p := path.Join(dir, name)
		if data, ok := r.overlay[p]; ok && err == nil && (f == nil || f.Path == p) {
			return kustomization.Parse(p, data, r.limits.Source)
		}
	}
	return f, err
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
	if out, problems := r.held.take(r.ownKey(t)); out != nil {
		return out, problems, nil
	}
	return r.once(ctx, t)
}

// once renders a target that is not a plain folder, perhaps at the same time as somebody else does.
func (r *Renderer) once(ctx context.Context, t Target) (*Rendering, []doc.Error, error) {
	if !r.fresh {
		if out, problems := r.recall(ctx, t); out != nil {
			r.counts.recalled.Add(1)
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
	return out, problems, nil
}

// build renders a kustomization: all of it, or what can be rendered without the entries that stand in the way.
func (r *Renderer) build(root roots.Root) (*Rendering, []doc.Error) {
	p := r.plan(root.Path)
	for name := range p.manifests {
		if _, id, err := r.read(name); err == nil && !isOutside(name) {
			p.reads[name] = id
		}
	}
	nothing := &Rendering{Root: root, Reads: p.reads, wants: p.wants}
	if p.awaits && !r.whatever && r.outside.sources.Provisional {
		return nothing, r.outside.problems(p.problems)
	}
	for r.leave(p) {
		out, failure := r.kustomize(root, p)
		switch {
		case failure == nil:
			out.Partial = len(p.left) > 0
			if p.fleeting || slices.ContainsFunc(p.problems, func(e doc.Error) bool { return !e.Unknown }) {
				out.links = nil // what it lacks may come without a change of what it read
			}
			return out, r.outside.problems(p.problems)
		case r.culprits(p):
		case len(p.problems) == 0:
			return nothing, r.outside.problems(r.without(p.texts).explain(root, p, failure))
		default: // perhaps it is only for what is left out
			nothing.Rest = func() []doc.Error {
				return r.outside.problems(r.without(p.texts).explain(root, p, failure))
			}
			return nothing, r.outside.problems(append(p.problems, doc.Error{Path: p.root.File.Path, Line: 1, Unknown: true,
				Message: "kustomize cannot build the rest without what is missing, so none of it is checked"}))
		}
	}
	return nothing, r.outside.problems(p.problems)
}

func (r *Renderer) kustomize(root roots.Root, p *plan) (*Rendering, error) {
	built := r.run(root.Path, p)
	maps.Copy(p.reads, built.reads)
	if built.err != nil {
		return nil, built.err
	}
	if len(built.nodes) > r.limits.Resources {
		e := tooMany(p.root.File.Path, r.limits.Resources)
		return nil, &e
	}
	build := origin.NewBuild(built.files, p.root, built.nodes, func(name string) ([]byte, error) {
		data, _, err := r.read(name)
		return data, err
	})
	out := &Rendering{Root: root, Reads: p.reads, links: maps.Clone(built.links), wants: p.wants, build: built}
	for _, node := range built.nodes {
		object, ok := doc.Value(node, false).(map[string]any)
		if !ok {
			continue
		}
		res := &Resource{Object: object, node: node}
		res.locator = func(pointer string) origin.Place { return build.Locate(node, pointer) }
		if r.virtual != nil {
			res.through(func(p origin.Place) origin.Place { return real(r.virtual, p) })
		}
		if len(p.wants) > 0 || len(p.inflated) > 0 || isOutside(root.Path) {
			res.through(r.outside.place)
		}
		if why := unprintable(node, true); why != "" {
			res.issue(Unprintable, "", "is or becomes a resource that kustomize cannot print: it "+why)
		}
		if embeds(object) {
			res.issue(EmbeddedItems, "/items", embedded)
		}
		out.Resources = append(out.Resources, res)
	}
	return out, nil
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

// Manifest reads the resources of one plain file and its object id. Documents without apiVersion and kind are
// left out, and so are kustomizations and files that are not YAML but templates of it.
func (r *Renderer) Manifest(name string) ([]*Resource, string, *doc.Error, error) {
	data, id, err := r.read(name)
	var large *tree.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, id, &doc.Error{Path: name, Message: large.Error()}, nil
	case errors.Is(err, tree.ErrNotExist):
		return nil, "", nil, nil
	case err != nil:
		return nil, "", nil, err
	}
	documents, err := doc.Parse(name, data, r.limits.Source)
	var e *doc.Error
	switch {
	case errors.As(err, &e):
		return nil, id, r.refused(name, data), nil
	case err != nil:
		return nil, id, nil, err
	}
	file := origin.NewFile(name, data)
	var list []*Resource
	for _, document := range documents {
		if at := ambiguous(document); at != nil {
			return nil, id, &doc.Error{Path: name, Line: at.Line, Column: at.Column, Message: "stands above a merge key " +
				"(<<) that sets it, too, and programs disagree which one counts: put the merge key first"}, nil
		}
		for _, node := range doc.Unlist(document) {
			object, ok := doc.Value(node, true).(map[string]any)
			if !ok || !deployable(object) {
				continue
			}
			res := &Resource{Object: object, node: node, plain: true}
			res.locator = func(pointer string) origin.Place { return file.Locate(node, pointer) }
			if embeds(object) {
				res.issue(EmbeddedItems, "/items", embedded)
			}
			list = append(list, res)
		}
	}
	return list, id, nil, nil
}

// deployable reports whether an object is one that a cluster stores: configuration of kustomize and of the
// Kyverno command line has the same shape, but no server knows it.
func deployable(o map[string]any) bool {
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	if apiVersion == "" || kind == "" {
		return false
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return group != "kustomize.config.k8s.io" && group != "cli.kyverno.io"
}
