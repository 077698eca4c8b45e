package deploy

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0 to n-1, as many at a time as there are processors, and returns when all are done. A panic of do
// is raised again in the caller, where whoever contains it can see it; what was not begun by then is left out.
func Each(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	panics := make(chan any, n)
	for i := range n {
		if len(panics) > 0 {
			break
		}
		group.Go(func() error {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			do(i)
			return nil
		})
	}
	_ = group.Wait() // no piece returns an error
	if len(panics) > 0 {
		panic(<-panics)
	}
}
