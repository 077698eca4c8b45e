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
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// Lookups records what a rule looked up in one evaluation, to find the effect of the change on it. It is safe for
// concurrent use.
type Lookups struct {
	root roots.Root

	mu      sync.Mutex
	altered map[report.Resource]bool
	unknown map[string][]report.Cause // why an answer is unknown, by the name of the looked-up object or kind
	last    time.Time                 // see Last
	differ  bool                      // see Differ
}

type asking struct {
	*Lookups
	before    bool                       // answer as before the change
	current   bool                       // objects of a last known rendering are unknown
	inherited bool                       // an inherited policy asks
	cautious  bool                       // see Cautious
	among     func(root roots.Root) bool // the other roots that answer; nil: all
	declared  bool                       // Namespaces that a deployer creates do not answer
	apart     func(root roots.Root) bool // whether a root is certainly in another cluster
	own       []gitops.Cluster           // the clusters that it asks for, where they are known and tell roots apart
	reviewed  kinds.Reviewed             // the object that a policy reviews
}

type askingKey struct{}

// For returns a context for look-ups by an object of a root, and the record of these look-ups.
func For(ctx context.Context, root roots.Root) (context.Context, *Lookups) {
	l := &Lookups{root: root, altered: map[report.Resource]bool{}, unknown: map[string][]report.Cause{}}
	return context.WithValue(ctx, askingKey{}, asking{Lookups: l}), l
}

// Before returns a context in which the same look-ups are answered as before the change.
func (l *Lookups) Before(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, asking{Lookups: l, before: true})
}

// IsBefore reports whether look-ups are answered as before the change.
func IsBefore(ctx context.Context) bool {
	a, _ := ctx.Value(askingKey{}).(asking)
	return a.before
}

// Unrecorded returns a context whose look-ups are not recorded, since they are about a fact of the cluster and about no object
// that a result relies on. They are answered as before the change where those of ctx are.
func Unrecorded(ctx context.Context) context.Context {
	out, l := For(unnoted{ctx}, roots.Root{})
	if IsBefore(ctx) {
		return l.Before(out)
	}
	return out
}

// Quiet returns a context whose look-ups do not report the roots that they cannot see: what is asked says nothing where
// something is not known.
func Quiet(ctx context.Context) context.Context { return context.WithValue(ctx, quietKey{}, true) }

type quietKey struct{}

// unnoted is a context without values.
type unnoted struct{ context.Context }

// Value implements context.Context.
func (unnoted) Value(any) any { return nil }

// Current returns a context in which objects of a last known rendering are unknown. Its look-ups are not recorded in l.
func (l *Lookups) Current(ctx context.Context) context.Context {
	ctx, other := For(ctx, l.root)
	return context.WithValue(ctx, askingKey{}, asking{Lookups: other, current: true})
}

// Altered lists the looked-up objects that the change alters, sorted.
func (l *Lookups) Altered() []report.Resource {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Keys(l.altered),
		func(a, b report.Resource) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// Why returns why something that a rule needs is unknown, even though it may be declared; nil if there is no known
// reason.
func (l *Lookups) Why(what string) []report.Cause {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := ""
	for name := range l.unknown {
		if len(name) > len(longest) && strings.Contains(what, name) {
			longest = name
		}
	}
	return l.unknown[longest]
}

// Unknown reports whether the answer to any look-up is unknown.
func (l *Lookups) Unknown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unknown) > 0
}

// because records why something is unknown. words are texts of which the rule's description of it contains one.
func (l *Lookups) because(causes []report.Cause, words ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, word := range words {
		l.unknown[word] = causes
	}
}

func (d *Objects) asking(ctx context.Context) asking {
	a, ok := ctx.Value(askingKey{}).(asking)
	if !ok {
		a.Lookups = &Lookups{altered: map[report.Resource]bool{}, unknown: map[string][]report.Cause{}}
	}
	a.inherited = admission.IsInheritedView(ctx)
	a.reviewed = kinds.ReviewedIn(ctx)
	if one, ok := ctx.Value(clusterKey{}).(gitops.Cluster); ok {
		a.own = []gitops.Cluster{one}
	} else if d.Clusters != nil {
		a.own = d.Clusters(a.root)
	}
	a.apart = func(root roots.Root) bool {
		if a.among != nil && !a.among(root) || a.cautious && d.alike(ctx, a.root, root) {
			return true
		}
		has, apart := d.shares(a.own, root)
		if has > 0 && has < len(a.own) {
			a.mu.Lock()
			a.differ = true
			a.mu.Unlock()
		}
		return apart
	}
	return a
}

// shares counts the clusters of a list that may have a root. apart says that the root is certainly in none of them.
func (d *Objects) shares(own []gitops.Cluster, root roots.Root) (has int, apart bool) {
	if d.Clusters == nil || len(own) == 0 {
		return 0, false
	}
	theirs := d.Clusters(root)
	for _, c := range own {
		if slices.ContainsFunc(theirs, func(other gitops.Cluster) bool { return !c.Apart(other) }) {
			has++
		}
	}
	return has, len(theirs) > 0 && has == 0
}

// keyOf tells apart the lists of clusters that searches are for; "" stands for all clusters.
func (d *Objects) keyOf(own []gitops.Cluster) string {
	if d.Clusters == nil || len(own) == 0 {
		return ""
	}
	return fmt.Sprint(own)
}

type clusterKey struct{}

// Within returns a context for look-ups by an object in one of the clusters of its root.
func Within(ctx context.Context, c gitops.Cluster) context.Context {
	return context.WithValue(ctx, clusterKey{}, c)
}

// hears reports whether a root may answer: it is not known to be of another cluster.
func (a asking) hears(root roots.Root) bool {
	return root == a.root || a.apart == nil || !a.apart(root)
}

// heard returns the entries that may answer: not that of the object itself while it is created.
func (a asking) heard(list []entry) []entry {
	answers := func(e entry) bool {
		return e.named && (e.above || !a.inherited) || !e.named && a.hears(e.root) && !a.isCreated(e.id)
	}
	if !slices.ContainsFunc(list, func(e entry) bool { return !answers(e) }) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return !answers(e) })
}

// isCreated reports whether an object is the reviewed one, and is created. A Namespace answers for itself.
func (a asking) isCreated(id admission.Identity) bool {
	of := a.reviewed
	return of.Created && of.Kind != "Namespace" && of.Name == id.Name && of.Namespace == id.Namespace && of.Kind == id.Kind && of.Group == id.Group
}

// Differ reports whether the clusters of the root may have different answers: several roots declare an object and differ,
// or only some of the clusters have what answers.
func (l *Lookups) Differ() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.differ
}

// Cautious returns a context in which look-ups are those of an object of a root, and roots that have an object in common with
// it do not answer: though nothing says so, both are rather made for two clusters, such as overlays of one base.
// They are not recorded, see Unrecorded.
func Cautious(ctx context.Context, root roots.Root) context.Context {
	out, l := For(Unrecorded(ctx), root)
	return context.WithValue(out, askingKey{}, asking{Lookups: l, cautious: true, before: IsBefore(ctx)})
}

// Among returns a context in which look-ups are those of an object of a root, and only that one and some others answer. They are
// not recorded, and roots that they cannot see are not reported, see Unrecorded and Quiet.
func Among(ctx context.Context, root roots.Root, is func(roots.Root) bool) context.Context {
	out, l := For(Unrecorded(ctx), root)
	return context.WithValue(Quiet(out), askingKey{}, asking{Lookups: l, among: is, before: IsBefore(ctx)})
}

// alike reports whether both roots have a namespaced object of the same kind, namespace and name.
func (d *Objects) alike(ctx context.Context, a, b roots.Root) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.render(ctx, []roots.Root{a, b})
	few, many := d.namesOf(a), d.namesOf(b)
	if len(few) > len(many) {
		few, many = many, few
	}
	for id := range few {
		if many[id] {
			return true
		}
	}
	return false
}

// namesOf returns the namespaced objects of a root, once for all that ask. The lock is held.
func (d *Objects) namesOf(root roots.Root) map[admission.Identity]bool {
	resources, rendered := d.roots[root]
	if known, ok := d.names[root]; ok || !rendered {
		return known
	}
	names := make(map[admission.Identity]bool, len(resources))
	for _, r := range resources {
		if id := admission.IdentityOf(r.Object); id.Namespace != "" && id.Name != "" {
			id.Version = ""
			names[id] = true
		}
	}
	d.names[root] = names
	return names
}

// completed is a custom resource as the API server answers it, now and before the change.
type completed struct {
	of, now, before admission.Object
	differs         bool
}

// isCustom reports whether the objects of a group are custom resources, and Answered is set.
func (d *Objects) isCustom(group string) bool {
	return d.Answered != nil && group != "" && !kinds.OfKubernetes(group)
}

// answered returns a custom resource as the API server answers it. A definition that the change alters counts as altered, if
// it says something else about the object.
func (d *Objects) answered(ctx context.Context, object admission.Object) admission.Object {
	a := d.asking(ctx)
	// The object stays in the memo, so that no other gets its address.
	one := d.completed.Get(reflect.ValueOf(object).Pointer(), func() (one completed) {
		after := context.WithValue(ctx, askingKey{}, asking{Lookups: a.Lookups})
		one.of, one.now = object, d.Answered(after, object)
		if one.before = one.now; d.tip != nil {
			one.before = d.Answered(a.Before(ctx), object)
			one.differs = !reflect.DeepEqual(one.before, one.now)
		}
		return one
	})
	out := one.now
	if a.before {
		out = one.before
	}
	if !one.differs || a.before {
		return out
	}
	id := admission.IdentityOf(object)
	list, _ := d.list(Unrecorded(ctx), "apiextensions.k8s.io", "CustomResourceDefinition", "")
	for _, definition := range list {
		group, _ := jsonpointer.At(definition, "/spec/group").(string)
		kind, _ := jsonpointer.At(definition, "/spec/names/kind").(string)
		if group == id.Group && kind == id.Kind {
			a.alter(admission.IdentityOf(definition))
		}
	}
	return out
}
