package proof

import (
	"context"

	"github.com/lintel-bot/lintel/render"
)

// sameWithoutOrigins reports whether kustomize prints the same bytes for the files as they are.
func (p *prover) sameWithoutOrigins(ctx context.Context, with *render.Rendering) (bool, error) {
	plain, err := p.renderer.Unmarked(ctx, p.root)
	if err != nil {
		return false, err
	}
	have, err := with.YAML()
	if err != nil {
		return false, err
	}
	return string(have) == string(plain), nil
}
