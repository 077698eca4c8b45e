package settings

import (
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
)

// Limits limit the cost of a check; zero means the default. Time and memory of a whole check are limited by whoever
// runs it.
type Limits struct {
	FileBytes int64 `yaml:"fileBytes"` // of one file; default 16 MiB
	Files     int   `yaml:"files"`     // and folders of the repository; default 2,000,000
	Depth     int   `yaml:"depth"`     // nesting within a file; default 100
	Nodes     int   `yaml:"nodes"`     // of one file, aliases replaced; default 500,000
	Layers    int   `yaml:"layers"`    // kustomizations of one root, counted each time; default 2,000
	Bases     int   `yaml:"bases"`     // bases of bases; default 32
	Resources int   `yaml:"resources"` // of one root; default 20,000
}

// Sources restrict what may be fetched.
type Sources struct {
	Allow []string `yaml:"allow"` // patterns of addresses ("https://github.com/example/**"); nil: what the operator allows
}

// Render returns the limits of rendering.
func (l Limits) Render() render.Limits {
	return render.Limits{Source: doc.Limits{Nodes: l.Nodes, Depth: l.Depth}, Layers: l.Layers, Depth: l.Bases,
		Resources: l.Resources}
}
