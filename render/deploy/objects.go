package deploy

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// objects returns the objects that deploy something, from files and as kustomizations render them.
func (w *worklist) objects() (objects []gitops.Object) {
	deploying, _ := gitops.Kinds()
	shaping, plain := map[string][]roots.Root{}, map[string][]roots.Root{}
	odd := w.index.Deploying.OddRoots()
	all := slices.Clone(odd)
	files := slices.Concat(w.index.Deploying.Files(), w.index.Deploying.Linked())
	for _, p := range files {
		if list, others := w.index.Deploying.Shaping(p); len(list) > 0 && w.index.Manifest(p) {
			shaping[p], plain[p], all = list, others, append(all, list...)
		}
	}
	w.prepare(all, deploying)
	added := map[roots.Root]bool{}
	for _, p := range files {
		if w.index.Manifest(p) {
			objects = append(objects, w.arriving(p, shaping[p], plain[p], added, nil, deploying...)...)
		}
	}
	for _, root := range odd {
		if found := w.rendered(root, deploying); !added[root] {
			added[root] = true
			objects = append(objects, found.objects...)
		}
	}
	return objects
}

// finding is the text that shows progress.
const finding = "finding what is deployed"

// prepare renders some roots, several at a time.
func (w *worklist) prepare(list []roots.Root, kinds []string) {
	slices.SortFunc(list, roots.Compare)
	list = slices.Compact(list)
	count := w.progress.Count(finding, len(list))
	Each(len(list), func(i int) {
		defer count.Begin(list[i].Name())()
		w.rendered(list[i], kinds)
	})
}

// arriving returns the objects of some kinds in a file, as they are deployed. shaping are roots that change the file:
// their rendered objects are returned, once per root (added). plain are roots that include it unchanged: the file's own
// objects are returned for each. The file's own objects are also returned where there is no shaping root or one does
// not render completely. names selects files that contain one of some names; nil: all.
func (w *worklist) arriving(p string, shaping, plain []roots.Root, added map[roots.Root]bool, names []string, kinds ...string) (
	list []gitops.Object,
) {
	whole := len(shaping) > 0
	for _, root := range shaping {
		one := w.rendered(root, kinds)
		whole = whole && one.whole
		if !added[root] {
			added[root] = true
			list = append(list, one.objects...)
		}
	}
	if whole && len(plain) == 0 {
		return list
	}
	for _, object := range w.inFile(p, names) {
		switch {
		case !slices.Contains(kinds, object.Kind):
		case !whole:
			list = append(list, object)
		default:
			for _, root := range plain {
				list = append(list, object.In(From(root)))
			}
		}
	}
	return list
}

// builtObjects are the objects of some kinds in the rendering of a root.
type builtObjects struct {
	objects []gitops.Object
	whole   bool // the root renders completely
}

type builtKey struct {
	root  roots.Root
	kinds string
}

// rendered returns the objects of some kinds in the rendering of a root, which is made once.
func (w *worklist) rendered(root roots.Root, kinds []string) builtObjects {
	key := builtKey{root, strings.Join(kinds, " ")}
	if known, ok := w.built.Load(key); ok {
		return known.(builtObjects)
	}
	var one builtObjects
	one.objects, one.whole = w.renderer.Objects(context.Background(), w.target(root), From(root), kinds)
	w.built.Store(key, one)
	return one
}

// sent returns the objects of some kinds that a deployment renders.
func (w *worklist) sent(one *Deployment, kinds []string) []gitops.Object {
	list := w.rendered(one.root(), kinds).objects
	if !one.asIs {
		return list
	}
	own := make([]gitops.Object, len(list))
	for i, o := range list {
		own[i] = o.In(From(one.named()))
	}
	return own
}

// lookUp visits the objects of some kinds that objects of Flux refer to. wanted has the names by kind. All objects are
// visited where another one that refers to them must be read first, as for an ArtifactGenerator or a HelmChart.
func (w *worklist) lookUp(kinds []string, wanted map[string][]string, visit func(gitops.Object)) {
	for _, kind := range kinds {
		all := kind == "GitRepository" || kind == "ArtifactGenerator" || len(wanted["HelmChart"]) > 0 && !roots.IsValuesSource(kind)
		if all {
			list, known := w.sources.Load(kind)
			if !known {
				list, _ = w.sources.LoadOrStore(kind, w.named(kind, nil))
			}
			for _, o := range list.([]gitops.Object) {
				visit(o)
			}
		} else if names := wanted[kind]; len(names) > 0 {
			for _, o := range w.named(kind, names) {
				visit(o)
			}
		}
	}
}

// named returns the objects of a kind, from files with one of some names; nil: from any.
func (w *worklist) named(kind string, names []string) (objects []gitops.Object) {
	added, values := map[roots.Root]bool{}, roots.IsValuesSource(kind)
	files := w.index.Deploying.Sources(kind)
	if values {
		files = w.index.Mentions(kind)
	}
	for _, p := range files {
		if w.index.Manifest(p) && !kustomization.IsFileName(p) {
			shaping, plain := w.index.Deploying.Shaping(p)
			objects = append(objects, w.arriving(p, shaping, plain, added, names, kind)...)
		}
	}
	if !values {
		return objects
	}
	for _, root := range w.index.Deploying.Generating(kind, names) {
		if found := w.rendered(root, []string{kind}); !added[root] {
			objects = append(objects, found.objects...)
		}
	}
	return objects
}
