package render

import (
	"context"

	"github.com/lintel-bot/lintel/render/graph"
)

// Kustomize runs kustomize alone, for the benchmark: no plan, no origins, no objects.
func (r *Renderer) Kustomize(_ context.Context, root graph.Root) error {
	_, err := r.alone(root, false)
	return err
}
