package progress

import (
	"slices"
	"testing"
	"time"
)

// A counter says what is done, what there is and what was begun; pieces that turn up later count, too.
func TestCounterTellsWhatIsDone(t *testing.T) {
	var told []Step
	c := Func(func(s Step) { told = append(told, s) }).Count("rendering", 2)
	end := c.Begin("a")
	end()
	c.Add(3)
	c.Begin("b")()
	c.Begin("c")
	want := []Step{{"rendering", 0, 2, "a"}, {"rendering", 1, 5, "b"}, {"rendering", 2, 5, "c"}}
	if !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
	if got := told[2].String(); got != "rendering, 2 of 5" {
		t.Errorf("%q", got)
	}
}

// Where nobody waits, counting does nothing.
func TestNobodyIsTold(t *testing.T) {
	c := From(With(t.Context(), nil)).Seldom(time.Second, time.Now).Count("rendering", 2)
	c.Add(1)
	c.Begin("a")()
	if c != nil {
		t.Errorf("%v", c)
	}
}

// Steps that follow each other faster than the pause are dropped.
func TestSeldomDropsSteps(t *testing.T) {
	var told []string
	now := time.Unix(1, 0)
	tell := From(With(t.Context(), func(s Step) { told = append(told, s.Name) })).Seldom(time.Second, func() time.Time { return now })
	for _, c := range []struct {
		after time.Duration
		name  string
	}{{0, "a"}, {999 * time.Millisecond, "b"}, {time.Millisecond, "c"}, {0, "d"}, {time.Minute, "e"}} {
		now = now.Add(c.after)
		tell(Step{Name: c.name})
	}
	if want := []string{"a", "c", "e"}; !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
}
