package bump

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A difference holds both texts, whole, and says of no line that it changes where a shorter difference keeps it.
func TestDifference(t *testing.T) {
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
		kept := 0
		for _, e := range difference(was, now) {
			if e.sign != '+' {
				a = append(a, e.line)
			}
			if e.sign != '-' {
				b = append(b, e.line)
			}
			if e.sign == ' ' {
				kept++
			}
		}
		if !slices.Equal(a, was) || !slices.Equal(b, now) {
			t.Fatalf("%q -> %q: %q and %q", was, now, a, b)
		}
		if want := common(was, now); kept != want {
			t.Fatalf("%q -> %q keeps %d lines, want %d", was, now, kept, want)
		}
	}
}

// common is how many lines the longest common sequence has.
func common(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + common(a[1:], b[1:])
	}
	return max(common(a[1:], b), common(a, b[1:]))
}

func TestUnified(t *testing.T) {
	var was, now []string
	for i := range 40 {
		was, now = append(was, fmt.Sprint(i)), append(now, fmt.Sprint(i))
	}
	now[4], now[30] = "x", "y"
	now = slices.Insert(now, 31, "z")
	text, left := unified(strings.Join(was, "\n")+"\n", strings.Join(now, "\n")+"\n", 100, 1000)
	want := "@@ -2,7 +2,7 @@\n 1\n 2\n 3\n-4\n+x\n 5\n 6\n 7\n" +
		"@@ -28,7 +28,8 @@\n 27\n 28\n 29\n-30\n+y\n+z\n 31\n 32\n 33\n"
	if text != want || left != 0 {
		t.Errorf("%d left out, %s", left, text)
	}
	text, left = unified(strings.Join(was, "\n"), strings.Join(now, "\n"), 4, 1000)
	if left != 15 || strings.Count(text, "\n") != 4 {
		t.Errorf("%d left out, %s", left, text)
	}
}

// What differs everywhere costs no more than to look at it.
func TestDifferenceLong(t *testing.T) {
	var was, now []string
	for i := range 50_000 {
		was, now = append(was, fmt.Sprint("a", i)), append(now, fmt.Sprint("b", i))
	}
	if got := difference(was, now); len(got) != 100_000 {
		t.Errorf("%d lines", len(got))
	}
}
