package render

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// objects implements roots.Builder: what Argo CD and Flux are told is what kustomizations render to. Overlays patch
// objects of theirs, and generate what they take variables from.
func (r *Renderer) objects(root roots.Root, kinds []string) ([]gitops.Object, bool) {
	key := builtKey{root, strings.Join(kinds, " ")}
	if known := r.memory.of(key); known != nil && known.rendering.Same(r) {
		return known.objects, !known.rendering.Partial
	}
	out, problems := r.held.take(root)
	if out == nil {
		var err error
		if out, problems, err = r.once(context.Background(), root); err != nil {
			return nil, false
		}
	}
	r.held.put(root, out, problems)
	next := &builtObjects{
		rendering: &Rendering{Root: root, Reads: out.Reads, Partial: out.Partial || len(problems) > 0, links: out.links,
			digest: out.digest, rendered: out.rendered, asked: out.asked, wants: out.wants, told: out.told}}
	for i, res := range out.Resources {
		if kind, _ := res.Object["kind"].(string); slices.Contains(kinds, kind) {
			at := out.places(i)
			next.objects = append(next.objects, gitops.FromRoot(roots.From(root), res.Object,
				func(pointer string) gitops.Position { return at[pointer] }))
		}
	}
	r.memory.keep(key, next)
	return next.objects, !next.rendering.Partial
}

// builtKey is a root, and the kinds that are asked for.
type builtKey struct {
	root  roots.Root
	kinds string
}

// builtObjects are the objects of some kinds in a rendering, with their places.
type builtObjects struct {
	rendering *Rendering // without its resources
	objects   []gitops.Object
}

// maxBuilt is of how many roots the objects are kept in memory.
const maxBuilt = 256

func (c *Cache) of(key builtKey) *builtObjects {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.built[key]
}

func (c *Cache) keep(key builtKey, b *builtObjects) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.built == nil || len(c.built) >= maxBuilt {
		c.built = map[builtKey]*builtObjects{}
	}
	c.built[key] = b
}
