package deploy

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// ambiguous is an object that refers to others, or an ApplicationSet that selects clusters. What it deploys is settled when it
// is known how the others reach which clusters.
type ambiguous struct {
	object   gitops.Object
	from     *Deployment     // deploys the object; nil: it is in a file
	near     []gitops.Object // see finder
	differs  bool            // it refers to one of several objects of a name that differ, often one for each cluster
	declared []gitops.Object // that declare clusters, for an ApplicationSet
}

// isAbout reports whether a problem is in the object.
func (a ambiguous) isAbout(p gitops.Problem) bool {
	return p.From == a.object.From() && (p.From != "" || p.Path == a.object.File) && p.Object == a.object.Reference()
}

// selects reports whether the object selects clusters.
func (a ambiguous) selects() bool { return a.object.Kind == "ApplicationSet" }

// settled is what an ambiguous object deploys once its clusters are known.
type settled struct {
	ambiguous
	instead  []*Deployment // what it deploys as far as was known before
	found    []gitops.Deployment
	problems []gitops.Problem
}

// settle evaluates the ambiguous objects again, for each cluster that they are deployed to: only objects that are not
// certainly in another cluster count, and they count as they are deployed. What differs by cluster becomes a deployment for
// each. It returns the new ones.
func (w *worklist) settle() (added []*Deployment) {
	if len(w.several) == 0 {
		return nil
	}
	w.selection = nil // more is known now
	w.reached.Clear()
	w.inside.Clear()
	var list []settled
	var again []ambiguous
	var sent env.Memo[sentKey, []gitops.Object]
	as := func(o gitops.Object) []gitops.Object {
		return sent.Get(sentKey{o.Reference(), o.File, o.From()}, func() []gitops.Object { return w.sentAs(o) })
	}
	for _, a := range w.several {
		if !a.selects() && !a.differs && !w.mayChange(a, as) {
			again = append(again, a)
			continue
		}
		s, ok := w.settled(a, as)
		if ok {
			list = append(list, s)
		}
		if a.selects() { // what is added may declare clusters
			again = append(again, s.ambiguous)
		}
	}
	w.several = again
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range list {
		if up := s.from; up != nil && w.byID[up.id] != up {
			continue // it is replaced itself, and reads the object again
		}
		w.remove(s.instead, nil)
		w.problems = slices.DeleteFunc(w.problems, s.isAbout)
		more, _ := w.enterFound(s.found, s.problems, s.from)
		added = append(added, more...)
	}
	return added
}

// sentKey identifies an object that others refer to.
type sentKey struct {
	gitops.Reference
	file, from string
}

// mayChange reports whether live deployments may change what an object refers to: see sentAs, which is as.
func (w *worklist) mayChange(a ambiguous, as func(gitops.Object) []gitops.Object) bool {
	return slices.ContainsFunc(a.object.Refs, func(ref gitops.Reference) bool {
		changes := func(o gitops.Object) bool { return o.Kind == ref.Kind && o.Name == ref.Name && as(o) != nil }
		return ref.Kind == "HelmChart" || ref.Kind == "ExternalArtifact" || slices.ContainsFunc(a.near, changes) ||
			slices.ContainsFunc(w.named(ref.Kind, ref.Name), changes)
	})
}

// settled evaluates one object; false where its clusters change nothing. as is sentAs.
func (w *worklist) settled(a ambiguous, as func(gitops.Object) []gitops.Object) (out settled, ok bool) {
	out.ambiguous = a
	own := &Deployment{from: a.from, Deployment: gitops.Deployment{Object: a.object.Reference(), From: a.object.From(),
		Where: gitops.Position{Path: a.object.File}}}
	w.mu.Lock()
	for _, one := range w.byObject[own.written()] {
		if one.from == a.from && one.From == own.From && one.Object == own.Object {
			out.instead = append(out.instead, one)
			if one.To == (gitops.Cluster{}) {
				own = one // of itself, it is known whether it deploys itself
			}
		}
	}
	gone := len(out.instead) == 0 && !slices.ContainsFunc(w.problems, a.isAbout)
	w.mu.Unlock()
	if gone { // another deployment changes the object before it reaches a cluster
		return out, false
	}
	if a.selects() {
		out.declared = w.selectableBy(own)
		if slices.EqualFunc(out.declared, a.declared, gitops.Object.Is) {
			return out, false
		}
		among := func(n gitops.Wanted) gitops.Found { return n.Select(out.declared) }
		out.found, out.problems = w.deployments([]gitops.Object{a.object}, among, nil)
		return out, !slices.ContainsFunc(out.found, func(d gitops.Deployment) bool { return d.Suspended })
	}
	var results []gitops.Evaluation
	clusters, find, fewer := w.reaches(own), w.finder(a.near), false
	for _, c := range clusters {
		found, problems := w.deployments([]gitops.Object{a.object}, func(n gitops.Wanted) gitops.Found {
			var list []gitops.Object
			anywhere := n
			anywhere.Namespace = "" // a deployment may change it
			for _, o := range find(anywhere).Objects {
				sent := as(o)
				if sent == nil {
					sent = []gitops.Object{o}
				} else {
					fewer = true
				}
				for _, o := range sent {
					if !w.isApart(o, c) {
						list = append(list, o)
					} else if !n.Any && n.Selects(o) {
						fewer = true
					}
				}
			}
			return n.Select(list)
		}, nil)
		if len(found) > 1 || len(found) == 1 && found[0].Suspended {
			return out, false
		}
		results = append(results, gitops.Evaluation{Deployments: found, Problems: problems})
	}
	if !fewer {
		return out, false
	}
	differ := false
	for _, one := range results {
		differ = differ || !slices.Equal(one.Problems, results[0].Problems) ||
			!slices.EqualFunc(one.Deployments, results[0].Deployments, func(a, b gitops.Deployment) bool { return a.Digest() == b.Digest() })
	}
	for i, one := range results {
		if i > 0 && !differ {
			break
		}
		for _, d := range one.Deployments {
			if differ {
				d.Only, d.Cluster, d.To = clusters[i].Name, path.Base(clusters[i].Name), cmp.Or(d.To, clusters[i])
			}
			out.found = append(out.found, d)
		}
		for _, p := range one.Problems {
			if !slices.Contains(out.problems, p) {
				out.problems = append(out.problems, p)
			}
		}
	}
	return out, true
}

// sentAs returns an object of a file as live deployments send it to clusters, one for each; nil where none changes it.
func (w *worklist) sentAs(o gitops.Object) []gitops.Object {
	if strings.Contains(o.From(), by) {
		return nil
	}
	variables := sync.OnceValue(o.HasVariables)
	changes := func(one *Deployment) bool {
		return (one.Substitute.Active() && variables() || one.Edits(o.Kind, o.Namespace)) && w.isLive(one)
	}
	all := w.taking(o.File, w.index.Touched([]string{o.File}, nil)...)
	if !slices.ContainsFunc(all, changes) {
		return nil
	}
	as := []gitops.Object{}
	for _, one := range all {
		whole := false
		if changes(one) {
			found := w.rendered(one.root())
			whole = found.whole
			as = append(as, slices.DeleteFunc(slices.Clone(found.objects), func(x gitops.Object) bool { return x.File != o.File || !x.Same(o) })...)
		}
		if !whole && w.isLive(one) {
			as = append(as, o.In(From(one.named())))
		}
	}
	return as
}

// isApart reports whether an object that others refer to is certainly in another cluster.
func (w *worklist) isApart(o gitops.Object, c gitops.Cluster) bool {
	clusters := w.clustersWith(o)
	return len(clusters) > 0 && !slices.ContainsFunc(clusters, func(other gitops.Cluster) bool { return !c.Apart(other) })
}

// clustersWith lists the clusters that an object is deployed to.
func (w *worklist) clustersWith(o gitops.Object) []gitops.Cluster {
	return w.inside.Get([2]string{o.File, o.From()}, func() []gitops.Cluster {
		one := holder(o)
		if _, id, deployed := strings.Cut(o.From(), by); deployed {
			one = w.of(roots.Root{Object: id})
		}
		if one == nil {
			return nil
		}
		return w.reaches(one)
	})
}

// selection are the objects that declare clusters to Argo CD.
type selection struct {
	objects []gitops.Object
	pairs   [][2]gitops.Cluster // the name and the address of each cluster that a Secret declares
	held    []bool              // by object: see isHeld; nil: not computed yet
	within  env.Memo[string, selectable]
}

// selectable are the objects that declare clusters to Argo CD and that some clusters may have.
type selectable struct {
	objects []gitops.Object
	loose   []int // by index: those that nothing deploys, if something deploys others; none otherwise
}

// selectable returns the objects that declare clusters to Argo CD, as they are deployed by what is known so far: those in
// files that are deployed as they are, and those that roots render.
func (w *worklist) selectable() *selection {
	if w.selection != nil {
		return w.selection
	}
	list, read := []gitops.Object(nil), map[roots.Root]bool{}
	kinds := gitops.Declaring()
	for _, p := range w.index.Deploying.Sources("Secret") {
		manifest := w.index.Manifest(p) && !kustomization.IsFileName(p)
		raw := manifest && w.deploysFile(p, map[string]bool{})
		if !manifest || !w.asWritten(p, false, "labels", "commonLabels", "commonAnnotations", "namespace") {
			whole := true
			for _, root := range w.rendering(p) {
				one := w.rendered(root)
				if whole = whole && one.whole; !read[root] {
					read[root], list = true, append(list, ofKinds(one.objects, kinds)...)
				}
			}
			raw = raw && (!whole || w.index.Unreferenced(p))
		}
		if raw {
			list = append(list, ofKinds(w.inFile(p, nil), kinds)...)
		}
	}
	w.selection = &selection{objects: list}
	for _, o := range list {
		if name, server, ok := o.Declares(); ok {
			w.selection.pairs = append(w.selection.pairs, [2]gitops.Cluster{{By: gitops.ByName, Name: name}, gitops.ClusterAt(server)})
		}
	}
	return w.selection
}

// Named returns the cluster with the name that Secrets of some trees declare for its address, if they agree.
func Named(c gitops.Cluster, sets ...*Set) gitops.Cluster {
	if c.By != gitops.ByServer {
		return c
	}
	var names, all [][2]gitops.Cluster
	for _, s := range sets {
		all = append(all, s.addresses()...)
	}
	for _, pair := range all {
		if pair[1] == c {
			names = append(names, pair)
		}
	}
	if len(names) == 0 || slices.ContainsFunc(all, func(pair [2]gitops.Cluster) bool { return (pair[0] == names[0][0]) != (pair[1] == c) }) {
		return c
	}
	return names[0][0]
}

// rendering lists the roots that read a file and are deployed by what is known so far, except plain folders and charts
// without a release.
func (w *worklist) rendering(p string) (list []roots.Root) {
	for _, root := range w.index.Touching([]string{p}, nil) {
		if root.Kind == roots.Kustomization && !w.covered(root) {
			list = append(list, root)
		}
	}
	add := func(all []*Deployment, reads func(*Deployment) bool) {
		for _, one := range all {
			if w.index.Selects(one.Path) && reads(one) && w.isLive(one) {
				list = append(list, one.root())
			}
		}
	}
	touched := w.index.Touched([]string{p}, nil)
	add(append(w.taking(p, touched...), w.composing(w.index.Ancestors(touched...)...)...), func(*Deployment) bool { return true })
	add(w.ordered().external, func(one *Deployment) bool { return one.Release != nil && (one.Where.Path == p || one.reads(p)) })
	return list
}

// reads reports whether a deployment is a release that reads a file, such as one of its chart in this repository.
func (d *Deployment) reads(p string) bool {
	return d.Release != nil && slices.ContainsFunc(d.Release.Reads, func(read string) bool {
		rest, in := strings.CutPrefix(p, read)
		return in && (rest == "" || rest[0] == '/')
	})
}

// selectableBy returns what selectable returns, for the ApplicationSet of a deployment: without the objects in other
// clusters. If something deploys the ApplicationSet and some of these objects, the others may be in no cluster.
func (w *worklist) selectableBy(set *Deployment) []gitops.Object {
	all, clusters := w.selectable(), w.reaches(set)
	if all.held == nil {
		for _, o := range all.objects {
			all.held = append(all.held, w.isHeld(holder(o)))
		}
	}
	in := all.within.Get(fmt.Sprintf("%#v", clusters), func() (in selectable) {
		some := false
		for i, o := range all.objects {
			if isElsewhere(w.clustersWith(o), clusters, all.pairs) {
				continue
			}
			if in.objects = append(in.objects, o); !all.held[i] {
				in.loose = append(in.loose, len(in.objects)-1)
			} else if _, _, known := o.Declares(); known {
				some = true
			}
		}
		if !some {
			in.loose = nil
		}
		return in
	})
	list := slices.Clone(in.objects)
	if len(in.loose) > 0 && w.isHeld(set) {
		for _, i := range in.loose {
			list[i] = list[i].Uncertain()
		}
	}
	return list
}

// isHeld reports whether a live deployment contains the object of a deployment.
func (w *worklist) isHeld(one *Deployment) bool {
	return one.from != nil || strings.Contains(one.From, by) || slices.ContainsFunc(w.holding(one), w.isLive)
}

// holder returns a deployment whose object is where another object is.
func holder(o gitops.Object) *Deployment {
	return &Deployment{Deployment: gitops.Deployment{From: o.From(), Where: gitops.Position{Path: o.File}}}
}

// isElsewhere reports whether an object that declares a cluster is in none of the clusters of an ApplicationSet, as far
// as objects of Argo CD say. pairs are names of one cluster.
func isElsewhere(declared, clusters []gitops.Cluster, pairs [][2]gitops.Cluster) bool {
	return len(declared) > 0 && len(clusters) > 0 && !slices.ContainsFunc(declared, func(a gitops.Cluster) bool {
		return a.By == gitops.ByFolder || slices.ContainsFunc(clusters, func(b gitops.Cluster) bool {
			return b.By == gitops.ByFolder || a.MayBecome(b) || b.MayBecome(a) ||
				slices.Contains(pairs, [2]gitops.Cluster{a, b}) || slices.Contains(pairs, [2]gitops.Cluster{b, a})
		})
	})
}
