package explain

import (
	"slices"
	"testing"
)

// Where nobody wants to know, a log is nil, takes nothing and has nothing.
func TestNilLog(t *testing.T) {
	var l *Log
	l.Within("/foreach/", 1)()
	l.Add(Step{Part: Deny})
	if steps, more := l.Take(); l.On() || l.Steps() != nil || steps != nil || more != 0 {
		t.Errorf("on %t, steps %v, %v and %d more", l.On(), l.Steps(), steps, more)
	}
}

// A step stands where the parts around it say, until each of them ends.
func TestWithin(t *testing.T) {
	l := &Log{}
	outer := l.Within("/foreach/", 1)
	inner := l.Within("/foreach/", 0)
	l.Add(Step{At: "/deny"})
	inner()
	l.Add(Step{At: "/pattern"})
	outer()
	l.Add(Step{At: "/match"})
	var at []string
	for _, s := range l.Steps() {
		at = append(at, s.At)
	}
	if want := []string{"/foreach/1/foreach/0/deny", "/foreach/1/pattern", "/match"}; !slices.Equal(at, want) {
		t.Errorf("steps at %v, want %v", at, want)
	}
}

// A log keeps so many steps and counts the others; after Take it begins anew.
func TestTakeCountsWhatIsTooMuch(t *testing.T) {
	l := &Log{}
	l.Within("/foreach/", 1)
	l.Add(make([]Step, maxSteps+3)...)
	if steps, more := l.Take(); len(steps) != maxSteps || more != 3 {
		t.Errorf("%d steps and %d more, want %d and 3", len(steps), more, maxSteps)
	}
	l.Add(Step{At: "/deny"})
	if steps, more := l.Take(); len(steps) != 1 || steps[0].At != "/deny" || more != 0 {
		t.Errorf("after Take: %v and %d more", steps, more)
	}
}
