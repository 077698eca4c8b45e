package deploy

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// selection are the objects that declare clusters to Argo CD.
type selection struct {
	objects []gitops.Object
	pairs   [][2]gitops.Cluster // the name and the address of each cluster that a Secret declares
	held    []bool              // by object: see isHeld; nil: not computed yet
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
				one := w.rendered(root, kinds)
				if whole = whole && one.whole; !read[root] {
					read[root], list = true, append(list, one.objects...)
				}
			}
			raw = raw && (!whole || w.index.Unreferenced(p))
		}
		if raw {
			list = append(list, slices.DeleteFunc(w.inFile(p, nil), func(o gitops.Object) bool { return !slices.Contains(kinds, o.Kind) })...)
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
	add(w.ordered().external, func(one *Deployment) bool {
		return one.Release != nil && (one.Where.Path == p || slices.ContainsFunc(one.Release.Reads, func(read string) bool {
			return read == p || strings.HasPrefix(p, read+"/")
		}))
	})
	return list
}

// selectableBy returns what selectable returns, for the ApplicationSet of a deployment: without the objects in other
// clusters. If something deploys the ApplicationSet and some of these objects, the others may be in no cluster.
func (w *worklist) selectableBy(set *Deployment, in map[string][]gitops.Cluster) (list []gitops.Object) {
	all := w.selectable()
	if all.held == nil {
		for _, o := range all.objects {
			all.held = append(all.held, w.isHeld(holder(o)))
		}
	}
	clusters, some, loose := w.reaches(set), false, []int(nil)
	for i, o := range all.objects {
		if isElsewhere(w.clustersWith(o, in), clusters, all.pairs) {
			continue
		}
		if list = append(list, o); !all.held[i] {
			loose = append(loose, len(list)-1)
		} else if _, _, known := o.Declares(); known {
			some = true
		}
	}
	if some && len(loose) > 0 && w.isHeld(set) {
		for _, i := range loose {
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
