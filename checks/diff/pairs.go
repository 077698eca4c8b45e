package diff

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// Pair is one resource of a root before and after the change, from which an admission request is made.
type Pair struct {
	Root      roots.Root
	Operation admission.Operation
	Old, New  *render.Resource // nil on the side that has none

	// Before is the earlier state of a created object that is not updated: in a former root of the base (From), under
	// another generated name, or an object that is gone by then (see Renewed). Violations of Before are pre-existing.
	Before *render.Resource
	From   roots.Root

	// Recreate says that the deployer deletes the object and creates it again if it cannot be updated.
	Recreate bool

	Replaced *render.Resource // what the deployer deletes to create New, although both have the same name; nil: nothing

	// Doubt says why it is not known whether the object is sent to the cluster, and with "; if" when results are about it; empty: it
	// is sent.
	Doubt string

	hook     bool // the object is created each time, see Renewed
	replaced bool // the deployer deletes the object and creates it, see Renewed

	uninstalled bool              // the old object is deleted, whatever deploys it now, see Sides.uninstalled
	unseen      map[string]string // see Root.Unseen
	head        *Commit           // set with unseen
	clusters    []gitops.Cluster  // clusters that get the object; none if no known object deploys the root
	idle        bool              // a creation in a root that nothing deploys, though it is known what deploys others
}

// Earlier returns the object before the change; nil if it did not exist.
func (p *Pair) Earlier() *render.Resource {
	switch p.Operation {
	case admission.Update:
		return p.Old
	case admission.Create:
		return p.Before
	}
	return nil
}

// IsDeployed reports whether a known object deploys the root of the pair.
func (p *Pair) IsDeployed() bool { return len(p.clusters) > 0 }

// Again reports whether the object is created each time: under a generated name, or as one that is gone by then (see
// Renewed).
func (p *Pair) Again() bool {
	return p.Operation == admission.Create && p.Before != nil && p.From == (roots.Root{})
}

// Read reports whether the root read a file at the base, if the base could not be rendered.
func (p *Pair) Read(path string) bool { return p.unseen[path] != "" }

// Writes reports whether an object of the kind in a file of the head has a field. If the rendered one lacks it, the build
// removes it.
func (p *Pair) Writes(path, field string) bool {
	data, _, err := p.head.Tree.ReadFile(path)
	if err != nil {
		return false
	}
	documents, _ := doc.Parse(path, data, p.head.Roots.Options().Limits)
	return slices.ContainsFunc(documents, func(n *yaml.Node) bool {
		object, _ := doc.Value(n, false).(map[string]any)
		items, _ := object["items"].([]any) // of a List
		return slices.ContainsFunc(append(items, object), func(one any) bool {
			object, _ := one.(map[string]any)
			_, has := jsonpointer.Lookup(object, field)
			return has && object["kind"] == p.New.Object["kind"]
		})
	})
}

// Resource returns the reviewed resource: the new one, or the old one of a deletion.
func (p *Pair) Resource() *render.Resource { return cmp.Or(p.New, p.Old) }

// Versions calls take with each existing version of the object.
func (p *Pair) Versions(take func(map[string]any)) {
	for _, r := range []*render.Resource{p.Old, p.New, p.Before} {
		if r != nil {
			take(r.Object)
		}
	}
}

// Key identifies an object across versions of its API, as the API server does: by group, kind, namespace and name.
type Key struct{ Group, Kind, Namespace, Name string }

// fromExtensions maps kinds of the former group "extensions" to their present group. Until Kubernetes 1.22, the API
// server served the same objects in both groups.
var fromExtensions = map[string]string{
	"DaemonSet": "apps", "Deployment": "apps", "ReplicaSet": "apps",
	"Ingress": "networking.k8s.io", "NetworkPolicy": "networking.k8s.io", "PodSecurityPolicy": "policy",
}

// KeyOf returns the key of a resource.
func KeyOf(r *render.Resource) Key {
	id := admission.IdentityOf(r.Object)
	if group := fromExtensions[id.Kind]; group != "" && id.Group == "extensions" {
		id.Group = group
	}
	return Key{id.Group, id.Kind, id.Namespace, id.Name}
}

// Pairs matches the resources of one root at both commits. It leaves out unchanged resources unless all is set.
func Pairs(root roots.Root, before, after []*render.Resource, all bool) []*Pair {
	before, looseOld := named(before)
	after, looseNew := named(after)
	olds := map[Key]*render.Resource{}
	for _, r := range before {
		olds[KeyOf(r)] = r
	}
	var list []*Pair
	seen := map[Key]bool{}
	for _, r := range after {
		k := KeyOf(r)
		seen[k] = true
		old := olds[k]
		switch {
		case old == nil:
			list = append(list, &Pair{Root: root, Operation: admission.Create, New: r})
		case all || !same(old, r):
			list = append(list, &Pair{Root: root, Operation: admission.Update, Old: old, New: r})
		}
	}
	for _, r := range before {
		if !seen[KeyOf(r)] {
			list = append(list, &Pair{Root: root, Operation: admission.Delete, Old: r})
		}
	}
	return renamed(list, unnamed(root, looseOld, looseNew))
}

// renamed joins the pairs of resources with a name and of those with a generated name (generateName). An object that
// changes from one to the other is created, and gets its earlier state as Before.
func renamed(with, without []*Pair) []*Pair {
	stem := func(r *render.Resource) Key {
		k := KeyOf(r)
		k.Name = strings.TrimRight(k.Name, "-.")
		return k
	}
	used := map[*Pair]bool{} // each deleted object matches at most once
	match := func(created *Pair, list []*Pair) int {
		if created.Operation != admission.Create || created.Before != nil {
			return -1
		}
		return slices.IndexFunc(list, func(p *Pair) bool {
			return p.Operation == admission.Delete && !used[p] && stem(p.Old) == stem(created.New)
		})
	}
	for _, p := range without {
		if i := match(p, with); i >= 0 {
			p.Before, used[with[i]] = with[i].Old, true
		}
	}
	for _, p := range with {
		if i := match(p, without); i >= 0 {
			p.Before = without[i].Old
			without = slices.Delete(without, i, i+1)
		}
	}
	return append(with, without...)
}

// named splits resources into those with a name and those with a generated name (generateName). Two of the latter are
// never the same object.
func named(list []*render.Resource) (with, without []*render.Resource) {
	return report.Kept(list, hasName), report.Kept(list, func(r *render.Resource) bool { return !hasName(r) })
}

// unnamed matches resources with generated names. A changed one is a creation, since the cluster generates a new name.
func unnamed(root roots.Root, before, after []*render.Resource) (list []*Pair) {
	before = slices.Clone(before)
	take := func(is func(*render.Resource) bool) *render.Resource {
		i := slices.IndexFunc(before, is)
		if i < 0 {
			return nil
		}
		r := before[i]
		before = slices.Delete(before, i, i+1)
		return r
	}
	for _, r := range after {
		if take(func(old *render.Resource) bool { return same(old, r) }) == nil {
			list = append(list, &Pair{Root: root, Operation: admission.Create, New: r})
		}
	}
	for _, p := range list {
		p.Before = take(func(old *render.Resource) bool {
			return KeyOf(old) == KeyOf(p.New) // the prefix is compared as the name
		})
	}
	for _, r := range before {
		list = append(list, &Pair{Root: root, Operation: admission.Delete, Old: r})
	}
	return list
}

func hasName(r *render.Resource) bool {
	return nameOf(r.Object["metadata"]) != ""
}

// same reports whether two resources and their issues are equal.
func same(a, b *render.Resource) bool {
	return reflect.DeepEqual(a.Object, b.Object) && slices.Equal(a.Issues, b.Issues)
}

// Both lists the resources of before that after has, too.
func Both(before, after []*render.Resource) []*render.Resource {
	return slices.DeleteFunc(slices.Clone(before), missing(after))
}

// missing returns a function that reports whether list lacks a resource.
func missing(list []*render.Resource) func(*render.Resource) bool {
	seen := map[Key]bool{}
	for _, r := range list {
		seen[KeyOf(r)] = true
	}
	return func(r *render.Resource) bool { return !seen[KeyOf(r)] }
}

// Join matches the removal of an object in one root with its addition in another.
//
// If the first root is a former root, and the object is still in the same file or in the other root's folder, only its
// deployer changed: that is an update, or nothing if the object is equal. Otherwise the cluster deletes and creates it.
// If the first root is a former root, its violations are pre-existing (see Pair.Before).
//
// Objects that several roots add or remove are not matched, since it is unknown which of them moved. They are matched
// if one root took another over (see Trees.TookOver) or if the paths decide (see renamedFolders).
//
// This applies to roots without a known deployer; for others see redeployed. A root that nothing deploys keeps nothing in the
// cluster: what another one deployed before is deleted. Removals in moved only count as part of a match. stays reports whether
// the head has a root.
func Join(list, moved []*Pair, stays func(roots.Root) bool, tookOver func(from, to *Pair) bool) []*Pair {
	created, deleted := map[Key][]*Pair{}, map[Key][]*Pair{}
	var loose []*Pair
	for _, p := range slices.Concat(list, moved) {
		switch {
		case !hasName(p.Resource()):
			loose = append(loose, p)
		case p.Operation == admission.Create:
			created[KeyOf(p.New)] = append(created[KeyOf(p.New)], p)
		case p.Operation == admission.Delete:
			deleted[KeyOf(p.Old)] = append(deleted[KeyOf(p.Old)], p)
		}
	}
	drop := map[*Pair]bool{}
	dropEqual(loose, stays, drop)
	deployed := redeployed(created, deleted, drop)
	for _, byKey := range []map[Key][]*Pair{created, deleted} {
		for k, list := range byKey {
			byKey[k] = slices.DeleteFunc(list, func(p *Pair) bool { return deployed[p] || drop[p] })
		}
	}
	done := takenOver(created, deleted, tookOver, drop)
	for k, gone := range deleted {
		if len(gone) != 1 || len(created[k]) != 1 {
			renamedFolders(gone, created[k], stays)
			continue
		}
		if stays(gone[0].Root) || done[gone[0]] {
			continue
		}
		from, to := gone[0], created[k][0]
		if from.leaves(to) || from.Root.Path != to.Root.Path && from.Old.Origin("").Path != to.New.Origin("").Path {
			to.follows(from)
			continue
		}
		update(from, to, drop)
	}
	placeless(created, deleted, stays)
	return report.Kept(list, func(p *Pair) bool {
		return !drop[p] && !(p.idle && p.Before != nil && p.From == p.Root) // see Sides.fallsOut
	})
}

// dropEqual drops resources with generated names that one root removes and another adds unchanged for the same clusters,
// or that a former root without a deployer leaves to another one.
func dropEqual(list []*Pair, stays func(roots.Root) bool, drop map[*Pair]bool) {
	gone := report.Kept(list, func(p *Pair) bool { return p.Operation == admission.Delete && !p.uninstalled })
	for _, to := range list {
		if to.Operation != admission.Create || to.idle {
			continue
		}
		i := slices.IndexFunc(gone, func(from *Pair) bool {
			if drop[from] || from.Root == to.Root || !same(from.Old, to.New) {
				return false
			}
			if len(from.clusters) == 0 {
				return len(to.clusters) == 0 && !stays(from.Root)
			}
			return len(taken(to.clusters, from.clusters, mayHaveBeen)) == 0 && len(taken(from.clusters, to.clusters, gitops.Cluster.MayBecome)) == 0
		})
		if i >= 0 {
			drop[to], drop[gone[i]] = true, true
		}
	}
}

// follows makes the removal of an object the one before an addition, unless the addition was there already, see Sides.fallsOut.
func (to *Pair) follows(from *Pair) {
	if to.From != to.Root {
		to.Before, to.From = from.Old, from.Root
	}
}

// Renewed turns updates into creations where the former object is gone by then: what deploys a hook deletes it, and the
// cluster deletes a Job that finished. An object that becomes a hook, or that the deployer replaces, is deleted and
// created. If it is replaced, its earlier violations are not pre-existing, since the old object existed until then.
func Renewed(list []*Pair) []*Pair {
	var unknown *gitops.Deployment
	for _, p := range list {
		if p.Operation != admission.Update || !p.hook && !p.replaced && !expires(p.Old.Object) {
			continue
		}
		if !expires(p.Old.Object) && unknown.Phase(p.Old.Object) == gitops.Applied {
			deleted := *p
			deleted.Operation, deleted.New = admission.Delete, nil
			list = append(list, &deleted)
		}
		if p.Operation, p.Before, p.Old = admission.Create, p.Old, nil; p.replaced {
			p.Replaced, p.Before = p.Before, nil
		}
	}
	return list
}

// expires reports whether an object is a Job that the cluster deletes within a day after it finished
// (https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/). A suspended one does not finish.
func expires(object map[string]any) bool {
	ttl, has := jsonpointer.Lookup(object, "/spec/ttlSecondsAfterFinished")
	seconds, err := strconv.Atoi(fmt.Sprint(ttl))
	suspended, _ := jsonpointer.Lookup(object, "/spec/suspend")
	return object["kind"] == "Job" && suspended != true && has && err == nil && seconds <= 24*60*60
}

// placeless sets Before for objects of a former root with the same file and a namespace that one side does not know.
func placeless(created, deleted map[Key][]*Pair, stays func(roots.Root) bool) {
	type written struct {
		Key
		file string
	}
	at := func(r *render.Resource) written {
		k := KeyOf(r)
		k.Namespace = ""
		return written{k, r.Origin("").Path}
	}
	gone := map[written][]*Pair{}
	for k, list := range deleted {
		for _, p := range list {
			if len(created[k]) == 0 && !stays(p.Root) {
				gone[at(p.Old)] = append(gone[at(p.Old)], p)
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, list := range created {
		for _, p := range list {
			if from := gone[at(p.New)]; len(from) == 1 && p.Before == nil && p.Operation == admission.Create &&
				(KeyOf(p.New).Namespace == "") != (KeyOf(from[0].Old).Namespace == "") {
				p.Before, p.From = from[0].Old, from[0].Root
			}
		}
	}
}

// StableField rewrites a pointer so that it stays valid when elements of a list are added or removed: an index becomes
// the element's name, if it has one.
func StableField(object any, pointer string) string {
	parts := strings.Split(pointer, "/")
	for i := 1; i < len(parts); i++ {
		_, inList := object.([]any)
		child, ok := jsonpointer.Child(object, jsonpointer.Unescape(parts[i]))
		if !ok {
			break
		}
		object = child
		if name := nameOf(child); inList && name != "" {
			parts[i] = "[name=" + name + "]"
		}
	}
	return strings.Join(parts, "/")
}

// TookOver reports whether an object that one root removes is the object that another root adds, so that only its
// deployer changes. It is so if a kustomization begins or stops to include the other's folder, or if another object
// deploys the same folder. A file may also move between a folder without a kustomization and a kustomization.
func (t *Trees) TookOver(from, to *Pair) bool {
	a, b := from.Root, to.Root
	switch {
	case a == b:
		return false
	case a.Path == b.Path && a.Object != b.Object:
		return true
	case a.Object != "" || b.Object != "":
		return false
	case a.Kind == roots.Folder || b.Kind == roots.Folder:
		return from.Old.Origin("").Path == to.New.Origin("").Path
	}
	return t.Head.Roots.Includes(b, a) || t.Base.Roots.Includes(a, b)
}

// takenOver matches objects whose root was taken over, see TookOver. It returns the pairs that have a match.
func takenOver(created, deleted map[Key][]*Pair, tookOver func(from, to *Pair) bool, drop map[*Pair]bool,
) map[*Pair]bool {
	done := map[*Pair]bool{}
	for k, gone := range deleted {
		takers := map[*Pair][]*Pair{}
		for _, to := range created[k] {
			of := report.Kept(gone, func(from *Pair) bool { return tookOver(from, to) && !from.leaves(to) })
			if len(of) > 0 && !slices.ContainsFunc(of, func(p *Pair) bool { return !same(of[0].Old, p.Old) }) {
				takers[of[0]] = append(takers[of[0]], to)
				done[to] = true
			}
		}
		for from, list := range takers {
			done[from] = true
			if len(list) == 1 {
				update(from, list[0], drop)
				continue
			}
			for _, to := range list { // several roots deploy the object now
				to.follows(from)
			}
		}
	}
	return done
}

// update makes one pair of the removal of an object and of its addition, or none where it is the same.
func update(from, to *Pair, drop map[*Pair]bool) {
	drop[from] = true
	if same(from.Old, to.New) {
		drop[to] = true
		return
	}
	to.Operation, to.Old = admission.Update, from.Old
}

// renamedFolders sets Before where a folder above several roots was renamed. Each former root has at most one
// successor: the one whose path ends most alike. Additional similar objects are new.
func renamedFolders(gone, created []*Pair, stays func(roots.Root) bool) {
	type successor struct {
		to     *Pair
		shared int
	}
	of := map[*Pair]successor{}
	for _, to := range created {
		if to.Operation != admission.Create || to.Before != nil {
			continue
		}
		most, found := 0, (*Pair)(nil)
		for _, from := range gone {
			if stays(from.Root) || from.Root.Kind != to.Root.Kind || from.Root.Object+to.Root.Object != "" {
				continue
			}
			switch n := sharedEnd(from.Root.Path, to.Root.Path); {
			case n > most:
				most, found = n, from
			case n == most:
				found = nil
			}
		}
		switch known := of[found]; {
		case found == nil || most < known.shared:
		case most == known.shared:
			of[found] = successor{nil, most} // several are equally similar, so it is unknown which is the successor
		default:
			of[found] = successor{to, most}
		}
	}
	for from, next := range of {
		if next.to != nil {
			next.to.Before, next.to.From = from.Old, from.Root
		}
	}
}
