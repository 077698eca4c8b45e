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
	Clusters []gitops.Cluster // the clusters that the tree names; empty where nothing deploys the root
	// Implied is set where no object deploys the root, but the root has objects that deploy others: it is assumed to be
	// deployed.
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
		if !w.isLive(one) {
			continue
		}
		folder := one.Path
		if _, ok := w.root(one); !ok {
			folder += "/" // the trailing slash adds the roots below the folder
		}
		folders = append(folders, folder)
	}
	return w.index.WithDeployed(folders)
}

// reaches lists the clusters that a deployment goes to; none where its object is not deployed. The result is cached per
// file and root of the object, which many deployments share.
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

// clustersOf lists the clusters that deployments go to: those that their objects name, else those that contain the
// objects. passed has the files that were already visited.
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

// clustersOfObject lists the clusters that contain the object of a deployment, which is in a file or in a root without
// a deployment.
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
	if len(clusters) == 0 { // each root that includes the object may be for its own cluster
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
