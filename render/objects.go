package render

import (
	"context"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// objects implements roots.Builder: what Argo CD and Flux are told is what kustomizations render to. Overlays patch
// objects of theirs, and generate what they take variables from.
func (r *Renderer) objects(root roots.Root) ([]gitops.Object, bool) {
	if known := r.memory.of(root); known != nil && known.rendering.Same(r) {
		return known.list(r.again(root)), true
	}
	out, problems, err := r.Render(context.Background(), root)
	if err != nil || len(problems) > 0 {
		return nil, false
	}
	deploying, asked := gitops.Kinds()
	next := &builtObjects{rendering: &Rendering{Root: root, Reads: out.Reads, links: out.links, digest: out.digest}}
	for i, res := range out.Resources {
		kind, _ := res.Object["kind"].(string)
		if slices.Contains(deploying, kind) || slices.Contains(asked, kind) {
			next.objects = append(next.objects, builtObject{res.Object, i, map[string]gitops.Position{}})
		}
	}
	r.memory.keep(root, next)
	return next.list(func(i int, pointer string) origin.Place { return out.Resources[i].Origin(pointer) }), true
}

// again returns what finds the places of a root's resources by rendering it, once somebody asks.
func (r *Renderer) again(root roots.Root) func(i int, pointer string) origin.Place {
	render := sync.OnceValue(func() []*Resource {
		out, _, err := r.Render(context.Background(), root)
		if err != nil {
			return nil
		}
		return out.Resources
	})
	return func(i int, pointer string) origin.Place {
		if list := render(); i < len(list) {
			return list[i].Origin(pointer)
		}
		return origin.Place{Path: root.Path, StartLine: 1, EndLine: 1, How: origin.Enclosing}
	}
}

// builtObjects are the objects of a rendering that Argo CD and Flux look at, with the places that somebody asked for.
type builtObjects struct {
	rendering *Rendering // without its resources
	objects   []builtObject
	mu        sync.Mutex
}

type builtObject struct {
	value map[string]any
	index int // among the resources of the rendering
	known map[string]gitops.Position
}

// list returns the objects. What finds places may not be asked by several at once, and is asked once for each.
func (b *builtObjects) list(locate func(i int, pointer string) origin.Place) []gitops.Object {
	list := make([]gitops.Object, len(b.objects))
	for i, o := range b.objects {
		list[i] = gitops.FromRoot(b.rendering.Root.Path, o.value, func(pointer string) gitops.Position {
			b.mu.Lock()
			defer b.mu.Unlock()
			at, ok := o.known[pointer]
			if !ok {
				p := locate(o.index, pointer)
				at = gitops.Position{Path: p.Path, Line: p.StartLine, Column: p.StartColumn, EndLine: p.EndLine}
				o.known[pointer] = at
			}
			return at
		})
	}
	return list
}

// maxBuilt is of how many roots the objects are kept in memory.
const maxBuilt = 64

func (c *Cache) of(root roots.Root) *builtObjects {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.built[root]
}

func (c *Cache) keep(root roots.Root, b *builtObjects) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.built == nil || len(c.built) >= maxBuilt {
		c.built = map[roots.Root]*builtObjects{}
	}
	c.built[root] = b
}
