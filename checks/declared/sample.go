package declared

import (
	"context"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// sampleBatch is how many roots are rendered before the bounds are checked again.
const sampleBatch = 8

// Sample returns resources with the defaults of the API server. It takes those of roots that are rendered already, then
// renders others in order until a bound is reached. looked is the number of roots that it took, all the number of
// roots.
func (d *Objects) Sample(ctx context.Context, maxRoots, maxObjects int) (list []*render.Resource, looked, all int) {
	every := d.set.All()
	if d.In != nil {
		every = slices.DeleteFunc(every, func(r roots.Root) bool { return !d.In(r) })
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	chosen := slices.Concat(slices.Collect(maps.Keys(d.roots)), slices.Collect(maps.Keys(d.looked)))
	slices.SortFunc(chosen, roots.Compare)
	chosen = slices.Compact(chosen)
	others := slices.DeleteFunc(slices.Clone(every), func(root roots.Root) bool { return slices.Contains(chosen, root) })
	all = len(chosen) + len(others)
	chosen = append(chosen, others[:min(len(others), maxRoots)]...)
	seen := map[admission.Identity]bool{}
	for len(chosen) > 0 && len(list) < maxObjects && ctx.Err() == nil {
		batch := chosen[:min(len(chosen), sampleBatch)]
		chosen = chosen[len(batch):]
		d.render(ctx, batch)
		for _, root := range batch {
			if len(list) >= maxObjects {
				break
			}
			looked++
			for _, r := range d.roots[root] {
				if id := admission.IdentityOf(r.Object); !seen[id] && len(list) < maxObjects {
					seen[id] = true
					list = append(list, render.NewResource(apiserver.Received(r.Object), nil, r.Issues...))
				}
			}
		}
	}
	return list, looked, all
}
