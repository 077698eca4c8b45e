package roots

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// DeployedBy lists the files with objects of Argo CD and Flux that deploy a root, sorted: those that name it, those of
// the folder above that it is deployed with, and those that deploy such an object in turn. The list is empty where
// nobody says who deploys it.
func (s *Set) DeployedBy(root Root) []string {
	seen := map[string]bool{}
	asked := map[Root]bool{}
	for queue := []Root{root}; len(queue) > 0; queue = queue[1:] {
		if asked[queue[0]] {
			continue
		}
		asked[queue[0]] = true
		for _, file := range s.deployed.filesOf(queue[0]) {
			if !seen[file] {
				seen[file] = true
				queue = append(queue, s.Reach([]string{file}, nil)...)
			}
		}
	}
	list := make([]string, 0, len(seen))
	for file := range seen {
		list = append(list, file)
	}
	slices.Sort(list)
	return list
}

// Deployers lists what the objects ask for that deploy a root, or the folder above that it is deployed with.
func (s *Set) Deployers(root Root) (list []gitops.Deployment) {
	for _, one := range s.deployed.deployers(root) {
		list = append(list, one.Deployment)
	}
	return list
}

// filesOf lists the files of the objects that deploy a root.
func (d *deployments) filesOf(root Root) (files []string) {
	for _, one := range d.deployers(root) {
		if one.From != "" {
			from, _, _ := strings.Cut(one.From, by)
			files = append(files, path.Join(from, kustomization.FileNames()[0]))
			continue
		}
		files = append(files, one.Where.Path)
	}
	return files
}

// deployers lists what deploys a root, or the folder above that it is deployed with.
func (d *deployments) deployers(root Root) (list []*Deployment) {
	if !d.set.deploys {
		return nil
	}
	d.interesting(upwards(root.Path), nil)
	for _, one := range d.above(root.Path) {
		own, is := d.root(one)
		with := one.Bare() && !is // everything below the folder
		if is && own == root || with && root.Object == "" || root.Object != "" && one.ID() == root.Object {
			list = append(list, one)
		}
	}
	return list
}
