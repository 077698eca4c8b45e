package deploy

import (
	"context"
	"slices"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// OfKind returns the objects of a kind that a root deploys. See render.Renderer.OfKind.
func (s *Set) OfKind(ctx context.Context, root roots.Root, kind string) (render.Declared, error) {
	return s.Renderer.OfKind(ctx, s.Target(root), kind)
}

// Charted returns the chart and the values of a root that is a release. See render.Renderer.Charted.
func (s *Set) Charted(root roots.Root) *render.Charted { return s.Renderer.Charted(s.Target(root)) }

// ValuesShared reports whether a file has values for another chart than that of a root, too.
func (s *Set) ValuesShared(root roots.Root, file string) bool {
	own := s.Deployment(root)
	return slices.ContainsFunc(s.Reach([]string{file}, nil), func(other roots.Root) bool {
		if other == root {
			return false
		}
		one := s.Deployment(other)
		if one == nil || one.Release == nil {
			return other.Kind == roots.Chart
		}
		return own == nil || one.Release.Chart.Want != own.Release.Chart.Want || one.Release.Chart.Folder != own.Release.Chart.Folder
	})
}
