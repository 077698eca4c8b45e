package declared

import (
	"context"
	"slices"

	"github.com/lintel-bot/lintel/engine/admission"
)

// Removes implements admission.Changing. What may still be declared where nobody looked is not removed.
func (d *Objects) Removes(ctx context.Context, group, kind, namespace, name string) bool {
	a := d.asking(ctx)
	if a.before {
		return false
	}
	if name == "" {
		_, none := d.list(ctx, group, kind, namespace)
		return none && len(d.List(a.Before(ctx), group, kind, namespace)) > 0 && !d.mayStay(ctx, group, kind, namespace, name)
	}
	if _, has := d.Get(ctx, group, kind, namespace, name); has || a.Why(name) != nil {
		return false
	}
	_, had := d.Get(a.Before(ctx), group, kind, namespace, name)
	return had && !d.mayStay(ctx, group, kind, namespace, name)
}

// mayStay reports whether a root that declared one of the objects of a look-up remains, and is not seen completely now.
func (d *Objects) mayStay(ctx context.Context, group, kind, namespace, name string) bool {
	was, _ := d.seen(ctx, group, kind, wanted{name: name})
	d.mu.Lock()
	defer d.mu.Unlock()
	unseen := func(e entry) bool { return !e.named && d.set.Has(e.root) && len(d.unseen[e.root]) > 0 }
	return slices.ContainsFunc(was.order, func(id admission.Identity) bool {
		asked := is(id, namespace, name) || name == "" && (namespace == "" || id.Namespace == namespace)
		return asked && slices.ContainsFunc(was.by[id], unseen)
	})
}
