package render

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// builtObjects are the objects of some kinds in a rendering, with their places.
type builtObjects struct {
	Objects []placedObject `json:"objects"`
	Whole   bool           `json:"whole"`
}

// objects implements roots.Builder: what Argo CD and Flux are told is what kustomizations render to. Overlays patch
// objects of theirs, and generate what they take variables from.
func (r *Renderer) objects(root roots.Root, kinds []string) ([]gitops.Object, bool) {
	key := r.memoryKey(root, strings.Join(kinds, " "))
	built, ok := env.Find[builtObjects](r.answersKept(), "objects", key, r)
	if !ok {
		out, problems := r.held.take(root)
		if out == nil {
			var err error
			if out, problems, err = r.once(context.Background(), root); err != nil {
				return nil, false
			}
		}
		r.held.put(root, out, problems)
		built = builtObjects{Whole: !out.Partial && len(problems) == 0}
		for _, res := range out.Resources {
			if kind, _ := res.Object["kind"].(string); slices.Contains(kinds, kind) {
				built.Objects = append(built.Objects, withPlaces(res))
			}
		}
		if asked, ok := r.asked(out); ok {
			env.Keep(r.answersKept(), "objects", key, asked, built)
		}
	}
	var list []gitops.Object
	for _, o := range built.Objects {
		list = append(list, gitops.FromRoot(roots.From(root), o.Object, o.where()))
	}
	return list, built.Whole
}
