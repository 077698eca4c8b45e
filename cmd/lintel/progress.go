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
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/progress"
)

const (
	progressAfter = time.Second // work that is done by then needs no word
	progressEvery = 500 * time.Millisecond

	readingTree = "reading the repository"
)

// progressLine is the progress shown on a terminal.
type progressLine struct {
	step  atomic.Value // progress.Step
	stop  func()
	shown bool // on a terminal
}

// showProgress shows on a terminal what is being done and for how long, and, if it is counted, how much is done and
// what is in progress. Ending it clears the line. It does nothing without a terminal, or on one that cannot clear a
// line.
func showProgress(w io.Writer, doing string) *progressLine {
	p := &progressLine{stop: func() {}}
	p.set(progress.Step{Doing: doing})
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	p.shown = true
	width := func() int {
		n, _, err := term.GetSize(int(f.Fd()))
		if err != nil || n <= 0 {
			return 80
		}
		return n
	}
	started := time.Now()
	ticker := time.NewTicker(progressEvery)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		p.print(w, width, ticker.C, stop, func() time.Duration { return time.Since(started) })
	}()
	p.stop = func() {
		ticker.Stop()
		close(stop)
		<-stopped
	}
	return p
}

// set shows another step.
func (p *progressLine) set(s progress.Step) { p.step.Store(s) }

// in returns a context whose jobs report their steps to the line, if it is shown.
func (p *progressLine) in(ctx context.Context) context.Context {
	if !p.shown {
		return ctx
	}
	return progress.With(ctx, p.set)
}

// end clears the line. It is called once.
func (p *progressLine) end() { p.stop() }

// print updates the line at each tick if it changed, and clears it at the end.
func (p *progressLine) print(w io.Writer, width func() int, ticks <-chan time.Time, stop <-chan struct{},
	since func() time.Duration,
) {
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
			if row := p.row(d, width()-1); row != shown {
				fmt.Fprint(w, "\r\x1b[K"+row)
				shown = row
			}
		}
	}
}

// row returns the line after some time, no wider than width, since a wrapped line cannot be cleared.
func (p *progressLine) row(d time.Duration, width int) string {
	step, _ := p.step.Load().(progress.Step)
	row := fmt.Sprintf("lintel: %s, %d s", step, int(d.Seconds()))
	if step.Name == "" {
		return row + " ..."
	}
	return output.ClipWidth(output.LogLine(row+": "+step.Name), width)
}

// watched is a sandbox whose jobs show on the line what is being done.
type watched struct {
	remotes.Sandbox
	line  *progressLine
	doing string
}

// Run runs a job in the sandbox.
func (s watched) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	s.line.set(progress.Step{Doing: s.doing})
	rep, err := s.Sandbox.Run(ctx, change)
	if err == nil && rep != nil && rep.Wanted != nil {
		s.line.set(progress.Step{Doing: "fetching remote sources"})
	}
	return rep, err
}
