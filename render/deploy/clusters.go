package deploy

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Placement is where a root is deployed.
type Placement struct {
	Clusters []gitops.Cluster // the clusters that the tree names; empty where nothing deploys the root
	// Implied is set where no object deploys the root, but the root has objects that deploy others: it is assumed to be
	// deployed.
	Implied bool
}

// Placement returns where a root is deployed.
func (s *Set) Placement(root roots.Root) Placement {
	w := s.found()
	return w.placements.Get(root, func() Placement {
		clusters := gitops.Few(w.clustersOf(s.liveDeployers(root), map[string]bool{}))
		if len(clusters) == 0 && s.hasDeployers(root) {
			return Placement{[]gitops.Cluster{w.clusterOf(root.Path)}, true}
		}
		return Placement{Clusters: clusters}
	})
}

// IsPlaced reports whether an object that is deployed itself deploys a root.
func (s *Set) IsPlaced(root roots.Root) bool { return len(s.liveDeployers(root)) > 0 }

// liveDeployers lists the deployments of a root whose objects are deployed themselves.
func (s *Set) liveDeployers(root roots.Root) []*Deployment {
	return slices.DeleteFunc(s.Deployers(root), func(one *Deployment) bool { return !s.found().isLive(one) })
}

// hasDeployers reports whether a root without a deployment of its own has objects that deploy something.
func (s *Set) hasDeployers(root roots.Root) bool {
	switch root.Kind {
	case roots.Kustomization:
		return s.found().holds()[root.Path]
	case roots.Chart:
		return slices.Contains(s.Deploying.Charts(), root)
	case roots.Folder:
		return slices.ContainsFunc(s.Files(root), s.Deploying.Has)
	}
	return false
}

// chosen returns the index with the folders that live objects deploy added to the chosen ones.
func (w *worklist) chosen() *roots.Index {
	var folders []string
	for _, one := range w.sorted() {
		if w.isLive(one) {
			folders = append(folders, one.Path)
		}
	}
	return w.index.WithDeployed(folders)
}

// clusterKey is what the clusters of a deployment depend on: its own file and that of the top one, its root, and what it names.
type clusterKey struct {
	file, top, from, part string
	to                    gitops.Cluster
}

// reaches lists the clusters that a deployment goes to; none where its object is not deployed. The result is cached per
// file and root of the object, which many deployments share.
func (w *worklist) reaches(one *Deployment) []gitops.Cluster {
	one = one.directed()
	return w.reached.Get(clusterKey{one.Where.Path, one.top().Where.Path, one.From, one.Part, one.To}, func() []gitops.Cluster {
		if !w.isLive(one) {
			return nil
		}
		return w.clustersOf([]*Deployment{one}, map[string]bool{})
	})
}

// directed returns the deployment whose object names the cluster: d, or one that deploys it.
func (d *Deployment) directed() *Deployment {
	for d.To == (gitops.Cluster{}) && d.from != nil {
		d = d.from
	}
	return d
}

// clustersOf lists the clusters that deployments go to: those that their objects name, else those that contain the
// objects. passed has the files that were already visited.
func (w *worklist) clustersOf(list []*Deployment, passed map[string]bool) (clusters []gitops.Cluster) {
	for _, one := range list {
		one = one.directed()
		own := []gitops.Cluster{{By: one.To.By, Name: one.To.Name, Part: one.Part}}
		if one.To == (gitops.Cluster{}) {
			own = w.clustersOfObject(one, passed)
		}
		for _, c := range own {
			if !slices.Contains(clusters, c) {
				clusters = append(clusters, c)
			}
		}
	}
	return clusters
}

// clustersOfObject lists the clusters that contain the object of a deployment, which is in a file or in a root without
// a deployment.
func (w *worklist) clustersOfObject(one *Deployment, passed map[string]bool) (clusters []gitops.Cluster) {
	file := one.file()
	if !passed[file] {
		passed[file] = true
		var above []*Deployment
		for _, other := range w.holding(one) {
			switch itself := other.From == one.From && other.Where.Path == one.Where.Path && other.To == one.To; {
			case itself && other.Kind == gitops.Flux: // the first object of a cluster deploys itself, and what is beside it
				clusters = append(clusters, gitops.Cluster{By: gitops.ByFolder, Name: other.Path})
			case !itself && w.isLive(other):
				above = append(above, other)
			}
		}
		clusters = append(clusters, w.clustersOf(above, passed)...)
	}
	known := len(clusters) > 0
	// Each root that includes the object may be for its own cluster where nothing tells who deploys it.
	for _, dir := range w.index.TopLevel(w.index.Touched([]string{file}, nil), w.index.Selects) {
		if c := w.clusterOf(dir); !slices.Contains(clusters, c) && !(known && (w.isSent(dir) || w.dropped(dir))) {
			clusters = append(clusters, c)
		}
	}
	if len(clusters) == 0 {
		clusters = []gitops.Cluster{w.clusterOf(file)}
	}
	return clusters
}

// file returns the file with the object of a deployment, or the kustomization that renders it.
func (d *Deployment) file() string {
	if d.From != "" {
		return path.Join(d.From, kustomization.FileNames()[0])
	}
	return d.Where.Path
}

// Holders lists the deployments that contain the object of a deployment, and the one that prints it.
func (s *Set) Holders(one *Deployment) []*Deployment {
	list := s.found().holding(one)
	if one.from != nil {
		list = append(list, one.from)
	}
	return slices.DeleteFunc(list, func(other *Deployment) bool { return other == one })
}

// holding lists the deployments of folders that contain the object of a deployment, which is in a file or in a root
// without a deployment. It may be one of them itself.
func (w *worklist) holding(one *Deployment) []*Deployment {
	if one.From != "" {
		return w.taking(one.file(), one.From)
	}
	return w.taking(one.file(), w.index.IncludedBy(one.file())...)
}

// taking lists the deployments of folders that contain a file, or the kustomization of one of some folders.
func (w *worklist) taking(file string, including ...string) (list []*Deployment) {
	add := func(all []*Deployment, has func(*Deployment) bool) {
		for _, other := range all {
			if other.Release == nil && other.External == nil && has(other) {
				list = append(list, other)
			}
		}
	}
	add(w.ancestors(path.Dir(file)), func(other *Deployment) bool { return other.has(file) })
	for _, dir := range w.index.Ancestors(including...) {
		add(w.ancestors(dir), func(other *Deployment) bool { return other.includes(dir) })
	}
	return list
}

// IsAdopted reports whether all objects that deploy a root are in folders of which nothing says who deploys them, until
// an object that deployed something else deploys them in a later tree. They need not have been in its cluster before. So it is
// with a root that nothing deploys, and that is assumed to be deployed because of the objects in it: see Placement.
func (s *Set) IsAdopted(root roots.Root, later *Set) bool {
	list := s.liveDeployers(root)
	if len(list) == 0 && s.hasDeployers(root) {
		return slices.ContainsFunc(later.found().at(root.Path), func(one *Deployment) bool {
			return later.found().isLive(one) && s.deployedAbove(one, later, 0, func(was *Deployment) bool { return was.folder() == root.Path })
		})
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(one *Deployment) bool { return !s.isAdopted(one, later) })
}

func (s *Set) isAdopted(one *Deployment, later *Set) bool {
	return s.found().isAllAbove(one, true, 0, func(_, _ *Deployment) bool { return false }, func(one *Deployment) bool {
		same := later.Counterpart(one)
		if same == nil { // perhaps in another file
			if same = later.former(one, s); same != nil && same.Path != one.Path {
				same = nil
			}
		}
		var adopters []*Deployment
		switch {
		case same == nil:
		case same.from == nil:
			adopters = later.found().holding(same)
		case same.from.Kind == gitops.Flux:
			adopters = append(adopters, same.from)
		}
		return slices.ContainsFunc(adopters, func(other *Deployment) bool {
			return other != same && later.found().isLive(other) &&
				s.deployedAbove(other, later, 0, func(was *Deployment) bool { return was.folder() == one.folder() })
		})
	})
}

// folder returns the folder of the object of a deployment, or of the kustomization that renders it.
func (d *Deployment) folder() string { return path.Dir(d.file()) }

// deployedAbove reports whether the object of a deployment of a later tree deployed something else before, or is new and what
// deploys it did. An object beside what it takes over does not count: who deployed the one deployed the other.
func (s *Set) deployedAbove(one *Deployment, later *Set, depth int, beside func(was *Deployment) bool) bool {
	if was := s.former(one, later); was != nil {
		return s.found().isLive(was) && !beside(was)
	}
	above := []*Deployment{one.from}
	if one.from == nil {
		above = later.found().holding(one)
	}
	return depth < maxFollowed && slices.ContainsFunc(above, func(other *Deployment) bool {
		return other != one && later.found().isLive(other) && s.deployedAbove(other, later, depth+1, beside)
	})
}

// isAllAbove reports whether is returns true for all that deploys an object in turn and that nothing live deploys, and leaves
// for no object and what deploys it. With itself, an object that is not deployed may be in what it deploys itself.
func (w *worklist) isAllAbove(one *Deployment, itself bool, depth int, leaves func(above, one *Deployment) bool,
	is func(*Deployment) bool) bool {
	for ; one.from != nil; one = one.from {
		if leaves(one.from, one) {
			return false
		}
	}
	above := slices.DeleteFunc(w.holding(one), func(other *Deployment) bool { return !(itself && other == one) && !w.isLive(other) })
	if len(above) == 0 {
		return is(one)
	}
	return depth < maxFollowed && !slices.ContainsFunc(above, func(other *Deployment) bool {
		return other == one || leaves(other, one) || !w.isAllAbove(other, itself, depth+1, leaves, is)
	})
}

// IsAbandoned is IsAdopted the other way round: all objects that deploy a root are in folders that nothing deploys, and in an
// earlier tree something deployed them. What deployed them takes them, and all that they deploy and do not leave there, out of
// the cluster.
func (s *Set) IsAbandoned(root roots.Root, earlier *Set) bool {
	list := s.liveDeployers(root)
	return len(list) > 0 && !slices.ContainsFunc(list, func(one *Deployment) bool { return !s.isAbandoned(one, earlier) })
}

func (s *Set) isAbandoned(one *Deployment, earlier *Set) bool {
	leaves := func(above, one *Deployment) bool {
		was := earlier.former(above, s)
		return was != nil && was.Keeps(one.Itself(), true)
	}
	return s.found().isAllAbove(one, false, 0, leaves, func(one *Deployment) bool { return s.isTakenOut(one, earlier) })
}

// isTakenOut reports whether what deployed an object in an earlier tree takes it out of the cluster.
func (s *Set) isTakenOut(one *Deployment, earlier *Set) bool {
	was := earlier.former(one, s)
	if was == nil {
		return false
	}
	by := earlier.found().holding(was)
	if was.from != nil {
		by = []*Deployment{was.from}
	}
	by = slices.DeleteFunc(by, func(other *Deployment) bool { return !earlier.found().isLive(other) })
	if len(by) == 0 { // a kustomization that stays, and whose deployer is unknown, had it
		file := one.file()
		return slices.ContainsFunc(earlier.Touching([]string{was.file()}, nil), func(r roots.Root) bool {
			return r.Kind == roots.Kustomization && s.IsRoot(r) && !slices.Contains(s.Touching([]string{file}, nil), r)
		})
	}
	return !slices.ContainsFunc(by, func(other *Deployment) bool {
		return other == was || s.IsUnseen(other) || other.keeps(was, s)
	})
}

// Outlives reports whether the object of a deployment stays in the cluster though a later tree has it no longer: all that deploys
// it keeps it.
func (s *Set) Outlives(one *Deployment, later *Set) bool {
	by := slices.DeleteFunc(s.Holders(one), func(other *Deployment) bool { return !s.found().isLive(other) })
	return len(by) > 0 && !slices.ContainsFunc(by, func(other *Deployment) bool { return !other.keeps(one, later) })
}

// Uninstalls reports whether Flux uninstalls the release of a deployment when it applies a later tree: the HelmRelease goes, or
// it is for another release.
func (s *Set) Uninstalls(one *Deployment, later *Set) bool {
	clusters := s.found().reaches(one)
	if one.Kind != gitops.FluxHelm || len(clusters) == 0 {
		return false
	}
	stays := slices.ContainsFunc(later.found().sorted(), func(now *Deployment) bool {
		return now.Object.Is(one.Object) && !now.Reinstalls(&one.Deployment) && slices.ContainsFunc(later.found().reaches(now),
			func(c gitops.Cluster) bool {
				return slices.ContainsFunc(clusters, func(was gitops.Cluster) bool { return was.MayBecome(c) })
			})
	})
	return !stays && !later.IsUnseen(one) && !s.Outlives(one, later)
}

// keeps reports whether a deployment leaves the object of one that it deploys in the cluster when it stops deploying it in a
// later tree.
func (d *Deployment) keeps(one *Deployment, later *Set) bool {
	now := later.Counterpart(d)
	return now != nil && now.Keeps(one.Itself(), false) || now == nil && d.Keeps(one.Itself(), true)
}

// former returns the deployment of the object of one of another tree, perhaps from another file; nil: there is none.
func (s *Set) former(one *Deployment, other *Set) *Deployment {
	if was := s.Counterpart(one); was != nil {
		return was
	}
	for _, was := range s.found().sorted() {
		if was.Object == one.Object && was.Source == one.Source && other.Counterpart(was) == nil && s.found().isLive(was) {
			return was
		}
	}
	return nil
}

// clusterOf returns the cluster that the path of an object, or of a folder of objects, stands for.
func (w *worklist) clusterOf(p string) gitops.Cluster {
	if c, ok := gitops.MayBeClusterOf(p); ok && w.parted()[c] {
		return c
	}
	if !w.index.IsFile(p) {
		return gitops.ClusterOfFolder(p)
	}
	return gitops.ClusterOfFolder(path.Dir(p))
}

// findParted finds the folders and files in folders "clusters" and "cluster" that are for a cluster each: two of them
// have the same object, which would be deployed twice in one cluster.
func (w *worklist) findParted() map[gitops.Cluster]bool {
	of, parted := map[gitops.Reference]gitops.Cluster{}, map[gitops.Cluster]bool{}
	for _, one := range w.sorted() {
		c, ok := gitops.MayBeClusterOf(one.Where.Path)
		if !ok || one.from != nil {
			continue
		}
		if other, known := of[one.Object]; known && other != c && path.Dir(other.Name) == path.Dir(c.Name) {
			parted[c], parted[other] = true, true
		}
		of[one.Object] = c
	}
	return parted
}

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

// IsDeployed reports whether a live object deploys the kustomization of a folder, or one that includes it.
func (s *Set) IsDeployed(dir string) bool { return s.found().isSent(dir) }

// isSent is IsDeployed, of what is known so far.
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
		} else if root := (roots.Root{Path: dir}); s.Selects(dir) && !s.IsRoot(root) && !s.IsDeployed(dir) {
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
	return slices.ContainsFunc(entries, func(e tree.Entry) bool { return len(s.Patching(path.Join(root.Path, e.Name))) > 0 })
}
