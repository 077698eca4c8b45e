package engine

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/kinds"
)

// index finds the steps that can apply to a kind, in order, as indexes into the list of all steps. Its keys are plural
// names, since policies in CEL have only these.
type index struct {
	plurals map[string][]int
	other   []int // for kinds that no step names
}

// newIndex creates an index of some of the steps.
func newIndex(steps []boundStep, some []int) index {
	x := index{plurals: map[string][]int{}}
	for _, i := range some {
		for _, k := range steps[i].plurals() {
			x.plurals[k] = nil
		}
	}
	for _, i := range some {
		of := steps[i].plurals()
		if of == nil {
			x.other = append(x.other, i)
			for k := range x.plurals {
				x.plurals[k] = append(x.plurals[k], i)
			}
			continue
		}
		for j, k := range of {
			if !slices.Contains(of[:j], k) {
				x.plurals[k] = append(x.plurals[k], i)
			}
		}
	}
	return x
}

func (x *index) of(kind string) []int {
	if s, ok := x.plurals[kinds.Plural(kind)]; ok {
		return s
	}
	return x.other
}
