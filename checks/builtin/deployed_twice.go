package builtin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// maxSharing limits how many other roots are rendered because they share files with a root that has a new object.
const maxSharing = 64

// bringer is a root with new objects.
type bringer struct {
	root       roots.Root
	namespaces map[string]bool // namespaces of the new objects; "" for cluster-scoped ones
}

// meets reports whether another root may deploy a new object of this root: it is deployed to the same cluster, and does
// not put everything into another namespace.
func (b bringer) meets(reached *Reached, set *deploy.Set, other roots.Root) bool {
	d := set.Target(other).By
	plain := other.Kind == roots.Kustomization && (d == nil || d.Virtual == nil && d.External == nil && d.Release == nil)
	if f, err := set.Kustomization(other.Path); plain && !b.namespaces[""] && f != nil && err == nil {
		if namespace := doc.Text(f.Node, "namespace"); namespace != "" && !b.namespaces[namespace] {
			return false
		}
	}
	return reached.together(set, b.root, other)
}

// deployedBy is a root that deploys an object.
type deployedBy struct {
	root roots.Root
	was  bool // the base has it, too
}

// everywhere are the objects of one side by key.
type everywhere struct {
	once  sync.Once
	by    map[diff.Key][]deployedBy
	error error
}

// deployedTwice finds objects that two roots deploy to the same cluster, so that each root undoes the changes of the
// other.
//
// Two roots are in the same cluster if the settings say so. They also are if objects of Argo CD or Flux in one root or
// one folder deploy both to the same destination. It checks the roots that the change affects. For one with a new
// object, it also checks roots that share its files and may put the object into its namespace, at most maxSharing.
func deployedTwice(ctx context.Context, a *Scope) (list []RootViolation, _ error) {
	all := &a.Reached.before
	if a.Head {
		all = &a.Reached.now
	}
	all.once.Do(func() { all.error = a.Reached.collect(ctx, all, a) })
	if all.error != nil {
		return nil, all.error
	}
	for _, r := range a.Resources {
		key := diff.KeyOf(r)
		if len(all.by[key]) < 2 || !placedFor(key) || shared(r.Object) {
			continue
		}
		own := slices.IndexFunc(all.by[key], func(d deployedBy) bool { return d.root == a.Root })
		for _, other := range all.by[key] {
			if other.root == a.Root || own < 0 || !first(all.by[key][own], other) || !a.Reached.together(a.Set, a.Root, other.root) {
				continue
			}
			list = append(list, RootViolation{r, Violation{"/metadata/name", fmt.Sprintf("%s also deploys this "+
				"object: each overwrites the changes of the other", other.root.Name())}})
			break
		}
	}
	return list, nil
}

// first reports whether an object that two roots deploy is reported in root here: in the root where it is new,
// otherwise in the latter of the two.
func first(here, there deployedBy) bool {
	if here.was != there.was {
		return !here.was
	}
	return roots.Compare(here.root, there.root) > 0
}

// placedFor reports whether the namespace of an object is known, or not needed.
func placedFor(key diff.Key) bool {
	return key.Name != "" && (key.Namespace != "" || kinds.ClusterScoped(key.Group, key.Kind)) &&
		!strings.Contains(key.Namespace+key.Name, "${")
}

// shared reports whether an object's annotations say that several owners apply it together, that it is a hook, or that
// it is not applied.
func shared(o map[string]any) bool {
	for key, value := range mapAt(o, "/metadata/annotations") {
		text := fmt.Sprint(value)
		switch key {
		case "kustomize.toolkit.fluxcd.io/ssa", "helm.sh/hook", "argocd.argoproj.io/hook", "config.kubernetes.io/local-config":
			return true
		case "kustomize.toolkit.fluxcd.io/reconcile":
			return text == "disabled"
		case "argocd.argoproj.io/sync-options":
			return strings.Contains(text, "ServerSideApply=true")
		}
	}
	return false
}

// collect finds the objects of one side.
func (reached *Reached) collect(ctx context.Context, all *everywhere, a *Scope) error {
	all.by = map[diff.Key][]deployedBy{}
	add := func(root roots.Root, resources []*render.Resource, was func(diff.Key) bool) {
		for _, r := range resources {
			key := diff.KeyOf(r)
			if !shared(r.Object) && !slices.ContainsFunc(all.by[key], func(d deployedBy) bool { return d.root == root }) {
				all.by[key] = append(all.by[key], deployedBy{root, was(key)})
			}
		}
	}
	yes := func(diff.Key) bool { return true }
	known, bringing := map[roots.Root]bool{}, map[string][]bringer{}
	for _, r := range reached.Roots {
		known[r.Root] = true
		before := map[diff.Key]bool{}
		for _, res := range r.Before() {
			before[diff.KeyOf(res)] = true
		}
		switch {
		case !a.Head && a.Set.Has(r.Root):
			add(r.Root, r.Before(), yes)
		case a.Head && a.Set.Has(r.Root):
			add(r.Root, r.Deployed, func(key diff.Key) bool { return before[key] })
		}
		brings := bringer{r.Root, map[string]bool{}}
		for _, p := range r.Pairs {
			if p.Operation == admission.Create {
				brings.namespaces[diff.KeyOf(p.New).Namespace] = true
			}
		}
		if len(brings.namespaces) == 0 {
			continue
		}
		for file, id := range r.Reads {
			if id != "" {
				bringing[file] = append(bringing[file], brings)
			}
		}
	}
	if reached.Sides.All {
		return nil
	}
	count := 0
	for _, file := range slices.Sorted(maps.Keys(bringing)) {
		for _, other := range a.Set.Reach([]string{file}, nil) {
			if known[other] || !slices.ContainsFunc(bringing[file], func(b bringer) bool { return b.meets(reached, a.Set, other) }) {
				continue
			}
			known[other] = true
			if count++; count > maxSharing {
				return nil
			}
			out, problems, err := a.Set.Render(ctx, other)
			if err != nil {
				return err
			}
			if len(problems) == 0 {
				add(other, out.Resources, yes)
			}
		}
	}
	return nil
}

// cluster identifies a cluster to which a root is deployed, as far as it is known.
type cluster struct {
	settings string // its name in the settings; the other fields are then empty
	name     string // its name in Argo CD, or the kubeconfig in Flux
	from     string // the root that contains the objects which deploy to it,
	folder   string // or the folder of their file
}

// reaching is a cluster and the object that deploys to it.
type reaching struct {
	cluster
	object gitops.Reference
	name   string // name of an object that an ApplicationSet generates
}

// together reports whether two roots are certainly deployed to the same cluster by different objects. An object that
// two files contain exists once in the cluster, so it does not count.
func (reached *Reached) together(set *deploy.Set, a, b roots.Root) bool {
	theirs := reached.clustersOf(set, b)
	return slices.ContainsFunc(reached.clustersOf(set, a), func(one reaching) bool {
		return slices.ContainsFunc(theirs, func(other reaching) bool {
			return one.cluster == other.cluster && (one.settings != "" || one != other)
		})
	})
}

// clustersOf lists the clusters to which a root is certainly deployed. It caches them, since a root often has many
// objects that other roots have, too.
func (reached *Reached) clustersOf(set *deploy.Set, root roots.Root) (list []reaching) {
	type asked struct {
		set  *deploy.Set
		root roots.Root
	}
	key := asked{set, root}
	if known, ok := reached.known.Load(key); ok {
		return known.([]reaching)
	}
	if reached.Clusters != nil {
		for _, name := range reached.Clusters(root) {
			if name != "" {
				list = append(list, reaching{cluster: cluster{settings: name}})
			}
		}
	}
	for _, one := range set.Deployers(root) {
		if c, ok := clusterOf(one.Deployment); ok {
			list = append(list, reaching{c, one.Object, one.Name})
		}
	}
	reached.known.Store(key, list)
	return list
}

// clusterOf returns the cluster of a deployment; ok is false if only a generator knows it.
func clusterOf(d gitops.Deployment) (c cluster, ok bool) {
	if d.Object.Kind == "ApplicationSet" && d.Cluster == "" || strings.Contains(d.Cluster, "{{") {
		return c, false
	}
	c = cluster{name: d.Cluster, from: d.From}
	if d.From == "" {
		c.folder = path.Dir(cmp.Or(d.Where.Path, "a"))
	}
	return c, true
}
