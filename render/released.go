package render

import (
	"context"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// patchFix is the suggested fix for text of a remote chart.
const patchFix = "patch what the chart prints by a kustomization"

// placesOf returns the places of the fields of a release.
func (s *release) placesOf(ctx context.Context) *chartPlaces {
	advice := patchFix
	if s.flux() {
		advice = "change it by a post renderer of the HelmRelease (spec.postRenderers)"
	}
	name, space := s.spec.NameWhere, s.spec.NamespaceWhere
	if s.target.Kind == roots.Chart { // name and namespace are written nowhere
		name, space = gitops.Position{}, gitops.Position{}
	}
	return &chartPlaces{ctx: ctx, builder: &s.renderer.builder, chart: s.chart, homes: s.reader.homes, top: s.from,
		options: s.options, output: s.output, trial: s.trial, values: s.values, defaults: s.defaults,
		entry: placeAt(s.spec.Chart.Where, "chart"), name: name, space: space, fixWords: advice}
}

// flux reports whether Flux installs a release.
func (s *release) flux() bool {
	return s.target.By != nil && s.target.By.Kind == gitops.FluxHelm
}

// placeAt returns a place near a field.
func placeAt(at gitops.Position, role string) origin.Place {
	return origin.Place{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(1, at.Line, at.EndLine), How: origin.Enclosing,
		Role: role}
}
