package deploy

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// DeployedBy lists the files with objects of Argo CD and Flux that deploy a root, sorted: those that name it, those of
// the folder above that it is deployed with, and those that deploy such an object in turn. The list is empty where
// nobody describes who deploys it.
func (s *Set) DeployedBy(root roots.Root) []string {
	files := map[string]bool{}
	asked := map[roots.Root]bool{}
	for queue := []roots.Root{root}; len(queue) > 0; queue = queue[1:] {
		if asked[queue[0]] {
			continue
		}
		asked[queue[0]] = true
		for _, one := range s.Deployers(queue[0]) {
			file := one.Where.Path
			if one.From != "" {
				from, _, _ := strings.Cut(one.From, by)
				file = path.Join(from, kustomization.FileNames()[0])
			}
			if !files[file] {
				files[file] = true
				queue = append(queue, s.Reach([]string{file}, nil)...)
			}
		}
	}
	return slices.Sorted(maps.Keys(files))
}

// Deployers lists what deploys a root, or the folder above that it is deployed with.
func (s *Set) Deployers(root roots.Root) (list []*Deployment) {
	w := s.found()
	for _, one := range w.ancestors(root.Path) {
		own, is := w.root(one)
		with := one.Unmodified() && !is // everything below the folder
		if is && own == root || with && root.Object == "" || root.Object != "" && one.id == root.Object {
			list = append(list, one)
		}
	}
	return list
}

// Counterpart returns what the object of a deployment of another tree deploys in this one, nil where its file has it no more.
func (s *Set) Counterpart(d *Deployment) *Deployment {
	for _, one := range s.found().sorted() {
		if one.Object == d.Object && one.Source == d.Source && one.Where.Path == d.Where.Path {
			return one
		}
	}
	return nil
}

// Deployment returns what deploys a root in a way of its own, nil where nothing of the tree does.
func (s *Set) Deployment(root roots.Root) *Deployment { return s.found().of(root) }

// Released reports whether what an object of a file deploys is a release of a chart that is a root of the tree, or a problem says
// why that is not known. Where the file names no namespace, who deploys it may.
func (s *Set) Released(object gitops.Reference, file string) bool {
	for _, one := range s.found().known() {
		as := one.Object
		if object.Namespace == "" && one.Where.Path == file {
			as.Namespace = ""
		}
		if one.Release != nil && as == object {
			return true
		}
	}
	return slices.ContainsFunc(s.Problems(), func(p gitops.Problem) bool { return p.Object == object })
}

// External lists the roots of which not all that they deploy is in files of the tree, sorted: releases of charts, folders
// of other repositories, and kustomizations that take something from there or from a chart. It looks into no chart from
// elsewhere that may print more.
func (s *Set) External() []roots.Root {
	list := slices.Collect(maps.Keys(s.external()))
	for _, one := range s.found().sorted() {
		if one.Release == nil && one.External == nil {
			continue
		}
		if root, ok := s.found().root(one); ok {
			list = append(list, root)
		}
	}
	return s.Chosen(list)
}

// IsExternal reports whether a root is one of those.
func (s *Set) IsExternal(root roots.Root) bool {
	one := s.found().of(root)
	return one != nil && (one.Release != nil || one.External != nil) || s.external()[root]
}

// externalKustomizations returns a function that returns the kustomizations among them.
func externalKustomizations(s *Set) func() map[roots.Root]bool {
	return sync.OnceValue(func() map[roots.Root]bool {
		const generator = "HelmChartInflationGenerator"
		files := slices.DeleteFunc(s.Mentions(generator), func(p string) bool { return !s.MentionsIn(p, generator) })
		for _, dir := range s.Graph.External() {
			if f, err := s.Kustomization(dir); f != nil && err == nil {
				files = append(files, f.Path)
			}
		}
		out := map[roots.Root]bool{}
		for _, root := range s.Reach(files, nil) {
			if root.Kind != roots.Folder && root.Kind != roots.Chart {
				out[root] = true
			}
		}
		return out
	})
}
