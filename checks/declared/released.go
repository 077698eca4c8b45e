package declared

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/roots"
)

// What a chart prints, and what comes from other repositories, no file here says: to look there takes rendering, and what
// is not here has to be fetched. So these roots answer last, and of them only those that may have what is looked up. The
// root of the object that is judged still answers first: it is rendered anyway.

// releaseTime is how long look-ups of one side of a check may render such roots; where the check has a deadline, it is
// at most half of what is left.
const releaseTime = time.Minute

// query is what is looked up in such roots.
type query struct {
	render.ObjectQuery
	only roots.Root // the root that is looked into; the zero root: all
}

// released is what they deploy of it.
type released struct {
	list  []entry
	blind []Blind
}

// Blind is a root that may deploy what is looked up, and why that is not known.
type Blind struct {
	Root roots.Root
	Why  doc.Error
}

// Cause is why the root is not seen.
func (b Blind) Cause() report.Cause {
	c := diff.CauseOf(b.Why)
	if c.Kind == report.CauseRoot {
		c.Kind, c.What = report.CauseUnseen, b.Why.Path
	}
	return c
}

// of are those of some roots.
func (r *released) of(is func(roots.Root) bool) *released {
	return &released{
		list:  slices.DeleteFunc(slices.Clone(r.list), func(e entry) bool { return !is(e.root) }),
		blind: slices.DeleteFunc(slices.Clone(r.blind), func(b Blind) bool { return !is(b.Root) }),
	}
}

// released returns what releases deploy of what is looked up.
func (d *Objects) released(ctx context.Context, q query) *released {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.answers[q]; known != nil {
		return known
	}
	out := d.lookReleased(ctx, q)
	for _, e := range out.list {
		d.Secrets.Object(e.object)
	}
	if ctx.Err() == nil {
		d.answers[q] = out
	}
	return out
}

// lookReleased finds what was not asked for before. The lock is held.
func (d *Objects) lookReleased(ctx context.Context, q query) *released {
	out, looked := &released{}, map[roots.Root]bool{}
	may := d.mayDeploy(ctx, q)
	d.inTime(ctx, func(ctx context.Context) {
		d.ofKind(ctx, may, q.Kind, func(root roots.Root, found render.Declared) {
			looked[root] = true
			why := ""
			if unseen := d.unseen[root]; len(unseen) > 0 && found.Last.IsZero() {
				e := unseen[0]
				if e.Quotes { // from where not everybody may read
					e.Message, e.Quotes = "cannot be rendered", false
				}
				out.blind = append(out.blind, Blind{root, e})
				why = wordsOf(e)
			}
			for i, o := range found.Objects {
				if q.asksFor(admission.IdentityOf(o)) {
					e := foundEntry{Root: root, Object: o, Digest: found.Digests[i], Last: found.Last,
						Unsure: cmp.Or(why, found.Unsure[i])}
					out.list = append(out.list, e.entry())
				}
			}
		})
	})
	for _, root := range may {
		if !looked[root] {
			out.blind = append(out.blind, Blind{root, d.late(root)})
		}
	}
	for _, b := range out.blind {
		d.warn(b.Root, b.Why)
	}
	return out
}

// ask returns the query for an object, or for all of a kind where there is no name.
func ask(group, kind, namespace, name string) query {
	if kinds.ClusterScoped(group, kind) {
		namespace = ""
	}
	return query{ObjectQuery: render.ObjectQuery{Group: group, Kind: kind, Namespace: namespace, Name: name}}
}

// asksFor reports whether an object is one of those that are looked up.
func (q query) asksFor(id admission.Identity) bool {
	switch {
	case id.Group != q.Group || id.Kind != q.Kind:
		return false
	case q.Name == "":
		return q.Namespace == "" || id.Namespace == q.Namespace
	}
	return is(id, q.Namespace, q.Name)
}

// foundEntry is an object as a root has it.
type foundEntry struct {
	Root   roots.Root
	Named  bool
	Object map[string]any // without the defaults of the API server
	Digest string         // equal objects have the same; empty: it is not known
	Unsure string
	Last   time.Time // the day of the last known rendering, where it is of that
}

// entry is what was found, with the defaults of the API server.
func (e foundEntry) entry() entry {
	return entry{id: admission.IdentityOf(e.Object), object: admission.WithDefaults(e.Object), root: e.Root, named: e.Named,
		unsure: e.Unsure, digest: e.Digest, last: e.Last}
}

// rootKind is a kind of objects of a root.
type rootKind struct {
	root roots.Root
	kind string
}

// mayDeploy lists the external roots that may deploy what is looked up. The lock is held.
func (d *Objects) mayDeploy(ctx context.Context, q query) []roots.Root {
	list := []roots.Root{q.only}
	switch {
	case q.only != (roots.Root{}):
	case d.tip != nil: // of the others the tip tells
		list = slices.SortedFunc(maps.Keys(d.touched), roots.Compare)
	default:
		list = d.set.External()
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r roots.Root) bool {
		return d.In != nil && !d.In(r) || d.tip != nil && !d.touched[r] || !d.set.IsExternal(r)
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

// knows reports whether all that an external root deploys of a kind is known without rendering it. The lock is held, or
// somebody holds it for all who ask.
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

// inTime does something that renders external roots in what is left of the time for it. The lock is held.
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

// late says that there was no time for a root.
func (d *Objects) late(root roots.Root) doc.Error {
	out := doc.Error{Path: root.Path, Unknown: true, Message: "the time limit was reached before it was rendered"}
	if one := d.set.Deployment(root); one != nil {
		out.Path, out.Line = one.Where.Path, one.Where.Line
	}
	return out
}

// warn notes what is not seen of a root, if that is not said of the root itself. The lock is held.
func (d *Objects) warn(root roots.Root, why doc.Error) {
	if !slices.Contains(d.given, root) {
		d.blind[Blind{root, why}] = true
	}
}

// wordsOf says where something stands in the way, and what.
func wordsOf(e doc.Error) string {
	at := e.Path
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.Path, e.Line)
	}
	return at + ": " + e.Message
}

// brought is released as the change has it, or as it was before. What other roots have that the change adds as a whole
// answers nobody but themselves.
func (d *Objects) brought(ctx context.Context, a asking, q query, after bool) *released {
	if d.tip == nil {
		return d.released(ctx, q).of(a.hears)
	}
	was := d.tip.released(ctx, q).of(a.hears)
	if !after {
		return was
	}
	own := d.released(ctx, q).of(a.hears)
	out := &released{}
	counts := func(root roots.Root) bool { return root == a.root || d.tip.set.Has(root) }
	for _, e := range own.list {
		if counts(e.root) {
			out.list = append(out.list, e)
		}
	}
	for _, b := range own.blind {
		if counts(b.Root) {
			out.blind = append(out.blind, b)
		}
	}
	for _, e := range was.list {
		if !d.touched[e.root] {
			out.list = append(out.list, e)
		}
	}
	for _, b := range was.blind {
		if !d.touched[b.Root] {
			out.blind = append(out.blind, b)
		}
	}
	return out
}

// ownRelease returns what the root of the object that is judged deploys of what is looked up, where that is a release;
// nil where it is none.
func (d *Objects) ownRelease(ctx context.Context, a asking, q query, after bool) *released {
	is, known := d.isExternal.Load(a.root)
	if !known {
		is = d.set.IsExternal(a.root)
		d.isExternal.Store(a.root, is)
	}
	if is == false {
		return nil
	}
	q.only = a.root
	return d.brought(ctx, a, q, after)
}

// maxCauses is how many causes one answer has: it is unknown for any of them.
const maxCauses = 100

// notLooked notes why something is not known, by words one of which is in what asks for it.
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

// hides notes that the change keeps roots from being known that were known before.
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

// inReleases reports whether a look-up is one of a policy, and not one that only asks what kinds there are.
func inReleases(ctx context.Context) bool {
	_, kinds := kinds.AskedFor(ctx)
	return ctx.Value(askingKey{}) != nil && !kinds
}
