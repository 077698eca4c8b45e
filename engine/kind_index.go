package engine

import "slices"

// index finds the steps that can be about a kind, in order, by their place in a list of all.
type index struct {
	kinds map[string][]int
	other []int // for kinds that no step names
}

// newIndex makes an index of some of the steps.
func newIndex(steps []boundStep, some []int) index {
	x := index{kinds: map[string][]int{}}
	for _, i := range some {
		for _, k := range steps[i].kinds() {
			x.kinds[k] = nil
		}
	}
	for _, i := range some {
		of := steps[i].kinds()
		if of == nil {
			x.other = append(x.other, i)
			for k := range x.kinds {
				x.kinds[k] = append(x.kinds[k], i)
			}
			continue
		}
		for j, k := range of {
			if !slices.Contains(of[:j], k) {
				x.kinds[k] = append(x.kinds[k], i)
			}
		}
	}
	return x
}

func (x *index) of(kind string) []int {
	if s, ok := x.kinds[kind]; ok {
		return s
	}
	return x.other
}
