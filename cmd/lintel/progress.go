package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

const (
	progressAfter = time.Second // work that is done by then needs no word
	progressEvery = 500 * time.Millisecond
)

// showProgress says on a terminal that work is going on, and for how long, until the returned function is called, which
// clears the line. Elsewhere, and on terminals that cannot clear a line, it is silent. What share of the work is done
// nobody knows beforehand: how much a change reaches is what the work finds out.
func showProgress(w io.Writer, what string) (done func()) {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return func() {}
	}
	started := time.Now()
	ticker := time.NewTicker(progressEvery)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		progress(w, what, ticker.C, stop, func() time.Duration { return time.Since(started) })
	}()
	return func() {
		ticker.Stop()
		close(stop)
		<-stopped
	}
}

// progress writes one line anew at each tick, and clears it at the end.
func progress(w io.Writer, what string, ticks <-chan time.Time, stop <-chan struct{}, since func() time.Duration) {
	shown := false
	for {
		select {
		case <-stop:
			if shown {
				fmt.Fprint(w, "\r\x1b[K")
			}
			return
		case <-ticks:
			if d := since(); d >= progressAfter {
				fmt.Fprintf(w, "\r\x1b[Klintel: %s, %d s ...", what, int(d.Seconds()))
				shown = true
			}
		}
	}
}
