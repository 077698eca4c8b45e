package render

import (
	"cmp"

	"github.com/lintel-bot/lintel/render/doc"
)

// Limits bound the cost of one root. The zero value means the defaults, which are far above what real repositories
// need.
type Limits struct {
	Source    doc.Limits // of one file
	Layers    int        // kustomizations that one root includes, counted each time; default 2,000
	Depth     int        // how deep bases may be nested; default 32
	Resources int        // resources of one root; default 20,000
}

func (l Limits) withDefaults() Limits {
	l.Layers = cmp.Or(max(0, l.Layers), 2000)
	l.Depth = cmp.Or(max(0, l.Depth), 32)
	l.Resources = cmp.Or(max(0, l.Resources), 20_000)
	return l
}
