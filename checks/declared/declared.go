// Package declared answers look-ups of policies from what a repository declares.
package declared

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// Objects are the objects that one tree declares in its roots and in the files of the settings' context. It renders a
// root when a kind is first looked up that the root may contain. It is safe for concurrent use.
type Objects struct {
	// In reports whether a root is deployed to the cluster of the check; nil: all are.
	In func(roots.Root) bool
	// Clusters lists the clusters that a root is deployed to, where that tells roots apart; nil: nothing does.
	Clusters func(roots.Root) []gitops.Cluster
	// Secrets collects the values of Secrets that are looked up; nil: they are not collected.
	Secrets *mask.Values
	// Above also answers look-ups. For inherited policies, it replaces the files of the settings.
	Above *Above
	// Answered returns a custom resource as the API server answers it, as of the time that the context asks for; nil: as it is.
	Answered func(context.Context, admission.Object) admission.Object

	set     *deploy.Set
	context []string // files and folders from the settings

	mu      sync.Mutex
	kinds   map[string]*table                 // by group/kind
	roots   map[roots.Root][]*render.Resource // without the data of their places
	given   []roots.Root                      // roots whose resources Rendered got
	ofGiven map[string][]admission.Object     // by kind: their objects; nil: not sorted yet
	// looked are the roots that were searched for one kind only, and not rendered completely.
	looked map[roots.Root]bool
	names  map[roots.Root]map[admission.Identity]bool // see alike
	blind  map[Blind]bool
	unseen map[roots.Root][]doc.Error // why roots that were looked into declare less than they have
	// last are the roots whose last known rendering answers, since a remote source cannot be fetched.
	last      map[Blind]time.Time
	lacksLast map[roots.Root]bool // roots without such a rendering

	known     sync.Map                     // by rootKind: render.Declared
	completed env.Memo[uintptr, completed] // by the address of the object: see answered

	answers map[query]*released // objects of releases
	spent   time.Duration       // time spent on rendering releases

	tip     *Objects            // the objects of the tip of the base branch; nil: there is only one tree
	fork    *Objects            // those of touched roots where the branch of the change begins; nil: that is the tip
	touched map[roots.Root]bool // roots that the change affects; tip has the same
	views   map[string]*view    // by side, group/kind

	external func() []roots.Root // the external roots in touched, sorted; set where there is a tip
}

// New returns the objects that the roots of a tree declare. named are the files and folders of the settings.
func New(set *deploy.Set, named []string) *Objects {
	return &Objects{set: set, context: named, unseen: map[roots.Root][]doc.Error{}, blind: map[Blind]bool{},
		last: map[Blind]time.Time{}, lacksLast: map[roots.Root]bool{}, kinds: map[string]*table{},
		views: map[string]*view{}, answers: map[query]*released{},
		roots: map[roots.Root][]*render.Resource{}, looked: map[roots.Root]bool{}, names: map[roots.Root]map[admission.Identity]bool{}}
}

// Rendered stores the resources and problems of a root, so that it is not rendered again.
func (d *Objects) Rendered(root roots.Root, resources []*render.Resource, problems ...doc.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.roots[root], d.unseen[root] = bare(resources), problems[:min(len(problems), 1)]
	d.given, d.ofGiven = append(d.given, root), nil
}

// Seen lists the objects of a kind that Rendered got, in the order of the roots. It includes those of charts and remote
// bases, whose kind no file of the repository mentions.
func (d *Objects) Seen(group, kind string) []admission.Object {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ofGiven == nil {
		d.ofGiven = map[string][]admission.Object{}
		for _, root := range slices.SortedFunc(slices.Values(d.given), roots.Compare) {
			for _, r := range d.roots[root] {
				name, _ := r.Object["kind"].(string)
				d.ofGiven[name] = append(d.ofGiven[name], r.Object)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(d.ofGiven[kind]), func(o admission.Object) bool {
		return admission.IdentityOf(o).Group != group
	})
}

// AppliesOnServer reports whether all that deploys a root sends an object of it as a server-side apply.
func (d *Objects) AppliesOnServer(root roots.Root, object map[string]any) bool {
	list := d.set.Deployers(root)
	return len(list) > 0 && !slices.ContainsFunc(list, func(by *deploy.Deployment) bool { return !by.AppliesOnServer(object) })
}

// IsDeployed reports whether a live object deploys a root.
func (d *Objects) IsDeployed(root roots.Root) bool { return d.set.IsPlaced(root) }

// Deployers lists what deploys a root.
func (d *Objects) Deployers(root roots.Root) []*deploy.Deployment { return d.set.Deployers(root) }

// Kept lists the objects that an object of Argo CD or Flux deploys before and after the change, and that the change leaves as they
// are. Those that come from outside of the repository are left out, unless they are rendered already.
func (d *Objects) Kept(ctx context.Context, by gitops.Reference) (list []admission.Object) {
	if d.tip == nil {
		return nil
	}
	for _, root := range d.set.RootsOf(by) {
		if !d.tip.set.Has(root) {
			continue
		}
		was := map[admission.Identity]admission.Object{}
		for _, r := range d.tip.own(ctx, root) {
			was[admission.IdentityOf(r.Object)] = r.Object
		}
		for _, r := range d.own(ctx, root) {
			if old, had := was[admission.IdentityOf(r.Object)]; had && reflect.DeepEqual(old, r.Object) {
				list = append(list, r.Object)
			}
		}
	}
	return list
}

// own returns the objects of a root; none of one that is built from outside of the repository and is not rendered yet.
func (d *Objects) own(ctx context.Context, root roots.Root) []*render.Resource {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, rendered := d.roots[root]; rendered || !d.set.IsExternal(root) {
		d.render(ctx, []roots.Root{root})
	}
	return d.roots[root]
}

// AppliesOnClient reports whether something that deploys a root sends an object of it as "kubectl apply" does.
func (d *Objects) AppliesOnClient(root roots.Root, object map[string]any) bool {
	return slices.ContainsFunc(d.set.Deployers(root), func(by *deploy.Deployment) bool { return by.AppliesOnClient(object) })
}

// bare drops the data of the resources' places, which takes more memory than the resources.
func bare(resources []*render.Resource) []*render.Resource {
	return report.Mapped(resources, func(r *render.Resource) *render.Resource {
		return render.NewResource(r.Object, nil, r.Issues...)
	})
}

var _ admission.Cluster = (*Objects)(nil)

// Find returns the object of a name, in any namespace if namespace is empty. An object without a namespace matches
// every namespace only if its kind is cluster-scoped; otherwise its namespace is unknown.
func Find(list []admission.Object, namespace, name string) (admission.Object, bool) {
	i := slices.IndexFunc(list, func(o admission.Object) bool { return is(admission.IdentityOf(o), namespace, name) })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

func is(id admission.Identity, namespace, name string) bool {
	return id.Name == name && (namespace == "" || id.Namespace == namespace || kinds.ClusterScoped(id.Group, id.Kind))
}

// In returns the objects of a namespace, or all if it is empty.
func In(list []admission.Object, namespace string) []admission.Object {
	if namespace == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(o admission.Object) bool {
		return admission.IdentityOf(o).Namespace != namespace
	})
}

// wanted selects the objects of a kind by name, where "*" stands for any text before its rest, and by a word that the files of
// their root mention; "" selects all.
type wanted struct {
	name, word string
	// brought also selects roots that may get the objects from remote sources, if the look-up does not search releases.
	brought bool
	// clusters are those that are asked for; roots that are certainly in others are not searched. Empty: all.
	clusters string
}

// from reports whether a root may declare wanted objects of a kind.
func (w wanted) from(set *deploy.Set, kind string, root roots.Root) bool {
	return (w.name == "" || set.Texts.MayName(root, kind, w.name)) && (w.word == "" || set.Texts.MayMention(root, kind, w.word)) ||
		w.brought && set.IsExternal(root)
}

// table holds the objects of one kind that were searched so far.
type table struct {
	group, kind string
	reached     []roots.Root            // roots that may declare objects of the kind, sorted
	looked      map[roots.Root][]entry  // by root that was searched
	may         map[wanted][]roots.Root // by search in all clusters: those of reached that may declare wanted objects
	asked       map[wanted]bool         // searches so far
	named       []entry                 // of the settings' files
	list        []entry                 // in the order of the roots, then those of the settings' files
	unseen      []Blind                 // not reported yet, see Quiet
}

// all returns the declared objects of a kind in the order of the roots, those of the settings' files last. It may
// return more than the wanted ones. It does not search roots that are certainly in none of some clusters; none: it searches all.
func (d *Objects) all(ctx context.Context, group, kind string, w wanted, own []gitops.Cluster) []entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := group + "/" + kind
	t := d.kinds[key]
	if t == nil {
		t = d.open(ctx, group, kind)
		if ctx.Err() == nil {
			d.kinds[key] = t
		}
	}
	if w.name == "" && w.word == "" {
		w = wanted{} // a search for all objects is the same with and without brought
	}
	w.clusters = d.keyOf(own)
	if !t.asked[wanted{}] && !t.asked[wanted{clusters: w.clusters}] && !t.asked[w] {
		d.look(ctx, t, w, own)
	}
	if ctx.Value(quietKey{}) == nil {
		for _, b := range t.unseen {
			d.warn(b.Root, b.Why)
		}
		t.unseen = nil
	}
	return t.list
}

// open returns an empty table for a kind. The lock is held.
func (d *Objects) open(ctx context.Context, group, kind string) *table {
	files := d.set.Mentions(kind)
	t := &table{group: group, kind: kind, looked: map[roots.Root][]entry{}, may: map[wanted][]roots.Root{}, asked: map[wanted]bool{}}
	reached := d.set.Reach(files, nil)
	if kind == "CustomResourceDefinition" { // other objects of releases are searched for policies: see released
		reached = append(reached, d.set.ReleasesOf(files)...)
		slices.SortFunc(reached, roots.Compare)
	}
	t.reached = slices.DeleteFunc(reached, func(r roots.Root) bool {
		return d.In != nil && !d.In(r) || d.tip != nil && !d.touched[r] // the tip has the objects of roots that the change does not affect
	})
	if d.tip != nil { // the tip also has those of the settings' files
		return t
	}
	for _, p := range files {
		if settings.Under(p, d.context) {
			if resources, _, _, err := d.set.Renderer.Manifest(p); err == nil {
				for _, r := range resources {
					t.named = t.add(t.named, r.Object, entry{named: true})
				}
			}
		}
	}
	t.named = append(t.named, d.Above.find(ctx, group, kind).list...)
	t.list = t.named
	d.hide(t.named)
	return t
}

// add adds an object to a list if it is of the table's kind. e is its entry, without the object.
func (t *table) add(list []entry, object map[string]any, e entry) []entry {
	if id := admission.IdentityOf(object); id.Kind == t.kind && id.Group == t.group {
		list = append(list, e.of(object))
	}
	return list
}

// of returns the entry with an object, which gets the defaults of the API server.
func (e entry) of(object map[string]any) entry {
	e.id, e.object = admission.IdentityOf(object), apiserver.Received(object)
	if encrypted := EncryptedValues(object); len(encrypted) > 0 {
		e.unsure = encrypted[0].Message
	}
	return e
}

// hide collects the values of Secrets in a list, so that they are masked.
func (d *Objects) hide(list []entry) {
	for _, e := range list {
		d.Secrets.Object(e.object)
	}
}

// look searches the roots that may declare wanted objects. The lock is held.
func (d *Objects) look(ctx context.Context, t *table, w wanted, own []gitops.Cluster) {
	anywhere := w
	anywhere.clusters = ""
	may, known := t.may[anywhere]
	if !known {
		may = report.Kept(t.reached, func(r roots.Root) bool { return w.from(d.set, t.kind, r) })
		t.may[anywhere] = may
	}
	fresh := report.Kept(may, func(r roots.Root) bool {
		_, looked := t.looked[r]
		_, apart := d.shares(own, r)
		return !looked && !apart
	})
	d.ofKind(ctx, fresh, t.kind, func(root roots.Root, found render.Declared) {
		t.looked[root] = nil
		for i, o := range found.Objects {
			t.looked[root] = t.add(t.looked[root], o, entry{root: root, digest: found.Digests[i], last: found.Last})
		}
		d.hide(t.looked[root])
		for _, e := range d.unseen[root] {
			if found.Last.IsZero() {
				t.unseen = append(t.unseen, Blind{root, e})
			}
		}
	})
	t.list = nil
	for _, root := range t.reached {
		t.list = append(t.list, t.looked[root]...)
	}
	t.list = append(t.list, t.named...)
	if ctx.Err() == nil {
		t.asked[w] = true
	}
}

// ofKind calls add with the objects of a kind of each root, in order. The lock is held.
func (d *Objects) ofKind(ctx context.Context, list []roots.Root, kind string, add func(roots.Root, render.Declared)) {
	found, errs := make([]render.Declared, len(list)), make([]error, len(list))
	deploy.Each(len(list), func(i int) {
		if resources, ok := d.roots[list[i]]; ok {
			for _, r := range resources {
				if r.Object["kind"] == kind {
					found[i].Add(r)
				}
			}
			return
		}
		if known, ok := d.known.Load(rootKind{list[i], kind}); ok {
			found[i] = known.(render.Declared)
			return
		}
		if found[i], errs[i] = d.set.OfKind(ctx, list[i], kind); errs[i] == nil {
			d.known.Store(rootKind{list[i], kind}, found[i])
		}
	})
	for i, root := range list {
		if errs[i] != nil && ctx.Err() != nil {
			continue
		}
		if _, rendered := d.roots[root]; !rendered {
			d.looked[root], d.unseen[root] = true, nil
			if p := found[i].Problem; p != nil {
				d.unseen[root] = []doc.Error{*p}
			}
		}
		add(root, d.orLast(root, kind, found[i]))
	}
}

// orLast returns the objects of a kind in a root's last known rendering instead of now. It does so if a remote source
// cannot be fetched and the change does not affect the root. The lock is held.
func (d *Objects) orLast(root roots.Root, kind string, now render.Declared) render.Declared {
	unseen := d.unseen[root]
	if len(unseen) == 0 || unseen[0].Missing == "" || !unseen[0].Unknown || d.touched[root] || d.lacksLast[root] {
		return now
	}
	key := rootKind{root, kind}
	if known, ok := d.known.Load(key); ok && !known.(render.Declared).Last.IsZero() {
		return known.(render.Declared)
	}
	last, ok := d.set.Renderer.LastOfKind(d.set.Target(root), kind)
	if !ok {
		d.lacksLast[root] = true
		return now
	}
	d.last[Blind{root, unseen[0]}] = last.Last
	d.known.Store(key, last)
	return last
}

// render renders those of the roots that are not rendered yet. The lock is held. A root that does not render declares
// no objects, which is cached.
func (d *Objects) render(ctx context.Context, list []roots.Root) {
	list = slices.DeleteFunc(slices.Clone(list), func(r roots.Root) bool { _, ok := d.roots[r]; return ok })
	found, blind := make([][]*render.Resource, len(list)), make([][]doc.Error, len(list))
	errs := make([]error, len(list))
	deploy.Each(len(list), func(i int) {
		out, problems, err := d.set.Render(ctx, list[i])
		if errs[i] = err; err == nil {
			found[i], blind[i] = bare(out.Resources), append(problems, out.Broken()...)
		}
	})
	for i, root := range list {
		if errs[i] != nil && ctx.Err() != nil {
			continue
		}
		d.roots[root] = found[i]
		d.unseen[root] = blind[i][:min(len(blind[i]), 1)]
	}
}

// Last is a root whose last known rendering answered look-ups, with the day of that rendering.
type Last struct {
	Blind
	Day time.Time
}

// Last lists the roots whose last known rendering answered look-ups, sorted by the place of the problem.
func (d *Objects) Last() (list []Last) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for b, day := range d.last {
		list = append(list, Last{b, day})
	}
	slices.SortFunc(list, func(a, b Last) int { return compareBlind(a.Blind, b.Blind) })
	if d.tip != nil {
		list = append(list, d.tip.Last()...)
	}
	return list
}

func compareBlind(a, b Blind) int {
	return cmp.Or(strings.Compare(a.Why.Path, b.Why.Path), a.Why.Line-b.Why.Line,
		strings.Compare(a.Why.Message, b.Why.Message), roots.Compare(a.Root, b.Root))
}

// Blind lists the roots that look-ups did not see, sorted by the place of the problem.
func (d *Objects) Blind() []Blind {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(d.blind), compareBlind)
	if d.tip != nil {
		list = append(list, d.tip.Blind()...)
	}
	return list
}

// sampleBatch is how many roots are rendered before the bounds are checked again.
const sampleBatch = 8

// Sample returns resources with the defaults of the API server. It takes those of roots that are rendered already, then
// renders others in order until a bound is reached. looked is the number of roots that it took, all the number of
// roots.
func (d *Objects) Sample(ctx context.Context, maxRoots, maxObjects int) (list []*render.Resource, looked, all int) {
	every := d.set.All()
	if d.In != nil {
		every = slices.DeleteFunc(every, func(r roots.Root) bool { return !d.In(r) })
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	chosen := slices.Concat(slices.Collect(maps.Keys(d.roots)), slices.Collect(maps.Keys(d.looked)))
	slices.SortFunc(chosen, roots.Compare)
	chosen = slices.Compact(chosen)
	others := slices.DeleteFunc(slices.Clone(every), func(root roots.Root) bool { return slices.Contains(chosen, root) })
	all = len(chosen) + len(others)
	chosen = append(chosen, others[:min(len(others), maxRoots)]...)
	seen := map[admission.Identity]bool{}
	for len(chosen) > 0 && len(list) < maxObjects && ctx.Err() == nil {
		batch := chosen[:min(len(chosen), sampleBatch)]
		chosen = chosen[len(batch):]
		d.render(ctx, batch)
		for _, root := range batch {
			if len(list) >= maxObjects {
				break
			}
			looked++
			for _, r := range d.roots[root] {
				if id := admission.IdentityOf(r.Object); !seen[id] && len(list) < maxObjects {
					seen[id] = true
					list = append(list, render.NewResource(apiserver.Received(r.Object), nil, r.Issues...))
				}
			}
		}
	}
	return list, looked, all
}
