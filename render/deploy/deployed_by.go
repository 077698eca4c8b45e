package deploy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// DeployedBy lists the files with objects of Argo CD and Flux that deploy a root, sorted. These name the root, or a
// folder above that is deployed with everything below it, or deploy such an object in turn. It is empty where nothing
// in the tree deploys the root.
func (s *Set) DeployedBy(root roots.Root) []string {
	files := map[string]bool{}
	asked := map[roots.Root]bool{}
	only := s.found().of(root)
	for only != nil && only.Only == "" {
		only = only.from
	}
	for queue := []roots.Root{root}; len(queue) > 0; queue = queue[1:] {
		if asked[queue[0]] {
			continue
		}
		asked[queue[0]] = true
		for _, one := range s.Deployers(queue[0]) {
			if only != nil && !slices.Contains(s.found().reaches(one), only.To) {
				continue
			}
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

// Deployers lists the deployments of a root.
func (s *Set) Deployers(root roots.Root) []*Deployment {
	return slices.DeleteFunc(s.found().at(root.Path), func(one *Deployment) bool { return one.root() != root })
}

// NamesFile reports whether a kustomization that a root consists of, or a configuration of its plugins, names a file.
func (s *Set) NamesFile(root roots.Root, file string) bool {
	return slices.ContainsFunc(s.Ancestors(s.Reading(file)...), func(dir string) bool {
		return dir == root.Path || slices.ContainsFunc(s.Deployers(root), func(one *Deployment) bool {
			return one.has(dir) || slices.Contains(one.Components(), dir)
		})
	})
}

// LaterSources lists, for each deployment of a root, the roots of the later sources of the same Application.
func (s *Set) LaterSources(root roots.Root) (list [][]roots.Root) {
	for _, one := range s.Deployers(root) {
		var later []roots.Root
		for _, other := range s.found().ordered().sources[one.application()] {
			if other.Source > one.Source {
				later = append(later, other.root())
			}
		}
		list = append(list, later)
	}
	return list
}

// EarlierSources lists the roots of the earlier sources of the Applications that deploy a root.
func (s *Set) EarlierSources(root roots.Root) (list []roots.Root) {
	for _, one := range s.Deployers(root) {
		for _, other := range s.found().sorted() {
			if other.Source < one.Source && other.application() == one.application() {
				list = append(list, other.root())
			}
		}
	}
	return list
}

// application identifies the Application in a cluster that a deployment is a source of.
func (d *Deployment) application() string {
	return fmt.Sprint(d.Object, d.Name, d.From, d.Where.Path, d.Only, d.To)
}

// Destinations lists the clusters that the objects of a root's deployments name, or the objects that deploy these.
func (s *Set) Destinations(root roots.Root) (list []gitops.Cluster) {
	for _, one := range s.Deployers(root) {
		list = append(list, one.directed().To)
	}
	return list
}

// Counterpart returns the deployment in this tree of the same object and file as a deployment of another tree, nil
// where there is none. Of several that one ApplicationSet generates, it is the one of the same name, if there is one.
func (s *Set) Counterpart(d *Deployment) (found *Deployment) {
	if same := s.found().of(roots.Root{Object: d.id}); same != nil {
		return same
	}
	for _, one := range s.ByObject(d.Object) {
		if one.Source != d.Source || one.Where.Path != d.Where.Path {
			continue
		}
		is, was := one.Name == d.Name, found != nil && found.Name == d.Name
		if found == nil || is && !was || is == was && one.id < found.id {
			found = one
		}
	}
	return found
}

// IsDeployer reports whether an object deploys something, and is deployed itself.
func (s *Set) IsDeployer(object gitops.Reference) bool {
	return slices.ContainsFunc(s.found().sorted(), func(one *Deployment) bool { return one.Object == object && s.found().isLive(one) })
}

// Deployment returns the deployment of a root that has its own, nil where the tree has none.
func (s *Set) Deployment(root roots.Root) *Deployment { return s.found().of(root) }

// AsWritten reports whether all roots deploy the objects in a file with the content that they have there, except for
// labels. namespace says whether the namespace counts. It may be false where the content is the same.
func (s *Set) AsWritten(p string, namespace bool) bool {
	more := []string{"commonAnnotations", "images", "replicas"}
	if namespace {
		more = append(more, "namespace")
	}
	return s.found().asWritten(p, namespace, more...)
}

// asWritten is AsWritten; more are fields of kustomizations that count, too.
func (w *worklist) asWritten(p string, namespace bool, more ...string) bool {
	folders := w.index.FoldersAround([]string{p}, nil)
	return len(w.composing(folders...)) == 0 && !slices.ContainsFunc(folders, func(dir string) bool {
		return w.index.Deploying.Shapes(dir, more...) || slices.ContainsFunc(w.at(dir), func(one *Deployment) bool {
			plain := one.Deployment
			if !namespace {
				plain.Namespace = ""
			}
			return !plain.Unmodified() && (plain.Kind != gitops.ArgoDirectory || plain.Namespace != "")
		})
	})
}

// Released reports whether an object deploys a release of a chart that is a root of the tree, or a problem says why
// that is not known. If the object has no namespace in its file, only the file must match.
func (s *Set) Released(object gitops.Reference, file string) bool {
	return slices.ContainsFunc(s.found().sorted(), func(one *Deployment) bool {
		return one.Release != nil && (one.Object == object || object.Namespace == "" && one.Where.Path == file && one.Object.Is(object))
	}) || slices.ContainsFunc(s.Problems(), func(p gitops.Problem) bool { return p.Object == object })
}

// External lists the roots that do not only deploy files of the tree, sorted: releases of charts, folders of other
// repositories, and kustomizations with remote sources or charts. It does not render remote charts, which may deploy
// more such roots.
func (s *Set) External() []roots.Root {
	list := slices.Collect(maps.Keys(s.external()))
	for _, one := range s.found().ordered().external {
		list = append(list, one.root())
	}
	return s.Chosen(list)
}

// ReleasesOf lists the roots of live releases that read one of some files, such as those of their charts, sorted.
func (s *Set) ReleasesOf(files []string) []roots.Root {
	var list []roots.Root
	for _, one := range s.found().ordered().external {
		if slices.ContainsFunc(files, one.reads) && s.found().isLive(one) {
			list = append(list, one.root())
		}
	}
	return s.Chosen(list)
}

// IsExternal reports whether External lists a root.
func (s *Set) IsExternal(root roots.Root) bool {
	one := s.found().of(root)
	return one != nil && (one.Release != nil || one.External != nil) || s.external()[root]
}

// externalKustomizations returns the kustomizations in External.
func (s *Set) externalKustomizations() map[roots.Root]bool {
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
}

// OfKind returns the objects of a kind that a root deploys. See render.Renderer.OfKind.
func (s *Set) OfKind(ctx context.Context, root roots.Root, kind string) (render.Declared, error) {
	return s.Renderer.OfKind(ctx, s.Target(root), kind)
}

// Charted returns the chart and the values of a root that is a release. See render.Renderer.Charted.
func (s *Set) Charted(root roots.Root) *render.Charted { return s.Renderer.Charted(s.Target(root)) }

// ValuesShared reports whether a file has values for another chart than that of a root, too.
func (s *Set) ValuesShared(root roots.Root, file string) bool {
	own := s.Deployment(root)
	return slices.ContainsFunc(s.Reach([]string{file}, nil), func(other roots.Root) bool {
		if other == root {
			return false
		}
		one := s.Deployment(other)
		if one == nil || one.Release == nil {
			return other.Kind == roots.Chart
		}
		return own == nil || one.Release.Chart.Want != own.Release.Chart.Want || one.Release.Chart.Folder != own.Release.Chart.Folder
	})
}

// CreatedNamespace returns the Namespace that what deploys a root creates if the cluster lacks it; nil: it creates none.
func (s *Set) CreatedNamespace(root roots.Root) *render.Resource {
	one := s.found().of(root)
	if one == nil {
		return nil
	}
	object, place := one.CreatedNamespace()
	if object == nil {
		return nil
	}
	out := render.NewResource(object, func(pointer string) origin.Place {
		at, exact := place(pointer)
		p := origin.Place{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(1, at.Line, at.EndLine), How: origin.Writer}
		if !exact {
			p.How, p.Missing, p.SuggestedFix = origin.Enclosing, pointer, one.Created.Fix
		}
		return p
	})
	out.Created = true
	return out
}

// Into lists the roots that are deployed to a namespace, as far as the objects that deploy them name it.
func (s *Set) Into(namespace string) (list []roots.Root) {
	w := s.found()
	for _, one := range w.ordered().into[namespace] {
		if w.isLive(one) {
			list = append(list, one.root())
		}
	}
	return slices.Compact(list)
}

// Twins returns a problem for each Application that one object has or makes although another one brings the same Application
// to the same cluster: only one of the two exists there. They certainly meet if one Application deploys both objects, perhaps
// from several sources.
func (s *Set) Twins() (problems []gitops.Problem) {
	type object struct {
		gitops.Reference
		name, from string
		at         gitops.Position // of an Application; zero for all that an ApplicationSet makes
	}
	known, named := map[object]bool{}, map[string][]*Deployment{}
	for _, one := range s.found().sorted() {
		key := object{one.Object, one.Name, one.From, one.Where}
		if one.Object.Kind == "ApplicationSet" {
			key.at = gitops.Position{}
		}
		if !known[key] && (one.Object.Kind == "Application" || one.Object.Kind == "ApplicationSet" && one.Certain) {
			named[one.Name] = append(named[one.Name], one)
		}
		known[key] = true
	}
	for _, list := range named {
		if len(list) == 1 {
			continue
		}
		slices.SortFunc(list, func(a, b *Deployment) int {
			return cmp.Or(cmp.Compare(a.Where.Path, b.Where.Path), cmp.Compare(a.Where.Line, b.Where.Line))
		})
		first := map[string]*Deployment{} // by the Application that deploys the object, and the namespace
		for _, one := range list {
			for _, by := range s.Holders(one) {
				if !s.found().isLive(by) {
					continue
				}
				key := by.application() + "/" + cmp.Or(one.Object.Namespace, by.Namespace)
				if other := first[key]; other == nil {
					first[key] = one
				} else if other != one {
					problems = append(problems, gitops.Problem{Cause: gitops.ClusterOnly, Object: one.Object, From: one.From,
						Error: doc.Error{Path: one.Where.Path, Line: one.Where.Line, Column: one.Where.Column, Message: "" +
							other.Object.String() + " in " + other.Where.Path + " has this name, too: only one of the Applications " +
							"exists in the cluster, and which one is not known before merge"}})
					break
				}
			}
		}
	}
	slices.SortFunc(problems, func(a, b gitops.Problem) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line)) })
	return problems
}
