package rendertest

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/origin"
)

// changed applies one edit to a text.
func changed(t *testing.T, text string, e edit) string {
	t.Helper()
	out, ok := apply(strings.Split(text, "\n"), []edit{e})
	if !ok {
		t.Fatalf("%+v does not apply", e)
	}
	return string(out)
}

func TestRemovals(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		element    bool
		want       []string
	}{
		{"a field", "a:\n  b: 1\n  c: 2\n", 2, false, []string{"a:\n  c: 2\n", ""}},
		{"with what it holds", "a:\n  b:\n    x: 1\n  c: 2\n", 2, false, []string{"a:\n  c: 2\n", ""}},
		{"a list below its key", "a:\n- x\n- y\nb: 1\n", 1, false, []string{"b: 1\n"}},
		{"an only child goes with its parent", "a:\n  b: 1\nc: 2\n", 2, false, []string{"c: 2\n"}},
		{"the first field of an element", "a:\n- b: 1\n  c: 2\n", 2, false, []string{"a:\n- c: 2\n"}},
		{"an element", "a:\n- b: 1\n  c: 2\n- d: 3\n", 2, true, []string{"a:\n- d: 3\n", ""}},
		{"a document at last", "a: 1\n---\nb: 2\n", 3, false, []string{"a: 1\n---\n", "a: 1\n---"}},
		{"no such line", "a: 1", 9, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := removals(strings.Split(c.text, "\n"), "f", c.line, c.element)
			if len(list) < len(c.want) || c.want == nil && len(list) > 0 {
				t.Fatalf("%d removals: %+v", len(list), list)
			}
			for i, want := range c.want {
				if got := changed(t, c.text, list[i]); got != want {
					t.Errorf("removal %d: got %q, want %q", i, got, want)
				}
			}
		})
	}
}

func TestInsertion(t *testing.T) {
	for _, c := range []struct {
		name, text string
		place      origin.Place
		element    bool
		want       string // empty: it cannot be done
	}{
		{"block", "a:\n    b: 1\n", origin.Place{StartLine: 1, StartColumn: 1, EndColumn: 2, Missing: "/x"}, false,
			"a:\n    z1q: z1q\n    b: 1\n"},
		{"flow", "a: {b: 1}", origin.Place{StartLine: 1, StartColumn: 1, EndColumn: 2, Missing: "/x"}, false,
			`a: {"z1q": "z1q", b: 1}`},
		{"empty flow", "a: {}", origin.Place{StartLine: 1, StartColumn: 1, EndColumn: 2, Missing: "/x"}, false,
			`a: {"z1q": "z1q"}`},
		{"element", "- a:\n    b: 1\n", origin.Place{StartLine: 1, StartColumn: 3, EndColumn: 4, Missing: "/x"}, true,
			"- a:\n    b: 1\n  z1q: z1q\n"},
		{"below a missing map", "a:\n  b: 1\n", origin.Place{StartLine: 1, StartColumn: 1, EndColumn: 2, Missing: "/m~1n/x"},
			false, "a:\n  m/n:\n    z1q: z1q\n  b: 1\n"},
		{"an alias", "a: *b", origin.Place{StartLine: 1, StartColumn: 1, EndColumn: 2, Missing: "/x"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, ok := insertion(strings.Split(c.text, "\n"), c.place, 1, c.element)
			got := ""
			if ok {
				got = changed(t, c.text, e)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
