package declared

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// entry is one declared object.
type entry struct {
	id     admission.Identity
	object admission.Object
	root   roots.Root
	named  bool      // from the settings' files, not from a root
	above  bool      // from files of the organisation's settings
	digest string    // equal for equal objects; empty: unknown
	unsure string    // why a part of the object is unknown; empty: it is known completely
	last   time.Time // day of the last known rendering that has the object; zero: the rendering is current
	same   int       // number of the object in its view, the same for equal objects; zero: not numbered
}

// equals reports whether two entries have the same object. If both are numbered, they are of the same view.
func (e entry) equals(f entry) bool {
	if e.same != 0 && f.same != 0 {
		return e.same == f.same
	}
	return reflect.DeepEqual(e.object, f.object)
}

// view is the declared objects of one kind, before or after the change.
type view struct {
	order []admission.Identity
	by    map[admission.Identity][]entry
	names map[string][]admission.Identity
	of    [2]int // number of entries before and after the change when the view was made; it is outdated when there are more
}

// Since makes d answer for a change. Roots that the change does not affect, and the files of the settings, are those of
// tip, the tip of the base branch. So are the objects of a root in touched, which the change affects, that are the same
// where the branch of the change begins (fork; nil: at the tip): the change leaves them alone, and the merge keeps the tip's.
// For the roots in touched, look-ups also get the earlier answer.
func (d *Objects) Since(tip, fork *Objects, touched []roots.Root) {
	d.tip, d.fork, d.touched = tip, fork, map[roots.Root]bool{}
	tip.In, tip.Clusters, tip.Secrets, tip.Above = d.In, d.Clusters, d.Secrets, d.Above
	for _, root := range touched {
		d.touched[root] = true
	}
	if tip.touched = d.touched; fork != nil {
		fork.In, fork.Clusters, fork.tip, fork.touched = d.In, d.Clusters, tip, d.touched
	}
	d.external = sync.OnceValue(func() []roots.Root {
		list := slices.SortedFunc(maps.Keys(d.touched), roots.Compare)
		return slices.DeleteFunc(list, func(r roots.Root) bool { return !d.set.IsExternal(r) })
	})
}

// Get implements admission.Cluster. These answer in order: the root of the reviewed object, the files of the settings,
// other roots, the files of the organisation's settings, and objects of releases and other repositories. If several of
// one group differ, the object is unknown. For inherited policies the organisation's files answer first. The
// repository's settings do not answer them, since no cluster confirms what these files declare.
func (d *Objects) Get(ctx context.Context, group, kind, namespace, name string) (admission.Object, bool) {
	object, ok := d.get(ctx, group, kind, namespace, name)
	if ok && d.isCustom(group) {
		object = d.answered(ctx, object)
	}
	return object, ok
}

func (d *Objects) get(ctx context.Context, group, kind, namespace, name string) (admission.Object, bool) {
	a, asked := d.asking(ctx), ask(group, kind, namespace, name)
	if d.unread(ctx, a, group, kind, name) || a.isCreated(admission.Identity{Group: group, Kind: kind, Namespace: namespace, Name: name}) {
		return nil, false
	}
	releases := inReleases(ctx)
	was, now := d.seen(ctx, group, kind, wanted{name: name, brought: !releases})
	var find finder = func(v *view, after bool) (found []entry, blind []Blind, looked bool) {
		for _, id := range v.names[name] {
			if is(id, namespace, name) {
				found = append(found, a.heard(v.by[id])...)
			}
		}
		if !releases {
			return found, nil, false
		}
		if own := d.ownRelease(ctx, a, asked, after); own != nil {
			found, looked = append(found, own.list...), true
		}
		if len(found) > 0 {
			return found, nil, looked
		}
		all := d.brought(ctx, a, asked, after)
		return all.list, all.blind, true
	}
	if group == "" && kind == "Namespace" && !a.declared {
		find = d.orCreated(a, name, find)
	}
	current, blind, looked := find(now, true)
	after, ok := a.choose(current)
	if len(current) == 0 {
		a.notLooked(blind, name)
	}
	if d.tip == nil || was == now && !looked {
		return after, ok
	}
	earlier, blind, _ := find(was, false)
	before, had := a.choose(earlier)
	if ok && group == "" && kind == "Namespace" && len(earlier)+len(blind) == 0 && !d.tip.inUse(ctx, name, a.hears) {
		before, had = created(name), true
	}
	if ok != had || !reflect.DeepEqual(before, after) {
		for _, e := range slices.Concat(earlier, current) {
			a.alter(e.id)
		}
	}
	if a.before {
		return before, had
	}
	return after, ok
}

// finder finds the objects of one look-up before or after the change, and says where it could not look, and whether it
// searched releases.
type finder func(v *view, after bool) (found []entry, blind []Blind, looked bool)

// List implements admission.Cluster. The list is unknown if one of its objects is, or if a release may have more
// objects.
func (d *Objects) List(ctx context.Context, group, kind, namespace string) []admission.Object {
	list, _ := d.list(ctx, group, kind, namespace)
	if !d.isCustom(group) {
		return list
	}
	return report.Mapped(list, func(o admission.Object) admission.Object { return d.answered(ctx, o) })
}

// list returns the list. none says that certainly nothing declares an object of it: it is not only unknown.
func (d *Objects) list(ctx context.Context, group, kind, namespace string) (_ []admission.Object, none bool) {
	a, asked := d.asking(ctx), ask(group, kind, namespace, "")
	if d.unread(ctx, a, group, kind, kinds.PluralOf(group, kind), kind+" for the parameters") {
		return nil, false
	}
	w := wanted{brought: !inReleases(ctx)}
	word, _ := kinds.AskedFor(ctx)
	if word, of, defined := strings.Cut(word, "."); defined {
		w.word, w.name = word, "*."+of // definitions have names that end with their group
	} else {
		w.word = word
	}
	releases := !w.brought
	was, now := d.seen(ctx, group, kind, w)
	with := func(v *view, after bool) (*view, []Blind) {
		if !releases {
			return v, nil
		}
		all := d.brought(ctx, a, asked, after)
		return v.with(a, all.list), all.blind
	}
	find := func(v *view, blind []Blind) (list []admission.Object, none bool) {
		if none = len(blind) == 0; !none {
			a.notLooked(blind, kinds.PluralOf(group, kind), kind+" for the parameters")
			return nil, false
		}
		for _, id := range v.order {
			if namespace != "" && id.Namespace != namespace {
				continue
			}
			of := a.heard(v.by[id])
			none = none && len(of) == 0
			o, ok := a.choose(of)
			if !ok && len(of) > 0 && a.uncertain(of) {
				return nil, false
			}
			if ok {
				list = append(list, o)
			}
		}
		return list, none
	}
	current, blind := with(now, true)
	after, none := find(current, blind)
	if d.tip == nil {
		return after, none
	}
	earlier, blindBefore := with(was, false)
	if earlier == current && len(blindBefore) == 0 && len(blind) == 0 {
		return after, none
	}
	before, noneBefore := find(earlier, blindBefore)
	if noneBefore && len(after) > 0 && d.brings(ctx, a, namespace) {
		return after, none // there was no such list
	}
	if !reflect.DeepEqual(before, after) {
		a.listed(earlier, current, namespace)
	}
	d.hides(a, blindBefore, blind)
	if a.before {
		return before, noneBefore
	}
	return after, none
}

// brings reports whether the change declares a Namespace that did not exist, with the reviewed object in it. Another new
// Namespace may be there only to let the object pass.
func (d *Objects) brings(ctx context.Context, a asking, namespace string) bool {
	was, now := d.seen(ctx, "", "Namespace", wanted{name: namespace})
	has := func(v *view) bool {
		return slices.ContainsFunc(v.names[namespace], func(id admission.Identity) bool { return len(a.heard(v.by[id])) > 0 })
	}
	return namespace != "" && namespace == kinds.ReviewedIn(ctx).Namespace && has(now) && !has(was) && !d.tip.inUse(ctx, namespace, a.hears)
}

// unread reports whether an object that an inherited policy needs is unknown because the organisation's files cannot be
// read: then nothing else answers. words are those of notLooked.
func (d *Objects) unread(ctx context.Context, a asking, group, kind string, words ...string) bool {
	if !a.inherited {
		return false
	}
	why := d.Above.find(ctx, group, kind).unread
	if why == "" {
		return false
	}
	a.because([]report.Cause{{Kind: report.CauseCluster, Reason: why}}, words...)
	return true
}

// choose returns the object that answers. It returns false if there is none, or if several differ.
func (a asking) choose(candidates []entry) (admission.Object, bool) {
	own := func(e entry) bool { return !e.named && e.root == a.root }
	named := func(e entry) bool { return e.named && !e.above }
	other := func(e entry) bool { return !e.named }
	above := func(e entry) bool { return e.above }
	order := []func(entry) bool{own, named, other, above}
	if a.inherited {
		order = []func(entry) bool{above, own, other}
	}
	for _, mine := range order {
		var found []entry
		for _, e := range candidates {
			if mine(e) && !slices.ContainsFunc(found, e.equals) {
				found = append(found, e)
			}
		}
		switch {
		case len(found) == 0:
			continue
		case len(found) > 1:
			a.unclear(found)
		case found[0].unsure != "":
			a.unsure(found[0])
		case found[0].last.IsZero() || a.lastKnown(found[0]):
			return found[0].object, true
		}
		return nil, false
	}
	return nil, false
}

// lastKnown records that an answer is from a last known rendering. It reports whether that counts.
func (a asking) lastKnown(e entry) bool {
	if a.current {
		a.because([]report.Cause{{}}, e.id.Name)
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last.IsZero() || e.last.Before(a.last) {
		a.last = e.last
	}
	return true
}

// Last returns the earliest day of the last known renderings that answered; zero if none did.
func (l *Lookups) Last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (a asking) uncertain(candidates []entry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unknown[candidates[0].id.Name] != nil
}

func (a asking) unsure(e entry) {
	why := fmt.Sprintf("%s deploys it, and not all of its content is known, %s", e.root.Name(), e.unsure)
	a.because([]report.Cause{{Kind: report.CauseCluster, Reason: why}}, e.id.Name)
}

// maxPlaces is how many roots that declare an object are named.
const maxPlaces = 10

func (a asking) unclear(found []entry) {
	id := found[0].id
	name := id.Kind + " " + report.Name(id.Namespace, id.Name)
	others := report.Kept(found, func(e entry) bool { return !e.named })
	places := report.Mapped(others, func(e entry) string { return e.root.Name() })
	why := fmt.Sprintf("several roots declare %s, and they differ: %s", name, report.Some(places, maxPlaces))
	if len(places) == 0 {
		why = fmt.Sprintf("several files of the settings' context declare %s, and they differ", name)
	}
	a.mu.Lock()
	a.differ = a.differ || len(places) > 0
	a.mu.Unlock()
	a.because([]report.Cause{{Kind: report.CauseDiffer, What: name, Sentence: why}}, id.Name)
}

func (a asking) alter(id admission.Identity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.altered[report.Resource{APIVersion: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}] = true
}

// listed records the objects of a list that the change alters.
func (a asking) listed(was, now *view, namespace string) {
	for _, v := range []*view{was, now} {
		for _, id := range v.order {
			if namespace != "" && id.Namespace != namespace {
				continue
			}
			before, had := a.choose(a.heard(was.by[id]))
			after, has := a.choose(a.heard(now.by[id]))
			if had != has || !reflect.DeepEqual(before, after) {
				a.alter(id)
			}
		}
	}
}

// seen returns the objects of a kind before and after the change, at least the wanted ones. Both are the same if there
// is only one tree. Objects of a root that the change adds, and that no object deploys, answer only look-ups by that root:
// it may be for another cluster.
func (d *Objects) seen(ctx context.Context, group, kind string, w wanted) (was, now *view) {
	a := d.asking(ctx)
	own := d.all(ctx, group, kind, w, a.own)
	if d.tip == nil {
		was = d.viewed(ctx, " "+group+"/"+kind, own, [2]int{len(own)})
		return was, was
	}
	before := d.tip.all(ctx, group, kind, w, a.own)
	of := [2]int{len(before), len(own)}
	same := !slices.ContainsFunc(own, func(e entry) bool { return d.touched[e.root] }) &&
		!slices.ContainsFunc(before, func(e entry) bool { return d.touched[e.root] })
	was = d.viewed(ctx, "before "+group+"/"+kind, before, of)
	if same {
		return was, was
	}
	var after []entry
	alone, forked := d.leftAlone(ctx, group, kind, w, own, a.own)
	of[1] += forked
	for _, e := range own {
		if !e.named && d.touched[e.root] && !alone(e) && (e.root == a.root || d.tip.set.Has(e.root) || len(d.set.Placement(e.root).Clusters) > 0) {
			after = append(after, e)
		}
	}
	for _, e := range before {
		if e.named || !d.touched[e.root] || alone(e) {
			after = append(after, e)
		}
	}
	side := "after"
	if !d.tip.set.Has(a.root) {
		side += " " + a.root.Path + a.root.Kind.String() + a.root.Object
	}
	return was, d.viewed(ctx, side+" "+group+"/"+kind, after, of)
}

// leftAlone returns a function that reports whether the change leaves an object of a root that it affects alone, so that
// the tip of the base branch has what the cluster gets, and the number of objects that it compares with. own are the
// objects of the head.
func (d *Objects) leftAlone(ctx context.Context, group, kind string, w wanted, own []entry, in []gitops.Cluster) (func(entry) bool, int) {
	if d.fork == nil {
		return func(entry) bool { return false }, 0
	}
	type place struct {
		root roots.Root
		id   admission.Identity
	}
	index := func(list []entry) map[place]entry {
		by := map[place]entry{}
		for _, e := range list {
			by[place{e.root, e.id}] = e
		}
		return by
	}
	forked := d.fork.all(ctx, group, kind, w, in)
	before, now := index(forked), index(own)
	return func(e entry) bool {
		was, had := before[place{e.root, e.id}]
		is, has := now[place{e.root, e.id}]
		return had == has && (!has || was.digest != "" && was.digest == is.digest || reflect.DeepEqual(was.object, is.object))
	}, len(forked)
}

// with returns a view that also has the objects of releases: those that nothing else declares, and all objects of the
// reviewed object's own root.
func (v *view) with(a asking, released []entry) *view {
	if len(released) == 0 {
		return v
	}
	out := &view{order: slices.Clone(v.order), by: maps.Clone(v.by)}
	for _, e := range released {
		id := e.id
		id.Version = ""
		if len(out.by[id]) == 0 {
			out.order = append(out.order, id)
		} else if len(a.heard(v.by[id])) > 0 && e.root != a.root {
			continue
		}
		out.by[id] = append(slices.Clip(out.by[id]), e)
	}
	return out
}

// viewed returns the cached index of the declared objects of a side and kind, since rules look up the same objects
// repeatedly. of is view.of.
func (d *Objects) viewed(ctx context.Context, key string, list []entry, of [2]int) *view {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v := d.views[key]; v != nil && v.of == of {
		return v
	}
	v := &view{of: of, by: map[admission.Identity][]entry{}, names: map[string][]admission.Identity{}}
	for i, e := range list {
		id := e.id
		id.Version = ""
		e.same = i + 1
		if k := slices.IndexFunc(v.by[id], func(f entry) bool {
			return f.digest != "" && f.digest == e.digest || reflect.DeepEqual(f.object, e.object)
		}); k >= 0 {
			e.same = v.by[id][k].same
		}
		if len(v.by[id]) == 0 {
			v.order = append(v.order, id)
			v.names[id.Name] = append(v.names[id.Name], id)
		}
		v.by[id] = append(v.by[id], e)
	}
	if ctx.Err() == nil {
		d.views[key] = v
	}
	return v
}

// Removes implements admission.Changing. What may still be declared where nobody looked is not removed.
func (d *Objects) Removes(ctx context.Context, group, kind, namespace, name string) bool {
	a := d.asking(ctx)
	if a.before {
		return false
	}
	if name == "" {
		_, none := d.list(ctx, group, kind, namespace)
		return none && len(d.List(a.Before(ctx), group, kind, namespace)) > 0 && !d.mayStay(ctx, group, kind, namespace, name)
	}
	if _, has := d.Get(ctx, group, kind, namespace, name); has || a.Why(name) != nil {
		return false
	}
	_, had := d.Get(a.Before(ctx), group, kind, namespace, name)
	return had && !d.mayStay(ctx, group, kind, namespace, name)
}

// mayStay reports whether a root that declared one of the objects of a look-up remains, and is not seen completely now.
func (d *Objects) mayStay(ctx context.Context, group, kind, namespace, name string) bool {
	was, _ := d.seen(ctx, group, kind, wanted{name: name})
	d.mu.Lock()
	defer d.mu.Unlock()
	unseen := func(e entry) bool { return !e.named && d.set.Has(e.root) && len(d.unseen[e.root]) > 0 }
	return slices.ContainsFunc(was.order, func(id admission.Identity) bool {
		asked := is(id, namespace, name) || name == "" && (namespace == "" || id.Namespace == namespace)
		return asked && slices.ContainsFunc(was.by[id], unseen)
	})
}
