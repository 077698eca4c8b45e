package roots

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Builder renders a kustomization and returns the objects of some kinds that it comes to. Whole is false where it does
// not render, or something is missing in it.
type Builder func(root Root, kinds []string) (objects []gitops.Object, whole bool)

// builds are the kustomizations of which the objects of Argo CD and Flux count as they render. It is safe for
// concurrent use.
type builds struct {
	mu      sync.Mutex
	builder Builder
	shapes  map[shapeKey]bool // see shapes

	once   sync.Once
	shaped []string // files with objects that deploy, of which a kustomization changes the content
}

// BuildWith has the objects of Argo CD and Flux that kustomizations change counted as these render; the first builder
// stands, until nil takes it away. Without one they count as their files have them.
func (s *Set) BuildWith(b Builder) {
	s.builds.mu.Lock()
	defer s.builds.mu.Unlock()
	if s.builds.builder == nil || b == nil {
		s.builds.builder = b
	}
}

func (s *Set) builder() Builder {
	s.builds.mu.Lock()
	defer s.builds.mu.Unlock()
	return s.builds.builder
}

// shaping are the fields of a kustomization by which it changes what its resources say, beyond their names.
var shaping = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "transformers", "vars",
	"configurations", "components"}

// shapeKey is a folder, and whether the namespace that its kustomization sets counts.
type shapeKey struct {
	dir       string
	namespace bool
}

// shapes reports whether the kustomization of a folder, or one that it takes over, changes what its resources say. Their
// namespace counts where it is asked for: a chart is rendered for that of its HelmRelease.
func (s *Set) shapes(dir string, namespace bool) bool {
	s.builds.mu.Lock()
	defer s.builds.mu.Unlock()
	return s.shapesBelow(shapeKey{dir, namespace})
}

// shapesBelow is shapes; the lock is held.
func (s *Set) shapesBelow(key shapeKey) bool {
	dir := key.dir
	if known, ok := s.builds.shapes[key]; ok {
		return known
	}
	if s.builds.shapes == nil {
		s.builds.shapes = map[shapeKey]bool{}
	}
	s.builds.shapes[key] = false // a circle changes nothing
	f, err := s.Kustomization(dir)
	if f == nil || err != nil {
		return false
	}
	shapes := slices.Contains(s.Odd(), dir) || slices.ContainsFunc(shaping, func(name string) bool {
		_, v := doc.Field(f.Node, name)
		return v != nil
	}) || key.namespace && doc.Text(f.Node, "namespace") != ""
	for _, ref := range f.Refs {
		if shapes {
			break
		}
		if named, ok := tree.Clean(path.Join(dir, ref.Value)); ok && ref.Role == kustomization.Resource {
			real, e, err := s.Tree().Lookup(named)
			shapes = err == nil && e.Kind == tree.Dir && s.shapesBelow(shapeKey{real, key.namespace})
		}
	}
	s.builds.shapes[key] = shapes
	return shapes
}

// buildsOf lists the roots that change what a file says on its way to the cluster, none where all take it as it is.
func (s *Set) buildsOf(p string) []Root {
	taking := map[string]bool{}
	for _, dir := range s.Taking(p) {
		if s.Live(dir, s.counts) {
			taking[dir] = true
		}
	}
	if len(taking) == 0 {
		return nil
	}
	release := s.Holds(p, "HelmRelease")
	return slices.DeleteFunc(s.rootsOver(taking), func(r Root) bool { return !s.shapes(r.Path, release) })
}

// rootsOver lists the kustomizations that are roots by themselves and have some folders.
func (s *Set) rootsOver(dirs map[string]bool) (list []Root) {
	for _, dir := range s.Tops(dirs, s.counts) {
		list = append(list, Root{Path: dir})
	}
	return list
}

// shapedDeployers lists the files with objects that deploy and that a kustomization changes: which folders those
// deploy, the files do not say.
func (s *Set) shapedDeployers() []string {
	if s.builder() == nil {
		return nil
	}
	s.builds.once.Do(func() {
		for _, p := range s.Noted(deployers, anyFolder) {
			if len(s.buildsOf(p)) > 0 {
				s.builds.shaped = append(s.builds.shaped, p)
			}
		}
	})
	return s.builds.shaped
}

// prepare renders what changes some files on their way to the cluster, several at a time.
func (d *deployments) prepare(shaped []string, kinds []string) {
	build := d.set.builder()
	wanted := map[Root]bool{}
	d.mu.Lock()
	for _, p := range shaped {
		if !d.read[p] {
			for _, root := range d.set.buildsOf(p) {
				if _, ok := d.rendered[renderedKey(root, kinds)]; !ok {
					wanted[root] = true
				}
			}
		}
	}
	d.mu.Unlock()
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for root := range wanted {
		all.Go(func() error {
			var one rendered
			one.objects, one.whole = build(root, kinds)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.rendered[renderedKey(root, kinds)] = one
			return nil
		})
	}
	_ = all.Wait() // no function returns an error
}

func renderedKey(root Root, kinds []string) string { return fmt.Sprint(root, kinds) }

// generator returns the field of a kustomization that generates objects of a kind, empty where none does.
func generator(kind string) string {
	switch kind {
	case "ConfigMap":
		return "configMapGenerator"
	case "Secret":
		return "secretGenerator"
	}
	return ""
}

// generating lists the roots with a kustomization that generates a ConfigMap or Secret of one of some names.
func (s *Set) generating(kind string, names []string) []Root {
	dirs := map[string]bool{}
	for _, p := range s.Mentions(kind) {
		if !kustomization.IsFileName(p) {
			continue
		}
		dir := path.Dir(p)
		f, err := s.Kustomization(dir)
		if f == nil || err != nil {
			continue
		}
		for _, item := range doc.Items(f.Node, generator(kind)) {
			// The name that is asked for may end with a hash, or have what an overlay writes around it.
			own := doc.Text(item, "name")
			if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, own) }) {
				dirs[dir] = true
			}
		}
	}
	return s.rootsOver(dirs)
}

// reshaped lists the names that objects which others read have in the kustomizations that a change of some files is in
// and that write over them.
func (s *Set) reshaped(changed []string) (names []string) {
	build := s.builder()
	if build == nil {
		return nil
	}
	_, kinds := gitops.Kinds()
	dirs := map[string]bool{}
	for _, kind := range kinds {
		for _, p := range s.Mentions(kind) {
			if kustomization.IsFileName(p) {
				dirs[path.Dir(p)] = true
				continue
			}
			for _, dir := range s.Taking(p) {
				dirs[dir] = true
			}
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	above := s.Above(dirs)
	for _, root := range s.rootsOver(s.Touched(changed, nil)) {
		if _, holds := slices.BinarySearch(above, root.Path); holds {
			objects, _ := build(root, kinds)
			for _, o := range objects {
				names = append(names, o.Name())
			}
		}
	}
	return names
}

// generated lists the names of the ConfigMaps and Secrets that a change of some files may generate otherwise, and
// reports whether it may change any such as they are built.
func (s *Set) generated(changed []string) (names []string, values bool) {
	for dir := range s.Touched(changed, nil) {
		f, err := s.Kustomization(dir)
		if f == nil || err != nil {
			continue
		}
		for _, kind := range []string{"ConfigMap", "Secret"} {
			values = values || s.Holds(f.Path, kind)
			for _, item := range doc.Items(f.Node, generator(kind)) {
				names = append(names, doc.Text(item, "name"))
			}
		}
	}
	return names, values
}

// built returns the objects of some kinds that a root renders to, each root once. Whole is false where the root does
// not render, or something is missing in it.
func (d *deployments) built(root Root, kinds ...string) (list []gitops.Object, whole bool) {
	build := d.set.builder()
	if build == nil {
		return nil, false
	}
	key := renderedKey(root, kinds)
	known, found := d.rendered[key]
	if !found {
		known.objects, known.whole = build(root, kinds)
		d.rendered[key] = known
	}
	return known.objects, known.whole
}

type rendered struct {
	objects []gitops.Object
	whole   bool
}

// shaped returns the objects of some kinds that the roots which change a file render to, but for those roots that were
// added already. Whole is false where the file is to be read as it is, too.
func (d *deployments) shaped(p string, added map[Root]bool, kinds ...string) (list []gitops.Object, whole bool) {
	if d.set.builder() == nil {
		return nil, false
	}
	roots := d.set.buildsOf(p)
	whole = len(roots) > 0
	for _, root := range roots {
		objects, ok := d.built(root, kinds...)
		whole = whole && ok
		if !added[root] {
			added[root] = true
			list = append(list, objects...)
		}
	}
	return list, whole
}
