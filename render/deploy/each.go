package deploy

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0 to n-1 and returns when all calls are done. It runs as many at a time as there are processors.
// After a panic it begins no further calls, and panics in the caller, which can recover.
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
	_ = group.Wait() // the functions return no error
	if len(panics) > 0 {
		panic(<-panics)
	}
}
