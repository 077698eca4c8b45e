package declared

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// External roots render charts or other repositories, so no file of the repository shows their objects. Searching them
// requires rendering, and perhaps a fetch. They therefore answer last, and only those that may contain the looked-up
// object are searched. The root of the reviewed object still answers first, because it is rendered anyway.

// releaseTime limits the time for which look-ups of one side of a check render external roots. If the check has a
// deadline, the limit is at most half of the remaining time.
const releaseTime = time.Minute

// query is a look-up in external roots.
type query struct {
	render.ObjectQuery
	only     roots.Root // the root to search; the zero root: all
	clusters string     // see wanted
}

// released is the answer of external roots.
type released struct {
	list  []entry
	blind []Blind
}

// Blind is a root that may deploy a looked-up object, and why that is unknown.
type Blind struct {
	Root roots.Root
	Why  doc.Error
}

// Cause returns why the root could not be searched.
func (b Blind) Cause() report.Cause {
	c := diff.CauseOf(b.Why)
	if c.Kind == report.CauseRoot {
		c.Kind, c.What = report.CauseUnseen, b.Why.Path
	}
	return c
}

// of keeps the answers of some roots.
func (r *released) of(is func(roots.Root) bool) *released {
	return &released{
		list:  slices.DeleteFunc(slices.Clone(r.list), func(e entry) bool { return !is(e.root) }),
		blind: slices.DeleteFunc(slices.Clone(r.blind), func(b Blind) bool { return !is(b.Root) }),
	}
}

// released returns the objects that external roots deploy for a query, from the cache if possible. It does not search roots
// that are certainly in none of some clusters; none: it searches all.
func (d *Objects) released(ctx context.Context, q query, own []gitops.Cluster) *released {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.clusters = d.keyOf(own)
	out := d.answers[q]
	if out == nil {
		out = d.lookReleased(ctx, q, own)
		for _, e := range out.list {
			d.Secrets.Object(e.object)
		}
		if ctx.Err() == nil {
			d.answers[q] = out
		}
	}
	if ctx.Value(quietKey{}) == nil {
		for _, b := range out.blind {
			d.warn(b.Root, b.Why)
		}
	}
	return out
}

// lookReleased searches the external roots for a query. The lock is held.
func (d *Objects) lookReleased(ctx context.Context, q query, own []gitops.Cluster) *released {
	out, looked := &released{}, map[roots.Root]bool{}
	may := d.mayDeploy(ctx, q, own)
	d.inTime(ctx, func(ctx context.Context) {
		d.ofKind(ctx, may, q.Kind, func(root roots.Root, found render.Declared) {
			looked[root] = true
			why := ""
			if unseen := d.unseen[root]; len(unseen) > 0 && found.Last.IsZero() {
				e := unseen[0]
				if e.Quotes { // the message quotes a repository that not everybody may read
					e.Message, e.Quotes = "cannot be rendered", false
				}
				out.blind = append(out.blind, Blind{root, e})
				why = e.Error()
			}
			for i, o := range found.Objects {
				if q.asksFor(admission.IdentityOf(o)) {
					e := entry{root: root, digest: found.Digests[i], last: found.Last, unsure: cmp.Or(why, found.Unsure[i])}
					out.list = append(out.list, e.of(o))
				}
			}
		})
	})
	for _, root := range may {
		if !looked[root] {
			out.blind = append(out.blind, Blind{root, d.late(root)})
		}
	}
	return out
}

// ask returns the query for an object, or for all objects of a kind if name is empty.
func ask(group, kind, namespace, name string) query {
	if kinds.ClusterScoped(group, kind) {
		namespace = ""
	}
	return query{ObjectQuery: render.ObjectQuery{Group: group, Kind: kind, Namespace: namespace, Name: name}}
}

// asksFor reports whether an object matches the query.
func (q query) asksFor(id admission.Identity) bool {
	switch {
	case id.Group != q.Group || id.Kind != q.Kind:
		return false
	case q.Name == "":
		return q.Namespace == "" || id.Namespace == q.Namespace
	}
	return is(id, q.Namespace, q.Name)
}

// rootKind identifies the objects of a kind in a root.
type rootKind struct {
	root roots.Root
	kind string
}

// mayDeploy lists the external roots that may deploy what is looked up to some clusters. The lock is held.
func (d *Objects) mayDeploy(ctx context.Context, q query, own []gitops.Cluster) []roots.Root {
	list := []roots.Root{q.only}
	switch {
	case q.only != (roots.Root{}):
	case d.tip != nil: // the tip answers for roots that the change does not affect
		list = d.external()
	default:
		list = d.set.External()
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r roots.Root) bool {
		_, apart := d.shares(own, r)
		return d.In != nil && !d.In(r) || d.tip != nil && !d.touched[r] || apart || !d.set.IsExternal(r)
	})
	may := make([]bool, len(list))
	deploy.Each(len(list), func(i int) {
		may[i] = ctx.Err() == nil && (d.knows(list[i], q.Kind) || d.set.Renderer.MayDeploy(d.set.Target(list[i]), q.ObjectQuery))
	})
	out := list[:0]
	for i, root := range list {
		if may[i] {
			out = append(out, root)
		}
	}
	return out
}

// knows reports whether all objects of a kind in an external root are known without rendering it. The lock is held, by
// the caller or by its caller.
func (d *Objects) knows(root roots.Root, kind string) bool {
	if _, rendered := d.roots[root]; rendered {
		return len(d.unseen[root]) == 0
	}
	key := rootKind{root, kind}
	known, ok := d.known.Load(key)
	if !ok {
		known, ok = d.set.Renderer.KnownOfKind(d.set.Target(root), kind)
		if ok {
			d.known.Store(key, known)
		}
	}
	return ok && known.(render.Declared).Problem == nil
}

// inTime calls do, which renders external roots, with the remaining time. The lock is held.
func (d *Objects) inTime(ctx context.Context, do func(context.Context)) {
	begun, left := time.Now(), releaseTime-d.spent
	if end, ok := ctx.Deadline(); ok {
		left = min(left, end.Sub(begun)/2)
	}
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	do(limited)
	d.spent += time.Since(begun)
}

// late returns the error that there was no time for a root.
func (d *Objects) late(root roots.Root) doc.Error {
	out := doc.Error{Path: root.Path, Unknown: true, Message: "the time limit was reached before it was rendered"}
	if one := d.set.Deployment(root); one != nil {
		out.Path, out.Line = one.Where.Path, one.Where.Line
	}
	return out
}

// warn records that a root is not seen, unless its own check reports that. The lock is held.
func (d *Objects) warn(root roots.Root, why doc.Error) {
	if !slices.Contains(d.given, root) {
		d.blind[Blind{root, why}] = true
	}
}

// brought is released, after or before the change. Objects of a root that the change adds answer only look-ups by that
// root itself.
func (d *Objects) brought(ctx context.Context, a asking, q query, after bool) *released {
	if d.tip == nil {
		return d.released(ctx, q, a.own).of(a.hears)
	}
	was := d.tip.released(ctx, q, a.own).of(a.hears)
	if !after {
		return was
	}
	own := d.released(ctx, q, a.own).of(func(root roots.Root) bool {
		return a.hears(root) && (root == a.root || d.tip.set.Has(root))
	})
	kept := was.of(func(root roots.Root) bool { return !d.touched[root] })
	return &released{append(own.list, kept.list...), append(own.blind, kept.blind...)}
}

// ownRelease returns the matching objects of the reviewed object's root if that is external; nil if it is not.
func (d *Objects) ownRelease(ctx context.Context, a asking, q query, after bool) *released {
	if !d.set.IsExternal(a.root) {
		return nil
	}
	q.only = a.root
	return d.brought(ctx, a, q, after)
}

// maxCauses is the maximum number of causes of one unknown answer.
const maxCauses = 100

// notLooked records why an answer is unknown. words are texts of which the rule's description of it contains one.
func (a asking) notLooked(blind []Blind, words ...string) {
	if len(blind) == 0 {
		return
	}
	var causes []report.Cause
	for _, b := range blind {
		c := b.Cause()
		same := func(d report.Cause) bool { return d.Kind == c.Kind && d.What == c.What && d.Reason == c.Reason }
		if len(causes) < maxCauses && !slices.ContainsFunc(causes, same) {
			causes = append(causes, c)
		}
	}
	a.because(causes, words...)
}

// hides records, as altered by the change, roots that were known before the change and are unknown after it.
func (d *Objects) hides(a asking, was, now []Blind) {
	for _, b := range now {
		if slices.ContainsFunc(was, func(w Blind) bool { return w.Root == b.Root }) {
			continue
		}
		id := admission.Identity{Kind: b.Root.Kind.String(), Name: b.Root.Path}
		if one := d.set.Deployment(b.Root); one != nil {
			group, _ := admission.SplitVersion(one.Object.APIVersion())
			id = admission.Identity{Group: group, Kind: one.Object.Kind, Namespace: one.Object.Namespace, Name: one.Object.Name}
		}
		a.alter(id)
	}
}

// inReleases reports whether a look-up searches releases: it is one of a policy, and not one for the existing kinds
// only.
func inReleases(ctx context.Context) bool {
	_, kinds := kinds.AskedFor(ctx)
	return ctx.Value(askingKey{}) != nil && !kinds
}
