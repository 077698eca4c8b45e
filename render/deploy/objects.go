package deploy

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// objects returns the objects that deploy something, from files and as kustomizations render them.
func (w *worklist) objects() (objects []gitops.Object) {
	kinds, _ := gitops.Kinds()
	odd := w.index.Deploying.OddRoots()
	all := slices.Clone(odd)
	files := slices.Concat(w.index.Deploying.Files(), w.index.Deploying.Linked())
	for _, p := range files {
		if shaping, _ := w.index.Deploying.Shaping(p); len(shaping) > 0 && w.index.Manifest(p) {
			all = append(all, shaping...)
		}
	}
	w.prepare(all)
	added := map[roots.Root]bool{}
	for _, p := range files {
		if w.index.Manifest(p) {
			objects = append(objects, w.arriving(p, added, nil, kinds...)...)
		}
	}
	for _, root := range odd {
		if found := w.rendered(root); !added[root] {
			added[root] = true
			objects = append(objects, deploying(found.objects)...)
		}
	}
	return objects
}

// finding is the text that shows progress.
const finding = "finding what is deployed"

// prepare renders some roots, several at a time.
func (w *worklist) prepare(list []roots.Root) {
	slices.SortFunc(list, roots.Compare)
	list = slices.Compact(list)
	count := w.progress.Count(finding, len(list))
	Each(len(list), func(i int) {
		defer count.Begin(list[i].Name())()
		w.rendered(list[i])
	})
}

// arriving returns the objects of some kinds in a file, as they are deployed. Of roots that change the file, the rendered
// objects are returned, once per root (added). For each root that includes it unchanged, the file's own objects are returned.
// These are also returned where no root changes the file or one does not render completely. names selects files that contain
// one of some names; nil: all.
func (w *worklist) arriving(p string, added map[roots.Root]bool, names []string, kinds ...string) (list []gitops.Object) {
	shaping, plain := w.index.Deploying.Shaping(p)
	whole := len(shaping) > 0
	for _, root := range shaping {
		one := w.rendered(root)
		whole = whole && one.whole
		if !added[root] {
			added[root] = true
			list = append(list, ofKinds(one.objects, kinds)...)
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

// builtObjects are the objects in the rendering of a root that deploy something, or that such objects read.
type builtObjects struct {
	objects []gitops.Object
	whole   bool // the root renders completely
}

// ofKinds returns the objects of some kinds.
func ofKinds(list []gitops.Object, kinds []string) []gitops.Object {
	return slices.DeleteFunc(slices.Clone(list), func(o gitops.Object) bool { return !slices.Contains(kinds, o.Kind) })
}

// deploying returns the objects that may deploy something.
func deploying(list []gitops.Object) []gitops.Object {
	kinds, _ := gitops.Kinds()
	return ofKinds(list, kinds)
}

// rendered returns the objects in the rendering of a root, which is made once.
func (w *worklist) rendered(root roots.Root) builtObjects {
	return w.built.Get(root, func() (one builtObjects) {
		one.objects, one.whole = w.renderer.Objects(context.Background(), w.target(root), From(root))
		return one
	})
}

// sent returns the objects that a deployment renders.
func (w *worklist) sent(one *Deployment) []gitops.Object {
	list := w.rendered(one.root()).objects
	if !one.asIs {
		return list
	}
	own := make([]gitops.Object, len(list))
	for i, o := range list {
		own[i] = o.In(From(one.named()))
	}
	return own
}

// finder returns what finds the objects that others refer to: first those of some rendered objects (near), which take the
// place of the same ones in files. An ApplicationSet refers to all that declare clusters.
func (w *worklist) finder(near []gitops.Object) func(gitops.Wanted) gitops.Found {
	return func(n gitops.Wanted) gitops.Found {
		if n.Any && roots.IsValuesSource(n.Kind) {
			return n.Select(w.selectable().objects)
		}
		if !slices.ContainsFunc(near, func(o gitops.Object) bool { return o.Kind == n.Kind }) {
			return w.wanted.Get(n, func() gitops.Found { return n.Select(w.named(n.Kind, n.Name)) })
		}
		return n.Select(append(slices.Clone(near), slices.DeleteFunc(slices.Clone(w.named(n.Kind, n.Name)), func(o gitops.Object) bool {
			return slices.ContainsFunc(near, o.Same)
		})...))
	}
}

// named returns the objects of a kind, from files that contain a name; "": from any. Those that roots render may have
// other names.
func (w *worklist) named(kind, name string) []gitops.Object {
	return w.sources.Get([2]string{kind, name}, func() (objects []gitops.Object) {
		values := roots.IsValuesSource(kind)
		if !values && name != "" { // there are few of the kind, and many that refer to them
			return slices.DeleteFunc(slices.Clone(w.named(kind, "")), func(o gitops.Object) bool { return o.Name != name })
		}
		added, names := map[roots.Root]bool{}, []string(nil)
		if values {
			names = []string{name}
		}
		for _, p := range w.manifests.Get(kind, func() []string {
			files := w.index.Deploying.Sources(kind)
			if values {
				files = w.index.Mentions(kind)
			}
			return slices.DeleteFunc(slices.Clone(files), func(p string) bool { return !w.index.Manifest(p) || kustomization.IsFileName(p) })
		}) {
			objects = append(objects, w.arriving(p, added, names, kind)...)
		}
		if !values {
			return objects
		}
		for _, root := range w.index.Deploying.Generating(kind, names) {
			if found := w.rendered(root); !added[root] {
				objects = append(objects, ofKinds(found.objects, []string{kind})...)
			}
		}
		return objects
	})
}

// writtenObject is an object of a file that deploys something, or that such objects read.
type writtenObject struct {
	Head  gitops.Head `json:"head"`
	Nth   int         `json:"nth"`             // among all objects of the file
	Local bool        `json:"local,omitempty"` // see roots.IsLocalConfig
}

var writtenTable = env.Table{Name: "written"}

// inFile returns the objects of a file that deploy something, or that such objects read, and that have one of some names;
// nil: any. The file is parsed when more than the head of an object is needed.
func (w *worklist) inFile(p string, names []string) []gitops.Object {
	list, read := w.read.Load(p)
	if !read {
		objects, ok := w.readFile(p, names)
		if !ok {
			return nil
		}
		list, _ = w.read.LoadOrStore(p, objects)
	}
	return slices.DeleteFunc(slices.Clone(list.([]gitops.Object)), func(o gitops.Object) bool {
		return len(names) > 0 && !slices.Contains(names, o.Name)
	})
}

// readFile returns the objects of a file; false where the file cannot be read, or contains none of some names.
func (w *worklist) readFile(p string, names []string) (list []gitops.Object, ok bool) {
	_, e, err := w.index.Tree().Lookup(p)
	if err != nil {
		return nil, false // another check reports the file
	}
	parse := sync.OnceValue(func() []*yaml.Node {
		data, _, _ := w.index.Tree().ReadFile(p)
		documents, _ := doc.Parse(p, data, w.limits.Source) // the root of the file reports syntax errors
		return slices.Collect(doc.Objects(documents))
	})
	memory, key := w.cache.Memory(), fmt.Sprint(p, " ", e.ID, " ", w.limits.Source)
	objects, known := env.Get[[]writtenObject](memory, writtenTable, key, nil)
	if !known {
		data, _, err := w.index.Tree().ReadFile(p)
		holds := func(name string) bool { return bytes.Contains(data, []byte(name)) }
		if err != nil || graph.IsPlain(data) && len(names) > 0 && !slices.ContainsFunc(names, holds) {
			return nil, false
		}
		deploying, context := gitops.Kinds()
		for nth, node := range parse() {
			if kind := doc.Text(node, "kind"); slices.Contains(deploying, kind) || slices.Contains(context, kind) {
				objects = append(objects, writtenObject{gitops.FromNode(p, node).Head, nth, roots.IsLocalConfig(node)})
			}
		}
		env.Put(memory, writtenTable, key, nil, objects)
	}
	for _, o := range objects {
		if !o.Local || !w.index.Deploying.DropsLocalConfig(p) {
			read := func() gitops.Object {
				if nodes := parse(); o.Nth < len(nodes) {
					return gitops.FromNode(p, nodes[o.Nth])
				}
				return gitops.FromNode(p, nil) // the file could not be read, which fails the check
			}
			list = append(list, gitops.Later(o.Head, read).Identified(fmt.Sprint(key, " ", o.Nth)))
		}
	}
	return list, true
}

func (w *worklist) deployments(objects []gitops.Object, find func(gitops.Wanted) gitops.Found, several func(gitops.Object)) (
	[]gitops.Deployment, []gitops.Problem,
) {
	return gitops.Deployments(objects, gitops.Options{Tree: w.index.Tree(), Repo: w.repo, Limits: w.limits, Memory: w.cache.Memory(),
		BlobLimit: w.index.Tree().BlobLimit(), Links: len(w.index.Links()) > 0, Find: find, Several: several})
}

// Each calls do for 0 to n-1 and returns when all calls are done. It runs as many at a time as there are processors.
// After a panic it begins no further calls, and panics in the caller, which can recover.
func Each(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	panics := make(chan any, n)
	for i := range n {
		if len(panics) > 0 {
			break
		}
		group.Go(func() error {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			do(i)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	if len(panics) > 0 {
		panic(<-panics)
	}
}
