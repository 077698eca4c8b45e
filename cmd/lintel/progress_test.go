package main

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The line of progress comes after a second, counts, and is cleared; short work leaves nothing.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name  string
		ticks []time.Duration
		want  string
	}{
		{"short", []time.Duration{500 * time.Millisecond}, ""},
		{"long", []time.Duration{500 * time.Millisecond, time.Second, 2600 * time.Millisecond},
			"\r\x1b[Klintel: checking, 1 s ...\r\x1b[Klintel: checking, 2 s ...\r\x1b[K"},
	} {
		var out strings.Builder
		ticks, stop, done := make(chan time.Time), make(chan struct{}), make(chan struct{})
		var at atomic.Int64
		go func() {
			defer close(done)
			progress(&out, "checking", ticks, stop, func() time.Duration { return time.Duration(at.Load()) })
		}()
		for _, d := range c.ticks {
			at.Store(int64(d))
			ticks <- time.Time{}
			ticks <- time.Time{} // the first was dealt with
		}
		close(stop)
		<-done
		if got := out.String(); dedupe(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// dedupe drops a line that is written twice.
func dedupe(s string) string {
	var out []string
	for _, part := range strings.SplitAfter(s, "...") {
		if len(out) == 0 || out[len(out)-1] != part {
			out = append(out, part)
		}
	}
	return strings.Join(out, "")
}

// What is no terminal gets no line.
func TestProgressElsewhere(t *testing.T) {
	var out strings.Builder
	showProgress(&out, "checking")()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
