package deploy

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// isLive reports whether the object of a deployment is deployed itself: as part of a root, or by another live object. A
// root that is deployed also deploys the object if it renders it.
func (w *worklist) isLive(one *Deployment) bool { return w.isLiveWithout(one, map[string]bool{}) }

// isLiveWithout is isLive where the charts in passed are not deployed.
func (w *worklist) isLiveWithout(one *Deployment, passed map[string]bool) bool {
	one = one.top()
	// A root without a deployment renders the object.
	if one.From != "" && (w.index.IsLive(one.From) || w.standsAlone(one.From, passed)) {
		return true
	}
	return one.Object.Kind == roots.ChartEntryKind || w.deploysFile(one.Where.Path, map[string]bool{})
}

// standsAlone reports whether a folder has a chart that may print objects which deploy something, and that no release
// deploys except those that it prints itself. Releases of the charts in passed do not count.
func (w *worklist) standsAlone(dir string, passed map[string]bool) bool {
	if passed[dir] || !slices.Contains(w.index.Deploying.Charts(), roots.Root{Path: dir, Kind: roots.Chart}) {
		return false
	}
	passed[dir] = true
	return !slices.ContainsFunc(w.at(dir), func(one *Deployment) bool {
		return one.Release != nil && one.top().From != dir && w.isLiveWithout(one, passed)
	})
}

// deploysFile reports whether the objects in a file are deployed, other than by objects in the files in passed.
func (w *worklist) deploysFile(p string, passed map[string]bool) bool {
	if passed[p] {
		return false // an object that only deploys itself is not deployed
	}
	passed[p] = true
	return w.index.IsPart(p) && !w.isLeftOut(p) || slices.ContainsFunc(w.ancestors(path.Dir(p)), func(one *Deployment) bool {
		return one.has(p) && w.deploysFile(one.Where.Path, passed)
	})
}

// isLeftOut reports whether a file is not deployed although its folder is: the source leaves it out, or the deployment
// is suspended.
func (w *worklist) isLeftOut(p string) bool {
	w.mu.Lock()
	leaving, waiting := w.leaving, w.waiting
	w.mu.Unlock()
	return slices.ContainsFunc(leaving, func(one *Deployment) bool { return one.Leaves(w.index.Tree(), p) }) ||
		slices.ContainsFunc(waiting, func(one *Deployment) bool { return one.Kind == gitops.Flux && one.isAround(p) || one.has(p) })
}

// isWaiting reports whether an object is suspended, or the object that deploys its file.
func (w *worklist) isWaiting(object gitops.Reference, file string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.waiting, func(one *Deployment) bool { return one.Object == object || one.isAround(file) })
}

// isAround reports whether a file is in or below the folder of a Kustomization of this repository.
func (d *Deployment) isAround(p string) bool {
	return d.Release == nil && d.External == nil && (d.Path == "." || strings.HasPrefix(p, d.Path+"/"))
}

// Deploys reports whether an object of Argo CD or Flux deploys a file as part of a folder, even if something else also
// names the file.
func (s *Set) Deploys(p string) bool {
	return slices.ContainsFunc(s.found().ancestors(path.Dir(p)), func(one *Deployment) bool { return one.has(p) })
}

// isSent reports whether a live object deploys the kustomization of a folder, or one that includes it, as far as is known.
func (w *worklist) isSent(dir string) bool {
	return w.composes(dir) || slices.ContainsFunc(w.index.Ancestors(dir), func(up string) bool {
		return slices.ContainsFunc(w.ancestors(up), func(one *Deployment) bool {
			return one.Release == nil && one.External == nil && one.includes(up) && w.isLive(one)
		})
	})
}

// Standalone lists the kustomizations that contain a change of the given paths and symlinks, that other kustomizations
// include, and that nothing is known to deploy: neither objects of Argo CD and Flux nor the options. A violation in
// such a kustomization may be mended by those that include it, but perhaps not by all that deploy it.
func (s *Set) Standalone(changed, links []string) []roots.Root {
	seen := map[string]bool{}
	var list []roots.Root
	var visit func(dir string)
	visit = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		if !s.IsStandalone(dir) {
			for _, up := range s.IncludedBy(dir) { // a component changes the kustomization that includes it
				visit(up)
			}
		} else if root := (roots.Root{Path: dir}); s.Selects(dir) && !s.IsRoot(root) && !s.found().isSent(dir) {
			list = append(list, root)
		}
	}
	for _, dir := range s.Touched(changed, links) {
		visit(dir)
	}
	slices.SortFunc(list, roots.Compare)
	return list
}

// IsFragment reports whether the objects of a root may be parts of others, and not complete objects. This holds for a
// folder that a kustomization takes patches from, or whose parent folder has a kustomization, which may have done so.
// It holds for a kustomization that an unknown object may deploy and patch. It never holds for a root that a known
// object deploys.
func (s *Set) IsFragment(root roots.Root) bool {
	if root.Object != "" || root.Kind == roots.Chart || len(s.Deployers(root)) > 0 {
		return false
	}
	if root.Kind == roots.Kustomization {
		return s.Deploying.MayDeploy(root)
	}
	entries, err := s.Tree().ReadDir(root.Path)
	if err != nil {
		return false
	}
	if f, err := s.Kustomization(path.Dir(root.Path)); f != nil && err == nil && root.Path != "." {
		return true
	}
	for _, e := range entries {
		if len(s.Patching(path.Join(root.Path, e.Name))) > 0 {
			return true
		}
	}
	return false
}
