package render

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
)

// builtObjects are the objects of some kinds in a rendering, with their places.
type builtObjects struct {
	Objects []placedObject `json:"objects"`
	Whole   bool           `json:"whole"`
}

// Objects returns the objects of some kinds in the rendering of a target. from names the target in the places of what
// these objects deploy in turn (see gitops.FromRoot). whole is false where the target does not render completely. A
// rendering that was made for this is in the memo for the next request of the target.
func (r *Renderer) Objects(ctx context.Context, t Target, from string, kinds []string) (list []gitops.Object, whole bool) {
	key := strings.Join(kinds, " ") + " " + r.ownKey(t)
	built, ok := env.Get[builtObjects](r.kept(), objectsTable, key, asker{r, t})
	if !ok {
		known := *r
		known.whatever = true // render what can be rendered, because the objects may want more sources
		out, problems, err := known.once(ctx, t)
		if err != nil {
			return nil, false
		}
		r.memo.put(r.ownKey(t), out, problems)
		built = builtObjects{Whole: !out.Partial && len(problems) == 0}
		for _, res := range out.Resources {
			if kind, _ := res.Object["kind"].(string); slices.Contains(kinds, kind) {
				built.Objects = append(built.Objects, withPlaces(res))
			}
		}
		if out.asked != nil {
			env.Put(r.kept(), objectsTable, key, r.askedWritten(out.target, out.asked), built)
		}
	}
	for _, o := range built.Objects {
		list = append(list, gitops.FromRoot(from, o.Object, o.where).Identified(o.Digest))
	}
	return list, built.Whole
}
