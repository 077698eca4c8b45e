package declared

import (
	"context"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// Cautious returns a context in which look-ups are those of an object of a root, and roots that have an object in common with
// it do not answer: though nothing says so, both are rather made for two clusters, such as overlays of one base.
// They are not recorded, see Unrecorded.
func Cautious(ctx context.Context, root roots.Root) context.Context {
	out, l := For(Unrecorded(ctx), root)
	return context.WithValue(out, askingKey{}, asking{Lookups: l, cautious: true, before: IsBefore(ctx)})
}

// alike reports whether both roots have a namespaced object of the same kind, namespace and name.
func (d *Objects) alike(ctx context.Context, a, b roots.Root) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.render(ctx, []roots.Root{a, b})
	few, many := d.namesOf(a), d.namesOf(b)
	if len(few) > len(many) {
		few, many = many, few
	}
	for id := range few {
		if many[id] {
			return true
		}
	}
	return false
}

// namesOf returns the namespaced objects of a root, once for all that ask. The lock is held.
func (d *Objects) namesOf(root roots.Root) map[admission.Identity]bool {
	resources, rendered := d.roots[root]
	if known, ok := d.names[root]; ok || !rendered {
		return known
	}
	names := make(map[admission.Identity]bool, len(resources))
	for _, r := range resources {
		if id := admission.IdentityOf(r.Object); id.Namespace != "" && id.Name != "" {
			id.Version = ""
			names[id] = true
		}
	}
	d.names[root] = names
	return names
}
