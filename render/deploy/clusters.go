package deploy

import (
	"path"
	"slices"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// Placement is where a root is deployed.
type Placement struct {
	Clusters []gitops.Cluster // as far as the tree tells; none where nothing deploys the root
	// Implied is set where no object says that the root is deployed: it has objects that deploy others, so somebody does.
	Implied bool
}

// Placement returns where a root is deployed.
func (s *Set) Placement(root roots.Root) Placement {
	w := s.found()
	if known, ok := w.placements.Load(root); ok {
		return known.(Placement)
	}
	p := Placement{Clusters: w.clustersOf(s.liveDeployers(root), map[string]bool{})}
	if len(p.Clusters) == 0 && s.hasDeployers(root) {
		p = Placement{[]gitops.Cluster{gitops.ClusterOfFolder(root.Path)}, true}
	}
	w.placements.Store(root, p)
	return p
}

// liveDeployers lists the deployers of a root that are themselves deployed.
func (s *Set) liveDeployers(root roots.Root) []*Deployment {
	return slices.DeleteFunc(s.Deployers(root), func(one *Deployment) bool { return !s.found().isLive(one) })
}

// hasDeployers reports whether a root that stands by itself has objects that deploy something.
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

// chosen returns the index in which the folders are chosen, too, that live objects deploy.
func (w *worklist) chosen() *roots.Index {
	var folders []string
	for _, one := range w.sorted() {
		if !w.isLive(one) {
			continue
		}
		folder := one.Path
		if _, ok := w.root(one); !ok {
			folder += "/" // the roots below it are what it deploys
		}
		folders = append(folders, folder)
	}
	return w.index.WithDeployed(folders)
}

// reaches lists the clusters that a deployment goes to, none where its object is not deployed. All that the files and roots of
// the objects say is asked once: many deployments have theirs in the same.
func (w *worklist) reaches(one *Deployment) []gitops.Cluster {
	type object struct {
		file, from string
		to         gitops.Cluster
	}
	for one.To == (gitops.Cluster{}) && one.from != nil {
		one = one.from
	}
	key := object{one.top().Where.Path + "\x00" + one.Where.Path, one.From, one.To}
	if known, ok := w.reached.Load(key); ok {
		return known.([]gitops.Cluster)
	}
	var list []gitops.Cluster
	if w.isLive(one) {
		list = w.clustersOf([]*Deployment{one}, map[string]bool{})
	}
	w.reached.Store(key, list)
	return list
}

// clustersOf lists the clusters that deployments go to: those that their objects name, else those that the objects
// are in. Passed are the deployments and files that are asked already.
func (w *worklist) clustersOf(list []*Deployment, passed map[string]bool) (clusters []gitops.Cluster) {
	for _, one := range list {
		for one.To == (gitops.Cluster{}) && one.from != nil {
			one = one.from
		}
		own := []gitops.Cluster{one.To}
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

// clustersOfObject lists the clusters that the object of a deployment is in, which a file or a root by itself has.
func (w *worklist) clustersOfObject(one *Deployment, passed map[string]bool) (clusters []gitops.Cluster) {
	file, including := one.Where.Path, map[string]bool{}
	if one.From != "" {
		file = path.Join(one.From, kustomization.FileNames()[0])
		including[one.From] = true
	} else {
		for _, dir := range w.index.IncludedBy(file) {
			including[dir] = true
		}
	}
	if !passed[file] {
		passed[file] = true
		var above []*Deployment
		add := func(list []*Deployment, has func(*Deployment) bool) {
			for _, other := range list {
				switch {
				case other.Release != nil, other.External != nil, !has(other):
				case other == one && one.Kind == gitops.Flux: // the first object of a cluster deploys itself
					clusters = append(clusters, gitops.Cluster{By: gitops.ByFolder, Name: other.Path})
				case other != one && w.isLive(other):
					above = append(above, other)
				}
			}
		}
		add(w.ancestors(path.Dir(file)), func(other *Deployment) bool { return other.has(file) })
		for _, dir := range w.index.Ancestors(including) {
			add(w.ancestors(dir), func(other *Deployment) bool { return other.Path == dir || other.has(dir) })
		}
		clusters = append(clusters, w.clustersOf(above, passed)...)
	}
	if len(clusters) == 0 { // each root that includes the object may be for a cluster of its own
		for _, root := range w.index.Touching([]string{file}, nil) {
			if c := gitops.ClusterOfFolder(root.Path); root.Kind == roots.Kustomization && !slices.Contains(clusters, c) {
				clusters = append(clusters, c)
			}
		}
	}
	if len(clusters) == 0 {
		clusters = []gitops.Cluster{gitops.ClusterOfFolder(path.Dir(file))}
	}
	return clusters
}
