package deploy

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// unlink removes deployments of objects that are read through a symlink, if Flux leaves out the symlink, or the object in its
// target deploys the same to the same clusters.
func (w *worklist) unlink() {
	if len(w.index.Deploying.Linked()) == 0 {
		return
	}
	var leading []*Deployment
	all := w.sorted()
	for _, one := range all {
		real, _, err := w.index.Tree().Lookup(one.Where.Path)
		if one.From != "" || err != nil || real == one.Where.Path {
			continue
		}
		clusters := w.reaches(one)
		if w.isLeftOut(one.Where.Path) && !w.isLive(one) || slices.ContainsFunc(all, func(other *Deployment) bool {
			return other.From == "" && other.Where.Path == real && other.says(one.Object, one.Name, one.Source, one.own) &&
				!slices.ContainsFunc(clusters, func(c gitops.Cluster) bool { return !slices.Contains(w.reaches(other), c) })
		}) {
			leading = append(leading, one)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	without := w.remove(leading, nil)
	w.problems = slices.DeleteFunc(w.problems, func(p gitops.Problem) bool {
		real, _, err := w.index.Tree().Lookup(p.Path)
		return without[p.From] || err == nil && real != p.Path && slices.ContainsFunc(w.problems, func(other gitops.Problem) bool {
			return other.Path == real && other.Object == p.Object
		})
	})
}

// written says where an object is written.
type written struct{ kind, name, file string }

func (d *Deployment) written() written { return written{d.Object.Kind, d.Object.Name, d.Where.Path} }

// arrived removes deployments of objects that another deployment changes before they reach the cluster, with what they
// deployed. one is that deployment, and objects are what it renders. again has deployments that it renders unchanged.
func (w *worklist) arrived(one *Deployment, objects []gitops.Object, again map[*Deployment]bool) {
	one.resolved() // which may add problems
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[written]bool{}
	for _, o := range objects {
		all[written{o.Kind, o.Name, o.File}] = true
	}
	arrived := func(o gitops.Reference, file, from string) bool {
		return all[written{o.Kind, o.Name, file}] && (from == "" || !strings.Contains(from, by) &&
			slices.ContainsFunc(w.index.Ancestors(from), one.includes))
	}
	var raw []*Deployment
	for at := range all {
		for _, other := range w.byObject[at] {
			if other != one && !again[other] && arrived(other.Object, other.Where.Path, other.From) {
				raw = append(raw, other)
				w.replaced[other.Where.Path] = true
			}
		}
	}
	without := w.remove(raw, one)
	w.waiting = slices.DeleteFunc(w.waiting, func(other *Deployment) bool {
		return arrived(other.Object, other.Where.Path, other.From)
	})
	w.problems = slices.DeleteFunc(w.problems, func(p gitops.Problem) bool {
		return without[p.From] || arrived(p.Object, p.Path, p.From)
	})
}

// contest lists kustomizations that are deployed as they are and have objects which something else changes on another
// way to a cluster, once: an overlay, or another deployment. Both versions of these objects exist. It also adds, once,
// what the objects deploy in kustomizations that no object deploys, for a cluster elsewhere, and lists that.
func (w *worklist) contest() (list []*Deployment) {
	for _, p := range w.index.Deploying.Files() {
		w.mu.Lock()
		replaced := w.replaced[p]
		w.mu.Unlock()
		shaping, plain := w.index.Deploying.Shaping(p)
		if !replaced && len(shaping) == 0 {
			continue
		}
		including := w.index.IncludedBy(p)
		for _, dir := range w.index.Ancestors(including...) {
			if root := (roots.Root{Path: dir}); !replaced && (slices.Contains(shaping, root) || slices.Contains(plain, root)) {
				continue // its objects were read
			}
			for _, one := range w.at(dir) {
				if one.asIs && !w.contests[one.id] && w.isLive(one) {
					w.contests[one.id] = true
					list = append(list, one)
				}
			}
		}
		if !replaced {
			continue
		}
		for _, dir := range w.index.TopLevel(including, w.index.Selects) {
			root := roots.Root{Path: dir}
			if w.contests[dir] || slices.Contains(shaping, root) || w.isSent(dir) {
				continue
			}
			w.contests[dir] = true
			added, _ := w.add(nil, w.rendered(root).objects)
			list = append(list, added...)
		}
	}
	return list
}

// remove removes some deployments and what they deploy in turn, except through the deployment kept. It returns the
// removed roots as gitops.Deployment.From names them. The lock is held.
func (w *worklist) remove(list []*Deployment, kept *Deployment) (without map[string]bool) {
	without = map[string]bool{}
	for list = slices.Clone(list); len(list) > 0; {
		one := list[len(list)-1]
		list = list[:len(list)-1]
		if one == kept {
			continue
		}
		if list = append(list, w.deploys[one]...); w.byID[one.id] != one {
			continue
		}
		without[From(one.named())] = true
		delete(w.byID, one.id)
		w.byOrder = nil
		isOne := func(d *Deployment) bool { return d == one }
		w.byPath[one.Path] = slices.DeleteFunc(w.byPath[one.Path], isOne)
		w.byObject[one.written()] = slices.DeleteFunc(w.byObject[one.written()], isOne)
		for _, dir := range one.Components() {
			w.composed[dir] = slices.DeleteFunc(w.composed[dir], isOne)
		}
	}
	return without
}
