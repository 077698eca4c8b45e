package diff

import (
	"cmp"
	"context"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// Sides renders both sides of a change. It is safe for concurrent use.
type Sides struct {
	Trees      *Trees
	Base, Head *deploy.Set // the roots of Trees
	All        bool        // everything in the head counts as created; the base is not rendered

	// Placement returns where a root of one side is deployed; nil: deploy.Set.Placement.
	Placement func(*deploy.Set, roots.Root) deploy.Placement
}

// Root is the effect of a change on one root.
type Root struct {
	roots.Root
	Pairs      []*Pair
	Moved      []*Pair            // removals that only count if another root has the object now
	Base, Head []doc.Error        // errors of rendering either side, or parts of it
	Unseen     map[string]string  // files that rendering the base would have read, with object ids, if the base has no result
	Deployed   []*render.Resource // objects that the head deploys from this root
	Known      bool               // Deployed is complete
	Notes      []doc.Error        // see render.Rendering.Notes; of a head that differs from the base
	Reads      map[string]string  // files that either side read, with object ids; "" for a missing one
	Was, Now   []render.Use       // remote sources of either side
	From       []string           // git repositories of either side: see render.Renderer.Repositories

	was, now *render.Rendering  // nil if not rendered
	before   []*render.Resource // objects that the base deploys from this root
	rest     func() []doc.Error // see render.Rendering.Rest; of the base
}

// Before returns the objects that the base deploys from a root that is rendered on both sides.
func (r *Root) Before() []*render.Resource { return r.before }

// Renderings returns the renderings of the root at the base and at the head; nil if not rendered.
func (r *Root) Renderings() (was, now *render.Rendering) { return r.was, r.now }

// Reached lists the roots of either side that the change affects; with All, all roots of the head.
func (s Sides) Reached() []roots.Root {
	if s.All {
		s.Head.Complete()
		return s.Head.All()
	}
	paths, links := s.Trees.Touched()
	return deploy.Between(s.Base, s.Head, paths, links)
}

// Standalone renders affected kustomizations of the head that are no roots and have no known deployer (see
// deploy.Set.Standalone). It returns the effect of the change on each of them. One that does not render is left out,
// since roots that include it do not render either. Roots in known are left out, too. With All it returns none: what a
// base lacks and its overlays add is no useful finding.
func (s Sides) Standalone(ctx context.Context, known []*Root) (list []*Root, _ error) {
	if s.All {
		return nil, nil
	}
	for _, root := range s.Head.Standalone(s.Trees.Touched()) {
		if slices.ContainsFunc(known, func(r *Root) bool { return r.Root == root }) {
			continue
		}
		out := &Root{Root: root}
		var before []*render.Resource
		if f, err := s.Base.Kustomization(root.Path); f != nil && err == nil {
			old, problems, err := s.Base.Render(ctx, root)
			if err != nil {
				return nil, err
			}
			out.From = s.Base.Renderer.Repositories(old)
			if before = old.Resources; len(problems) == 0 && s.Head.Same(old) {
				continue
			}
		}
		now, problems, err := s.Head.Render(ctx, root)
		if err != nil {
			return nil, err
		}
		if len(problems) == 0 || now.Partial {
			out.Pairs, out.From = Pairs(root, before, now.Resources, false), append(out.From, s.Head.Renderer.Repositories(now)...)
			list = append(list, out)
		}
		for _, p := range out.Pairs {
			p.Old, p.New = deployers{nil}.admitted(p.Old), deployers{nil}.admitted(p.New)
		}
	}
	return list, nil
}

// Render renders one root on both sides and pairs the objects. Errors of rendering are in the result. It fails for
// errors of the repository and of the context.
func (s Sides) Render(ctx context.Context, root roots.Root) (*Root, error) {
	out := &Root{Root: root}
	inBase, inHead := !s.All && s.Base.Has(root), s.Head.Has(root)
	if !inHead && inBase && (s.Base.IsAdopted(root, s.Head) || s.released(root)) {
		inBase = false // nothing deployed it
	}
	if inHead && !s.All && s.Head.IsAbandoned(root, s.Base) {
		if inHead = false; !inBase { // what the base deploys is deleted
			return out, nil
		}
	}
	at := s.placement(root, inBase, inHead)
	var before []*render.Resource
	was, as := deployers{nil}, deployersOf(s.Head, root)
	var uninstalled *deploy.Deployment
	if inBase {
		uninstalled = s.uninstalled(root)
		was = deployersOf(s.Base, root)
		old, problems, err := s.Base.Render(ctx, root)
		if err != nil {
			return nil, err
		}
		if before, err = s.decided(ctx, s.Base, root, old.Resources); err != nil {
			return nil, err
		}
		out.before, out.was = before, old
		out.Was, out.From = s.Base.Uses(old), s.Base.Renderer.Repositories(old)
		out.Base, out.rest, out.Reads = problems, old.Rest, maps.Clone(old.Reads)
		if len(problems) > 0 && !old.Partial {
			out.Unseen = old.Reads
		}
		if inHead && !at.moves() && uninstalled == nil && (len(problems) == 0 || old.Partial && !s.concernsMore(root, old)) && s.Head.Same(old) {
			now, err := s.decided(ctx, s.Head, root, old.Resources)
			if err != nil {
				return nil, err
			}
			if slices.Equal(now, before) { // no file that it reads changed
				out.Deployed, out.Known, out.Base = before, len(problems) == 0, nil
				out.Now, out.From = s.Head.Uses(old), append(out.From, s.Head.Renderer.Repositories(old)...)
				return out, nil
			}
		}
	}
	var after []*render.Resource
	if remains := inBase && len(at.before.Clusters) == 0 && s.Head.HasFormer(s.Base, root); inHead || remains {
		now, problems, err := s.now(ctx, root, remains)
		if err != nil {
			return nil, err
		}
		out.now = now
		if after, err = s.decided(ctx, s.Head, root, now.Resources); err != nil {
			return nil, err
		}
		out.Head, out.Notes = problems, now.Notes(ctx)
		out.Now, out.From = s.Head.Uses(now), append(out.From, s.Head.Renderer.Repositories(now)...)
		if out.Reads == nil {
			out.Reads = map[string]string{}
		}
		maps.Copy(out.Reads, now.Reads)
		if inHead {
			out.Deployed, out.Known = after, true
		}
		switch { // an object of an unreadable file is not deleted
		case len(problems) == 0:
		case !now.Partial:
			return out, nil
		case root.Kind == roots.Folder:
			gone := missing(after)
			before = slices.DeleteFunc(slices.Clone(before), func(r *render.Resource) bool { return in(problems, r) && gone(r) })
		case slices.ContainsFunc(out.Obstacles(nil), func(o Obstacle) bool { return !o.Before }):
			before = Both(before, after)
		}
	}
	unseen := inBase && !inHead && s.Head.Unseen(s.Base, root)
	if !unseen {
		out.Pairs = at.pairs(root, withNamespace(before, s.Base, root), withNamespace(after, s.Head, root), s.All || uninstalled != nil)
	}
	for _, p := range out.Pairs {
		if len(at.added) == 0 {
			p.unseen, p.head = out.Unseen, &s.Trees.Head
		}
	}
	if s.fallsOut(at, inBase, inHead, out.Reads) {
		for _, p := range out.Pairs {
			p.Before, p.From = p.New, root
		}
	}
	switch {
	case unseen: // the base has no result, so all objects may still exist
		out.Moved = Pairs(root, before, nil, false)
	case !inHead: // an object that another root has now has moved there
		out.Moved = Pairs(root, Both(before, after), nil, false)
	case root.Kind == roots.Folder:
		out.Moved = Pairs(root, outside(Both(before, after), s.Head.Files(root)), nil, false)
	}
	unsent := func(p *Pair) bool {
		p.uninstalled = p.Old != nil && !p.Old.Created && uninstalled != nil && !uninstalled.Keeps(p.Old.Object, true)
		return !p.sent(was, as) || uninstalled != nil && p.Operation == admission.Update && !p.uninstalled && same(p.Old, p.New)
	}
	out.Pairs, out.Moved = slices.DeleteFunc(out.Pairs, unsent), slices.DeleteFunc(out.Moved, unsent)
	for _, p := range slices.Concat(out.Pairs, out.Moved) {
		p.Old, p.New, p.Before = was.admitted(p.Old), as.admitted(p.New), was.admitted(p.Before)
		at.place(p)
	}
	return out, nil
}

// released reports whether the base deploys a chart nowhere, and the head has it in releases only. What it prints by itself was in
// no cluster.
func (s Sides) released(root roots.Root) bool {
	return root.Kind == roots.Chart && root.Object == "" && len(s.Base.Placement(root).Clusters) == 0 &&
		s.Trees.Head.Blob(path.Join(root.Path, "Chart.yaml")) != "" && s.Head.Deploying.Any()
}

// concernsMore reports whether the change touches a file that a root names and that its partial rendering did not read, as something
// is missing: the values of a chart, for example.
func (s Sides) concernsMore(root roots.Root, partial *render.Rendering) bool {
	paths, _ := s.Trees.Touched()
	return slices.ContainsFunc(paths, func(p string) bool {
		_, read := partial.Reads[p]
		return !read && slices.ContainsFunc([]*deploy.Set{s.Base, s.Head}, func(set *deploy.Set) bool {
			return set.NamesFile(root, p)
		})
	})
}

// withNamespace adds the Namespace that what deploys a root creates, unless the root has it.
func withNamespace(list []*render.Resource, set *deploy.Set, root roots.Root) []*render.Resource {
	if set == nil {
		return list
	}
	created := set.CreatedNamespace(root)
	if created == nil || slices.ContainsFunc(list, func(r *render.Resource) bool { return KeyOf(r) == KeyOf(created) }) {
		return list
	}
	return append(slices.Clip(list), created)
}

// deployers are what deploys a root; nil stands for an unknown one.
type deployers []*gitops.Deployment

func deployersOf(set *deploy.Set, root roots.Root) deployers {
	list := report.Mapped(set.Deployers(root), func(d *deploy.Deployment) *gitops.Deployment { return &d.Deployment })
	if len(list) == 0 {
		return deployers{nil}
	}
	return list
}

// phases returns what each deployer does with a resource.
func (list deployers) phases(r *render.Resource) []gitops.Phase {
	return report.Mapped(list, func(d *gitops.Deployment) gitops.Phase { return d.Phase(r.Object) })
}

// sent limits a pair to what the deployers of both sides send to the cluster, and reports whether that is anything. An
// object that one of them did not send until now is created.
func (p *Pair) sent(was, as deployers) bool {
	if p.New != nil {
		if len(as) == 1 && p.ignore(as[0]) {
			return false
		}
		phase := slices.Min(as.phases(p.New))
		p.hook = phase == gitops.Renewed || phase == gitops.Deferred
		p.Recreate = !slices.ContainsFunc(as, func(d *gitops.Deployment) bool { return !d.Forces(p.New.Object) })
		p.replaced = p.uninstalled || p.Old != nil && slices.ContainsFunc(as, func(d *gitops.Deployment) bool {
			return d.Replaces(p.Old.Object, p.New.Object)
		})
		switch earlier := cmp.Or(p.Old, p.Before); {
		case phase == gitops.Skipped || phase == gitops.Ignored && p.Old == nil:
			return false
		case phase == gitops.Ignored:
			p.Operation, p.New = admission.Delete, nil
		case earlier != nil && phase < gitops.Deferred && slices.Max(was.phases(earlier)) >= gitops.Deferred:
			p.Operation, p.Old, p.Before = admission.Create, nil, nil
		case p.Old != nil && !slices.ContainsFunc(as, func(d *gitops.Deployment) bool { return !d.Creates(p.New.Object) }):
			return false
		}
	}
	return p.New != nil || slices.Min(was.phases(p.Old)) < gitops.Deferred
}

// ignore gives the fields of an updated object that its deployer leaves as the cluster has them the values from before. It
// reports whether nothing else differs.
func (p *Pair) ignore(d *gitops.Deployment) (all bool) {
	if p.Operation != admission.Update {
		return false
	}
	for _, pointer := range d.Ignores(p.New.Object) {
		was, had := jsonpointer.Lookup(p.Old.Object, pointer)
		now, has := jsonpointer.Lookup(p.New.Object, pointer)
		if had == has && reflect.DeepEqual(was, now) {
			continue
		}
		if object, ok := (engine.Change{Field: pointer, Value: was, Remove: !had}).Apply(p.New.Object); ok {
			p.New, all = p.New.Admitted(object), true
		}
	}
	return all && same(p.Old, p.New)
}

func (s Sides) now(ctx context.Context, root roots.Root, remains bool) (*render.Rendering, []doc.Error, error) {
	if remains {
		return s.Head.RenderFormer(ctx, s.Base, root)
	}
	return s.Head.Render(ctx, root)
}

// in reports whether a resource is written in a file with an error.
func in(problems []doc.Error, r *render.Resource) bool {
	file := r.Origin("").Path
	return slices.ContainsFunc(problems, func(e doc.Error) bool { return e.Path == file })
}

// outside lists the resources that are written in none of the files.
func outside(list []*render.Resource, files []string) []*render.Resource {
	return slices.DeleteFunc(list, func(r *render.Resource) bool { return slices.Contains(files, r.Origin("").Path) })
}

// admitted returns a resource as policies see it in admission review: with what its deployer adds and the API server's
// defaults. Of several deployers it is the first: they differ in the values of labels only.
func (list deployers) admitted(r *render.Resource) *render.Resource {
	if r == nil {
		return nil
	}
	return r.Admitted(apiserver.Received(list[0].Owned(r.Object)))
}

// Work returns the counts of renderings so far.
func (s Sides) Work() *report.Work {
	work := &report.Work{}
	for _, renderer := range []*deploy.Set{s.Base, s.Head} {
		built, recalled := renderer.Renderer.Counts()
		work.Rendered += built
		work.Recalled += recalled
	}
	return work
}
