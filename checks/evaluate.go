package checks

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/defaults"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// evaluate renders what the change reaches at both commits and asks the policies about every difference.
func (r *run) evaluate(ctx context.Context) error {
	base := render.New(r.baseGraph, render.Config{Limits: r.settings.Limits.render(), Namespaced: kinds.HasNamespace, Cache: &r.warm.renders})
	head := render.New(r.headGraph, render.Config{Limits: r.settings.Limits.render(), Namespaced: kinds.HasNamespace, Cache: &r.warm.renders})
	reached := r.reached()
	r.report.Stats.Roots = len(reached)
	cluster := newDeclared(r.headGraph, head, r.settings.Context)
	rendered := make([]rootChange, len(reached))
	each(len(reached), func(i int) { rendered[i] = r.render(ctx, reached[i], base, head, cluster) })
	var reviews, moved []*pair
	for i, root := range reached {
		out := &rendered[i]
		if out.err != nil {
			return out.err
		}
		if len(out.base) > 0 && r.headGraph.Has(root) {
			r.report.Warnings = append(r.report.Warnings, report.Problem{Path: out.base[0].Path, Line: out.base[0].Line,
				Message: "the base could not be rendered, so everything in " + root.Path + " counts as new: " + out.base[0].Message})
		}
		r.sourceErrors(out.head)
		reviews = append(reviews, out.pairs...)
		moved = append(moved, out.moved...)
	}
	r.deployProblems()
	if err := r.unreadFiles(head); err != nil {
		return err
	}
	reviews = join(reviews, moved)
	r.report.Stats.Resources = len(reviews)
	r.issues(reviews)
	err := r.review(ctx, reviews, cluster)
	r.report.Work = &report.Work{}
	for _, renderer := range []*render.Renderer{base, head} {
		built, recalled := renderer.Counts()
		r.report.Work.Rendered += built
		r.report.Work.Recalled += recalled
	}
	r.report.Warnings = append(r.report.Warnings, cluster.warnings()...)
	return err
}

// admitted answers a resource as policies see it in a cluster: with the API server's defaults.
func admitted(r *render.Resource) *render.Resource {
	if r == nil {
		return nil
	}
	with := *r
	with.Object = defaults.Apply(r.Object)
	return &with
}

// rootChange is what a change makes of one root.
type rootChange struct {
	pairs      []*pair
	moved      []*pair        // removals that count only where another root has the object now
	base, head []source.Error // what stands in the way of rendering either side
	err        error
}

// render renders one root at both commits. It is safe for concurrent use.
func (r *run) render(ctx context.Context, root roots.Root, base, head *render.Renderer, cluster *declared) (out rootChange) {
	var before, after []*render.Resource
	inBase, inHead := !r.change.All && r.baseGraph.Has(root), r.headGraph.Has(root)
	var old *render.Rendering
	if inBase {
		if old, out.base, out.err = base.Render(ctx, root); out.err != nil {
			return out
		}
		before, out.base = old.Resources, append(out.base, old.Broken()...)
	}
	if inBase && inHead && len(out.base) == 0 && old.Same(head) {
		cluster.rendered(root, before)
		return out // nothing that it reads changed
	}
	if remains := inBase && r.headGraph.Remains(r.baseGraph, root); inHead || remains {
		var now *render.Rendering
		if remains {
			now, out.head, out.err = head.RenderRemains(ctx, r.baseGraph, root)
		} else {
			now, out.head, out.err = head.Render(ctx, root)
		}
		if out.err != nil {
			return out
		}
		after, out.head = now.Resources, append(out.head, now.Broken()...)
		if inHead {
			cluster.rendered(root, after)
		}
		// What could not be read is not deleted.
		if len(out.head) > 0 && root.Kind != roots.Folder {
			return out
		}
		if len(out.head) > 0 {
			unread := func(res *render.Resource) bool {
				file := res.Origin("").Path
				return slices.ContainsFunc(out.head, func(e source.Error) bool { return e.Path == file })
			}
			before, after = slices.DeleteFunc(before, unread), slices.DeleteFunc(after, unread)
		}
	}
	out.pairs = pairs(root, before, after, r.change.All)
	if !inHead { // what another root has now, too, has moved there
		out.moved = pairs(root, both(before, after), nil, false)
	}
	for _, p := range slices.Concat(out.pairs, out.moved) {
		p.old, p.new = admitted(p.old), admitted(p.new)
	}
	return out
}

// each calls do for 0 to n-1, on all processors. A panic of do is one of each.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	var once sync.Once
	var panicked any
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					once.Do(func() { panicked = p })
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
	if panicked != nil {
		panic(panicked)
	}
}

// reached lists the roots of either side that the change reaches.
func (r *run) reached() []roots.Root {
	if r.change.All {
		return r.headGraph.All()
	}
	var paths, links []string
	for _, d := range r.differences {
		paths = append(paths, d.Path)
		if d.Old != nil && d.Old.Kind == tree.Symlink || d.New != nil && d.New.Kind == tree.Symlink {
			links = append(links, d.Path)
		}
	}
	return roots.Between(r.baseGraph, r.headGraph, paths, links)
}
