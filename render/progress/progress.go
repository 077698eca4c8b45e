// Package progress says what of a job is under way to whoever waits for it. Where nobody waits, saying it does nothing.
package progress

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Step is what is under way.
type Step struct {
	Doing string `json:"doing"`          // the kind of work: "rendering"
	Done  int    `json:"done,omitempty"` // pieces of it that are finished
	Of    int    `json:"of,omitempty"`   // all pieces that are known; 0: the work is not counted
	Name  string `json:"name,omitempty"` // of the piece that was begun last
}

// String is "rendering, 3 of 20".
func (s Step) String() string {
	if s.Of == 0 {
		return s.Doing
	}
	return fmt.Sprintf("%s, %d of %d", s.Doing, s.Done, s.Of)
}

// Func is told each step; nil is told nothing. It is called by several goroutines at a time.
type Func func(Step)

type key struct{}

// With returns a context whose jobs tell their steps.
func With(ctx context.Context, tell Func) context.Context {
	if tell == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, tell)
}

// From returns who is told the steps of a context's jobs, nil where that is nobody.
func From(ctx context.Context) Func {
	tell, _ := ctx.Value(key{}).(Func)
	return tell
}

// Seldom returns a teller that passes on a step when the time of the one before is at least pause ago, and drops others.
func (t Func) Seldom(pause time.Duration, now func() time.Time) Func {
	if t == nil {
		return nil
	}
	start := now()
	var next atomic.Int64 // after start
	return func(s Step) {
		at := int64(now().Sub(start))
		if due := next.Load(); at >= due && next.CompareAndSwap(due, at+int64(pause)) {
			t(s)
		}
	}
}

// Counter counts the pieces of some work. It is safe for concurrent use; nil counts nothing.
type Counter struct {
	tell     Func
	doing    string
	done, of atomic.Int64
}

// Count returns a counter of n pieces.
func (t Func) Count(doing string, n int) *Counter {
	if t == nil {
		return nil
	}
	c := &Counter{tell: t, doing: doing}
	c.Add(n)
	return c
}

// Add counts n more pieces that are to be done.
func (c *Counter) Add(n int) {
	if c != nil {
		c.of.Add(int64(n))
	}
}

// Begin tells that a piece is begun. The caller calls what it returns at the end of the piece.
func (c *Counter) Begin(name string) (end func()) {
	if c == nil {
		return func() {}
	}
	c.tell(Step{Doing: c.doing, Done: int(c.done.Load()), Of: int(c.of.Load()), Name: name})
	return func() { c.done.Add(1) }
}
