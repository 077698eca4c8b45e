package view

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestLineEdits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		make := func() (list []string) {
			for range random.IntN(12) {
				list = append(list, string(rune('a'+random.IntN(4))))
			}
			return list
		}
		was, now := make(), make()
		var a, b []string
		kept, old, new := 0, was, now
		for _, e := range LineEdits(was, now) {
			if e != '+' {
				a, old = append(a, old[0]), old[1:]
			}
			if e != '-' {
				b, new = append(b, new[0]), new[1:]
			}
			if e == ' ' {
				kept++
				if a[len(a)-1] != b[len(b)-1] {
					t.Fatalf("%q -> %q keeps what differs", was, now)
				}
			}
		}
		if len(old)+len(new) > 0 {
			t.Fatalf("%q -> %q: %q and %q", was, now, a, b)
		}
		if want := common(was, now); kept != want {
			t.Fatalf("%q -> %q keeps %d lines, want %d", was, now, kept, want)
		}
	}
}

// common returns the length of the longest common subsequence of lines.
func common(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + common(a[1:], b[1:])
	}
	return max(common(a[1:], b), common(a, b[1:]))
}

// Comparing lists in which everything differs takes linear time.
func TestLineEditsLong(t *testing.T) {
	var was, now []string
	for i := range 50_000 {
		was, now = append(was, fmt.Sprint("a", i)), append(now, fmt.Sprint("b", i))
	}
	if got := LineEdits(was, now); len(got) != 100_000 {
		t.Errorf("%d lines", len(got))
	}
}
