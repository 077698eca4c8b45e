package render

import "github.com/lintel-bot/lintel/render/source"

// Limits bound what one root may cost. The zero value means the defaults; real repositories stay far below.
type Limits struct {
	Source    source.Limits // of one file
	Layers    int           // kustomizations that one root includes, counted each time; default 2,000
	Depth     int           // bases of bases; default 32
	Resources int           // resources of one root; default 20,000
}

func (l Limits) withDefaults() Limits {
	if l.Layers <= 0 {
		l.Layers = 2000
	}
	if l.Depth <= 0 {
		l.Depth = 32
	}
	if l.Resources <= 0 {
		l.Resources = 20_000
	}
	return l
}
