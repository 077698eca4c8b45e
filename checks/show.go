package checks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Show answers a query about what a tree deploys: its roots, the objects of one root, or their places. It uses the
// caches of earlier checks. Errors of the query are in the answer; it fails for errors of the repository or the
// machine.
func (c *Checker) Show(ctx context.Context, q report.Query) (out *report.Showing, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(q.GitDir, q.Cache)
	defer c.forgetAfter(&err, k)
	objects, err := tree.Open(ctx, tree.Config{GitDir: q.GitDir, Alternates: q.Alternates, Git: q.Git, Store: &k.blobs})
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	t, err := objects.Tree(q.Head)
	if err != nil {
		return nil, err
	}
	from, err := diff.OpenRemoteSources(ctx, q.Sources, q.Git, &k.fetched)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	have, _ := from.Sources()
	own, problems, err := settings.Read(t) // errors of the settings are part of a layout only; otherwise a check reports them
	if err != nil {
		return nil, err
	}
	from.Apply(own.Limits.FileBytes, own.Limits.Files, own.Sources.Allow)
	s := &shower{Query: q, objects: objects, tree: t, settings: own, problems: problems, graphs: &k.graphs,
		config: render.Config{Namespaced: kinds.HasNamespace, Sources: have, Cache: &k.renderings,
			Progress: progress.From(ctx)}}
	if s.Show == report.ShowPlaces {
		s.config.AttemptSteps = placesSteps
	}
	out, err = s.show(ctx)
	if err := cmp.Or(err, objects.Err(), from.Err()); err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		k.renderings.Save()
	}
	if wanted := from.Wanted(); wanted != nil {
		return &report.Showing{Wanted: wanted}, nil
	}
	return out, nil
}

// shower answers one query.
type shower struct {
	report.Query
	objects  *tree.Objects
	tree     *tree.Tree
	settings *settings.Settings
	problems []report.Problem // problems of the settings
	graphs   *graph.Cache
	config   render.Config
	sorted   bool // print resources in the order of the program kustomize
}

func (s *shower) show(ctx context.Context) (*report.Showing, error) {
	out := &report.Showing{}
	switch s.Show {
	case report.ShowLayout:
		return asJSON(s.layout(ctx))
	case report.ShowPolicies:
		return asJSON(s.policies(ctx))
	case report.ShowRoots, report.ShowNames:
		list, err := s.roots(ctx)
		if err != nil {
			return nil, err
		}
		out.Roots = report.Mapped(list, func(r report.ListedRoot) report.ListedRoot {
			return report.ListedRoot{Name: r.Name, Kind: r.Kind}
		})
		out.Text, err = inFormat(s, list)
		return out, err
	}
	found, err := s.find()
	var rendering *render.Rendering
	var problems []doc.Error
	name := fmt.Sprintf("masked-%s-%s-%t-%t-%t-%d", s.Show, cmp.Or(s.Output, "default"), s.sorted, s.Chain, s.Color, s.Width)
	if err == nil {
		// For a large chart, printing takes longer than rendering, so the printed text is cached.
		if text, ok := found.by.Cached(found.target, name); ok {
			out.Text = text
			return out, nil
		}
		rendering, problems, err = found.render(ctx)
	}
	var unable *unableError
	switch {
	case errors.As(err, &unable):
		out.Unable = unable.Error()
		return out, nil
	case err != nil:
		return nil, err
	}
	out.Said = report.Mapped(append(problems, rendering.Broken()...), func(e doc.Error) string { return e.Error() })
	if out.Text, err = s.printed(rendering); err == nil && len(out.Said) == 0 {
		found.by.CacheText(rendering, name, out.Text)
	}
	return out, err
}

func asJSON(v any, err error) (*report.Showing, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	return &report.Showing{Text: text}, err
}

// inFormat prints an answer in the requested format.
func inFormat[V output.Value](s *shower, answer V) ([]byte, error) {
	var text bytes.Buffer
	err := output.Write(s.Output, &text, answer, output.Options{Chain: s.Chain, Color: s.Color, Width: s.Width})
	return text.Bytes(), err
}

// printed prints the objects of a rendering, or their places.
func (s *shower) printed(rendering *render.Rendering) ([]byte, error) {
	if s.Show == report.ShowObjects {
		resources := rendering.Resources
		if s.sorted {
			resources = render.InPrintedOrder(resources)
		}
		return inFormat(s, report.Mapped(resources, func(r *render.Resource) report.Object { return r.Made() }))
	}
	whole, err := rendering.Whole()
	if err != nil {
		return nil, err
	}
	list, err := blamed(whole.Resources)
	if err != nil {
		return nil, err
	}
	return inFormat(s, list)
}

// unableError is an error of the query, whose text becomes part of the answer.
type unableError struct{ error }

func unable(format string, args ...any) error { return &unableError{fmt.Errorf(format, args...)} }

// placesSteps is render.Config.AttemptSteps for queries about all fields of a release. For a large chart, a more
// thorough search takes many times as long as rendering.
const placesSteps = 1_000_000

// open finds the roots of a tree.
func (s *shower) open(t *tree.Tree, o roots.Options) (*deploy.Set, error) {
	set, err := deploy.Open(t, o, s.graphs, s.config)
	if err == nil {
		set.ForClusters(s.settings.Rendered(s.settings.Of(set))) // only the clusters in effect are listed
	}
	return set, err
}

// shown finds the roots of the tree that is shown.
func (s *shower) shown() (*deploy.Set, error) {
	return s.open(s.tree, roots.Options{Repository: s.Repository, Branches: s.Branches, Charts: s.settings.ChartEntries(),
		Unrestricted: s.settings.Unrestricted()})
}

// roots lists the roots, and renders them unless only names are asked for.
func (s *shower) roots(ctx context.Context) ([]report.ListedRoot, error) {
	set, err := s.shown()
	if err != nil {
		return nil, err
	}
	set = set.Settled()
	if s.Show != report.ShowNames {
		set.Complete()
	}
	list := set.List()
	out := make([]report.ListedRoot, len(list))
	errs := make([]error, len(list))
	count := progress.From(ctx).Count("rendering", len(list))
	deploy.Each(len(list), func(i int) {
		defer count.Begin(list[i].Name)()
		out[i] = report.ListedRoot{Name: list[i].Name, Kind: list[i].As.String(), Path: list[i].Path, OK: true}
		if s.Show == report.ShowNames {
			return
		}
		rendering, problems, err := set.Render(ctx, list[i].Root)
		if errs[i] = err; err != nil {
			return
		}
		if problems = append(problems, rendering.Broken()...); len(problems) > 0 {
			out[i].OK, out[i].Reason = false, problems[0].Error()
			if n := len(problems) - 1; n > 0 {
				out[i].Reason += fmt.Sprintf(" (and %d more)", n)
			}
		}
	})
	return out, errors.Join(errs...)
}

// shownRoot is the queried root, and what renders it.
type shownRoot struct {
	by     *render.Renderer
	target render.Target
	render func(context.Context) (*render.Rendering, []doc.Error, error)
}

func shownOf(set *deploy.Set, root roots.Root) *shownRoot {
	return &shownRoot{set.Renderer, set.Target(root), func(ctx context.Context) (*render.Rendering, []doc.Error, error) {
		return set.Render(ctx, root)
	}}
}

// find finds the queried root, or the root that the object named by As deploys. It indexes the whole repository only if
// the root is not a kustomization.
func (s *shower) find() (*shownRoot, error) {
	if s.As == "" {
		index, err := roots.Unindexed(s.tree, roots.Options{})
		if err != nil {
			return nil, err
		}
		for _, p := range s.Root.Paths {
			if f, broken := index.Kustomization(p); f != nil || broken != nil {
				s.sorted = f != nil && s.Show == report.ShowObjects && !f.Sorts()
				return s.kustomization(index, roots.Root{Path: p}), nil
			}
			if _, e, err := s.tree.Lookup(p); err == nil && (e.Kind == tree.File || e.Kind == tree.Dir) {
				break
			}
		}
	}
	set, err := s.shown()
	if err != nil {
		return nil, err
	}
	if s.As != "" {
		return s.deployed(set)
	}
	return s.plain(set)
}

// kustomization returns a kustomization that is rendered without indexing the other roots. If that has problems, it is
// rendered again with the whole repository: kustomizations that Flux deploys, or the settings, may have fewer
// restrictions.
func (s *shower) kustomization(index *roots.Index, root roots.Root) *shownRoot {
	one := &shownRoot{by: render.New(index, s.config), target: render.Target{Root: root}}
	one.render = func(ctx context.Context) (*render.Rendering, []doc.Error, error) {
		out, problems, err := one.by.Render(ctx, one.target)
		if err != nil || len(problems) == 0 {
			return out, problems, err
		}
		if set, err := s.shown(); err == nil && set.Unrestricted() {
			one.by = set.Renderer
			return set.Render(ctx, root)
		}
		return out, problems, nil
	}
	return one
}

// plain finds the first of the paths that is a folder of manifests, a kustomization or a manifest; otherwise the root
// with the name that the user wrote.
func (s *shower) plain(set *deploy.Set) (*shownRoot, error) {
	for _, p := range s.Root.Paths {
		folder := roots.Root{Path: p, Kind: roots.Folder}
		if f, broken := set.Kustomization(p); f != nil || broken != nil {
			return shownOf(set, roots.Root{Path: p}), nil
		}
		if len(set.Files(folder)) > 0 {
			return shownOf(set, folder), nil
		}
		if real, e, err := s.tree.Lookup(p); err == nil && e.Kind == tree.File {
			return &shownRoot{set.Renderer, render.Target{Root: folder}, func(context.Context) (*render.Rendering, []doc.Error, error) {
				list, _, problem, err := set.Renderer.Manifest(real)
				out := &render.Rendering{Root: folder, Resources: list}
				switch {
				case err != nil:
					return nil, nil, err
				case problem != nil:
					return out, []doc.Error{*problem}, nil
				case len(list) > 0:
					return out, nil, nil
				}
				return nil, nil, unable("%s holds no manifest", p)
			}}, nil
		}
	}
	if len(s.Root.Paths) == 0 {
		return nil, unable("the root must be a path in the repository, or a name listed by \"lintel roots\"")
	}
	for _, name := range slices.Compact(append([]string{path.Clean(s.Root.Name)}, s.Root.Paths...)) {
		root, err := set.Find(name)
		var ambiguous *deploy.AmbiguousNameError
		switch {
		case err == nil:
			return shownOf(set, root), nil
		case errors.As(err, &ambiguous):
			return nil, &unableError{err}
		}
	}
	_, err := set.Find(s.Root.Paths[0])
	return nil, &unableError{err}
}

// deployed finds the root that is a folder as deployed by the object named by As.
func (s *shower) deployed(set *deploy.Set) (*shownRoot, error) {
	var names []string
	for _, p := range slices.Compact(slices.Clone(s.Root.Paths)) {
		for _, root := range set.Of(p) {
			switch one := set.Deployment(root); {
			case one == nil || root.Path != p:
			case one.Name == s.As:
				return shownOf(set, root), nil
			default:
				names = append(names, one.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil, unable("no Application or Flux Kustomization changes how this folder is rendered")
	}
	return nil, unable("%q does not deploy this folder; these do: %s", s.As, strings.Join(slices.Compact(names), ", "))
}
