package render

import (
	"context"
	"sync"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// objects implements roots.Builder: what Argo CD and Flux are told is what kustomizations render to. Overlays patch
// objects of theirs, and generate what they take variables from.
func (r *Renderer) objects(root roots.Root) (list []gitops.Object, ok bool) {
	out, problems, err := r.Render(context.Background(), root)
	if err != nil || len(problems) > 0 {
		return nil, false
	}
	var locate sync.Mutex // places are not found by several at once
	for _, res := range out.Resources {
		where := func(pointer string) gitops.Position {
			locate.Lock()
			defer locate.Unlock()
			p := res.Origin(pointer)
			return gitops.Position{Path: p.Path, Line: p.StartLine, Column: p.StartColumn, EndLine: p.EndLine}
		}
		list = append(list, gitops.FromRoot(root.Path, res.Object, where))
	}
	return list, true
}
