package render

import (
	"path"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
)

// released are the fields of a resource that a chart renders.
type released struct {
	release  *release
	manifest int // index in the output
	node     *yaml.Node
}

// Locate implements Locator.
func (l released) Locate(pointer string) origin.Place {
	m := l.release.output.Manifests[l.manifest]
	if l.release.folder != "" && m.File != "" {
		return origin.Place{Path: path.Join(l.release.folder, m.File), StartLine: 1, EndLine: 1, How: origin.Enclosing,
			Role: "template"}
	}
	return placeAt(l.release.spec.Chart.Where, "chart")
}

// placeAt is a place around a field.
func placeAt(at gitops.Position, role string) origin.Place {
	return origin.Place{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(1, at.Line, at.EndLine), How: origin.Enclosing,
		Role: role}
}
