package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/progress"
)

// The line of progress comes after a second, counts, tells what is done and under way in one row, and is cleared; short work
// leaves nothing.
func TestProgress(t *testing.T) {
	const clear = "\r\x1b[K"
	for _, c := range []struct {
		name  string
		ticks []time.Duration
		want  string
	}{
		{"short", []time.Duration{500 * time.Millisecond}, ""},
		{"long", []time.Duration{500 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2600 * time.Millisecond},
			clear + "lintel: checking, 1 s ..." + clear + "lintel: fetching, 1 of 3, 1 s: a\\u001b[…" + clear +
				"lintel: fetching, 1 of 3, 2 s: a\\u001b[…" + clear},
	} {
		var out strings.Builder
		ticks, stop, done := make(chan time.Time), make(chan struct{}), make(chan struct{})
		line := showProgress(&out, "checking")
		width := func() int { return 41 }
		var at atomic.Int64
		go func() {
			defer close(done)
			line.print(&out, width, ticks, stop, func() time.Duration { return time.Duration(at.Load()) })
		}()
		for _, d := range c.ticks {
			at.Store(int64(d))
			ticks <- time.Time{}
			ticks <- time.Time{} // the one before was dealt with
			if d == time.Second {
				ticks <- time.Time{}
				line.set(progress.Step{Doing: "fetching", Done: 1, Of: 3, Name: "a\x1b[2Jname that is too long"})
			}
		}
		close(stop)
		<-done
		if got := out.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What is wanted from outside is a phase of its own.
func TestProgressPhases(t *testing.T) {
	line := showProgress(&strings.Builder{}, "starting")
	for _, c := range []struct{ wanted, phase string }{{"", "rendering"}, {"{}", "fetching remote sources"}} {
		rep := &report.Report{}
		if c.wanted != "" {
			rep.Wanted = json.RawMessage(c.wanted)
		}
		if _, err := (watched{answering{rep: rep}, line, "rendering"}).Run(t.Context(), report.Change{}); err != nil {
			t.Fatal(err)
		}
		if got := line.step.Load(); got != (progress.Step{Doing: c.phase}) {
			t.Errorf("%q: %v, want %s", c.wanted, got, c.phase)
		}
	}
}

type answering struct {
	remotes.Sandbox
	rep *report.Report
}

func (a answering) Run(context.Context, report.Change) (*report.Report, error) { return a.rep, nil }

// What is no terminal gets no line.
func TestProgressIsSilentWithoutTerminal(t *testing.T) {
	var out strings.Builder
	line := showProgress(&out, "checking")
	if progress.From(line.in(t.Context())) != nil {
		t.Error("jobs tell their steps to nobody")
	}
	line.end()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
