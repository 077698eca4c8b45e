package render

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// builtObjects are the objects of some kinds in a rendering, with their places.
type builtObjects struct {
	Objects []placedObject `json:"objects"`
	Whole   bool           `json:"whole"`
}

// Basis is what the objects rest on that were built for a set of roots.
type Basis struct {
	mu     sync.Mutex
	asked  []env.Asked
	unsure bool // of some nobody knows
}

func (b *Basis) add(ok bool, asked ...env.Asked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked, b.unsure = append(b.asked, asked...), b.unsure || !ok
}

// Basis returns what the objects rest on that this renderer has built for its set of roots so far.
func (r *Renderer) Basis() *Basis { return r.basis }

// Continues reports whether what the roots of the tree were found to deploy with another renderer of the same set, which had
// other sources, is what they deploy with this one. If so, nobody has to find it again.
func (r *Renderer) Continues(earlier *Basis) bool {
	earlier.mu.Lock()
	list, unsure := slices.Clone(earlier.asked), earlier.unsure
	earlier.mu.Unlock() // an answer may have more objects built
	if unsure || slices.ContainsFunc(list, func(asked env.Asked) bool {
		for q, digest := range asked {
			if q.Kind != env.Content && q.Kind != env.Link && r.Answer(q) != digest { // the tree is the same
				return true
			}
		}
		return false
	}) {
		return false
	}
	r.basis.add(true, list...)
	return true
}

// objects implements roots.Builder: what Argo CD and Flux are told is what kustomizations render to. Overlays patch
// objects of theirs, and generate what they take variables from.
func (r *Renderer) objects(root roots.Root, kinds []string) ([]gitops.Object, bool) {
	key := r.memoryKey(root, strings.Join(kinds, " "))
	built, asked, ok := env.FindAsked[builtObjects](r.answersKept(), "objects", key, r)
	if !ok {
		out, problems := r.held.take(root)
		if out == nil {
			var err error
			if out, problems, err = r.once(context.Background(), root); err != nil {
				r.basis.add(false)
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
		if asked, ok = r.asked(out); ok {
			env.Keep(r.answersKept(), "objects", key, asked, built)
		}
	}
	r.basis.add(ok, asked)
	var list []gitops.Object
	for _, o := range built.Objects {
		list = append(list, gitops.FromRoot(roots.From(root), o.Object, o.where))
	}
	return list, built.Whole
}
