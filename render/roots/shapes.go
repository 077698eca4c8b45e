package roots

import (
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// shaping are the fields of a kustomization by which it changes what its resources say, beyond their names.
var shaping = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "transformers", "vars",
	"configurations", "components"}

// shapes keeps which kustomizations change what their resources say. It is safe for concurrent use.
type shapes struct {
	mu    sync.Mutex
	known map[shapeKey]bool
}

// shapeKey is a folder, and whether the namespace that its kustomization sets counts.
type shapeKey struct {
	dir       string
	namespace bool
}

// shapesBelow reports whether the kustomization of a folder, or one that it takes over, changes what its resources say. Their
// namespace counts where it is asked for: a chart is rendered for that of its HelmRelease.
func (x *Index) shapesBelow(dir string, namespace bool) bool {
	x.shapes.mu.Lock()
	defer x.shapes.mu.Unlock()
	if x.shapes.known == nil {
		x.shapes.known = map[shapeKey]bool{}
	}
	return x.shapesOf(shapeKey{dir, namespace})
}

// shapesOf is shapesBelow; the lock is held.
func (x *Index) shapesOf(key shapeKey) bool {
	if known, ok := x.shapes.known[key]; ok {
		return known
	}
	x.shapes.known[key] = false // a circle changes nothing
	f, err := x.Kustomization(key.dir)
	if f == nil || err != nil {
		return false
	}
	shapes := slices.Contains(x.Odd(), key.dir) || slices.ContainsFunc(shaping, func(name string) bool {
		_, v := doc.Field(f.Node, name)
		return v != nil
	}) || key.namespace && doc.Text(f.Node, "namespace") != ""
	for _, ref := range f.Refs {
		if shapes {
			break
		}
		if named, ok := tree.Clean(path.Join(key.dir, ref.Value)); ok && ref.Role == kustomization.Resource {
			real, e, err := x.Tree().Lookup(named)
			shapes = err == nil && e.Kind == tree.Dir && x.shapesOf(shapeKey{real, key.namespace})
		}
	}
	x.shapes.known[key] = shapes
	return shapes
}

// Shaping lists the roots that change what a file says on its way to the cluster, none where all take it as it is.
func (x *Index) Shaping(p string) []Root {
	taking := map[string]bool{}
	for _, dir := range x.Taking(p) {
		if x.Lives(dir) {
			taking[dir] = true
		}
	}
	if len(taking) == 0 {
		return nil
	}
	release := x.Holds(p, "HelmRelease")
	return slices.DeleteFunc(x.rootsOver(taking), func(r Root) bool { return !x.shapesBelow(r.Path, release) })
}

// OddRoots lists the roots with objects whose kinds no manifest says (see graph.Graph.Odd).
func (x *Index) OddRoots() []Root {
	dirs := map[string]bool{}
	for _, dir := range x.Odd() {
		dirs[dir] = true
	}
	if len(dirs) == 0 {
		return nil
	}
	return x.rootsOver(dirs)
}

// rootsOver lists the kustomizations that are roots by themselves and have some folders.
func (x *Index) rootsOver(dirs map[string]bool) (list []Root) {
	for _, dir := range x.Tops(dirs, x.Selects) {
		list = append(list, Root{Path: dir})
	}
	return list
}
