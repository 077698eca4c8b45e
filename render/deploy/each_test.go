package deploy

import (
	"slices"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 1000} {
		got := make([]int, n)
		Each(n, func(i int) { got[i]++ })
		if slices.ContainsFunc(got, func(times int) bool { return times != 1 }) {
			t.Errorf("of %d pieces some were not done once: %v", n, got)
		}
	}
}

func TestEachRaisesPanics(t *testing.T) {
	var done atomic.Int64
	defer func() {
		if p := recover(); p != "piece 3" {
			t.Errorf("recovered %v", p)
		}
		if done.Load() == 0 {
			t.Error("nothing was done")
		}
	}()
	Each(10, func(i int) {
		if i == 3 {
			panic("piece 3")
		}
		done.Add(1)
	})
	t.Error("the panic was lost")
}
