package render

import (
	"context"

	"github.com/lintel-bot/lintel/render/roots"
)

// Kustomize runs kustomize alone, for the benchmark: no plan, no origins, no objects.
func (r *Renderer) Kustomize(_ context.Context, root roots.Root) error {
	_, err := r.plainly(root, false)
	return err
}
