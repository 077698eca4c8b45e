package roots

import (
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// shaping are the fields of a kustomization that change the content of its resources. The name counts, because Argo CD
// reads parameter files by the name of an Application.
var shaping = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "transformers", "vars",
	"configurations", "components", "namePrefix", "nameSuffix"}

// shapes caches which kustomizations change the content of their resources. It is safe for concurrent use.
type shapes struct {
	mu    sync.Mutex
	known map[shapeKey]bool
}

// shapeKey is a folder, and whether a change of the namespace counts.
type shapeKey struct {
	dir       string
	namespace bool
}

// shapesBelow reports whether the kustomization of a folder, or one that it includes, changes the content of its
// resources. A change of the namespace counts if asked: the chart of a HelmRelease is rendered for its namespace.
func (d *Deploying) shapesBelow(dir string, namespace bool) bool {
	d.shapes.mu.Lock()
	defer d.shapes.mu.Unlock()
	if d.shapes.known == nil {
		d.shapes.known = map[shapeKey]bool{}
	}
	return d.shapesOf(shapeKey{dir, namespace})
}

// shapesOf is shapesBelow; the lock is held.
func (d *Deploying) shapesOf(key shapeKey) bool {
	if known, ok := d.shapes.known[key]; ok {
		return known
	}
	d.shapes.known[key] = false // a circle of kustomizations changes nothing
	f, err := d.index.Kustomization(key.dir)
	if f == nil || err != nil {
		return false
	}
	shapes := slices.Contains(d.index.Odd(), key.dir) || slices.ContainsFunc(shaping, func(name string) bool {
		_, v := doc.Field(f.Node, name)
		return v != nil
	}) || key.namespace && doc.Text(f.Node, "namespace") != ""
	for _, ref := range f.Refs {
		if shapes {
			break
		}
		if named, ok := tree.Clean(path.Join(key.dir, ref.Value)); ok && ref.Role == kustomization.Resource {
			real, e, err := d.index.Tree().Lookup(named)
			shapes = err == nil && e.Kind == tree.Dir && d.shapesOf(shapeKey{real, key.namespace})
		}
	}
	d.shapes.known[key] = shapes
	return shapes
}

// Shaping lists the roots that change the content of a file. If there are any, plain lists the roots that include it
// unchanged.
func (d *Deploying) Shaping(p string) (shaping, plain []Root) {
	known, ok := d.shaping.Load(p)
	if !ok {
		shaping, plain = d.findShaping(p)
		known, _ = d.shaping.LoadOrStore(p, [2][]Root{shaping, plain})
	}
	list := known.([2][]Root)
	return slices.Clip(list[0]), slices.Clip(list[1])
}

func (d *Deploying) findShaping(p string) (shaping, plain []Root) {
	taking := map[string]bool{}
	for _, dir := range d.index.IncludedBy(p) {
		if d.index.IsLive(dir) {
			taking[dir] = true
		}
	}
	if len(taking) == 0 {
		return nil, nil
	}
	release := d.index.MentionsIn(p, "HelmRelease")
	for _, r := range d.index.rootsOver(taking) {
		if d.shapesBelow(r.Path, release) {
			shaping = append(shaping, r)
		} else {
			plain = append(plain, r)
		}
	}
	if len(shaping) == 0 {
		return nil, nil
	}
	return shaping, plain
}

// OddRoots lists the roots whose objects may have kinds that no manifest contains: patches change them (see
// graph.Graph.Odd), or a chart prints them.
func (d *Deploying) OddRoots() []Root {
	dirs := map[string]bool{}
	for _, dir := range append(d.index.Odd(), d.printing().inflating...) {
		dirs[dir] = true
	}
	if len(dirs) == 0 {
		return nil
	}
	return d.index.rootsOver(dirs)
}

// rootsOver lists the kustomizations that are roots and are or include one of some folders.
func (x *Index) rootsOver(dirs map[string]bool) (list []Root) {
	for _, dir := range x.TopLevel(dirs, x.Selects) {
		list = append(list, Root{Path: dir})
	}
	return list
}
