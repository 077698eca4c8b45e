package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	progressAfter = time.Second // work that is done by then needs no word
	progressEvery = 500 * time.Millisecond
)

// progressLine is what a terminal is told of work that goes on.
type progressLine struct {
	phase atomic.Value // string
	stop  func()
}

// showProgress says on a terminal what is being done, and for how long, until it is ended, which clears the line.
// Elsewhere, and on terminals that cannot clear a line, it is silent. What share of the work is done nobody knows
// beforehand: how much a change reaches is what the work finds out.
func showProgress(w io.Writer, phase string) *progressLine {
	p := &progressLine{stop: func() {}}
	p.phase.Store(phase)
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	started := time.Now()
	ticker := time.NewTicker(progressEvery)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		p.print(w, ticker.C, stop, func() time.Duration { return time.Since(started) })
	}()
	p.stop = func() {
		ticker.Stop()
		close(stop)
		<-stopped
	}
	return p
}

// end clears the line. It is called once.
func (p *progressLine) end() { p.stop() }

// print writes the line anew at each tick that changes it, and clears it at the end.
func (p *progressLine) print(w io.Writer, ticks <-chan time.Time, stop <-chan struct{}, since func() time.Duration) {
	shown := ""
	for {
		select {
		case <-stop:
			if shown != "" {
				fmt.Fprint(w, "\r\x1b[K")
			}
			return
		case <-ticks:
			d := since()
			if d < progressAfter {
				continue
			}
			if row := fmt.Sprintf("lintel: %s, %d s ...", p.phase.Load(), int(d.Seconds())); row != shown {
				fmt.Fprint(w, "\r\x1b[K"+row)
				shown = row
			}
		}
	}
}

// watched is a sandbox that tells what it does, until it answers with what is to be fetched first.
type watched struct {
	remotes.Sandbox
	line  *progressLine
	doing string
}

// Run is that of the sandbox.
func (s watched) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	s.line.phase.Store(s.doing)
	rep, err := s.Sandbox.Run(ctx, change)
	if err == nil && rep != nil && rep.Wanted != nil {
		s.line.phase.Store("fetching what comes from outside")
	}
	return rep, err
}
