package declared

import (
	"context"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// Cautious returns a context in which look-ups are those of an object of a root, and roots that have an object in common with
// it do not answer: though nothing says so, both are rather made for two clusters, such as overlays of one base.
func Cautious(ctx context.Context, root roots.Root) context.Context {
	ctx, l := For(ctx, root)
	return context.WithValue(ctx, askingKey{}, asking{Lookups: l, cautious: true})
}

// alike reports whether both roots have a namespaced object of the same kind, namespace and name. It caches the answer.
func (d *Objects) alike(ctx context.Context, a, b roots.Root) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := [2]roots.Root{a, b}
	known, ok := d.common[key]
	if ok {
		return known
	}
	d.render(ctx, key[:])
	has := map[admission.Identity]bool{}
	for i, root := range key {
		for _, r := range d.roots[root] {
			id := admission.IdentityOf(r.Object)
			id.Version = ""
			known = known || i == 1 && has[id]
			has[id] = has[id] || i == 0 && id.Namespace != "" && id.Name != ""
		}
	}
	if ctx.Err() == nil {
		d.common[key] = known
	}
	return known
}
