package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/origin"
)

// A value that Flux substitutes is placed where the variable is set or used, whichever the change edits.
func TestSubstitutedValueIsPlacedWhereItIsSet(t *testing.T) {
	link := func(path, role string) origin.Link {
		return origin.Link{Path: path, StartLine: 7, EndLine: 7, Role: role}
	}
	for name, tc := range map[string]struct {
		changed string
		role    string
		chain   []origin.Link
		want    string
	}{
		"the value":                                {"ks.yaml", "", []origin.Link{link("ks.yaml", "substitute")}, "ks.yaml:7"},
		"one of several values":                    {"b.yaml", "", []origin.Link{link("a.yaml", "substitute"), link("b.yaml", "substitute")}, "b.yaml:7"},
		"the change edits the line, too":           {"pvc.yaml ks.yaml", "", []origin.Link{link("ks.yaml", "substitute")}, "pvc.yaml:3"},
		"the change edits neither":                 {"x.yaml", "", []origin.Link{link("ks.yaml", "substitute")}, "pvc.yaml:3"},
		"the change edits a value of another role": {"base.yaml", "", []origin.Link{link("base.yaml", "resource")}, "pvc.yaml:3"},
		"the whole value":                          {"x.yaml", "substitute", []origin.Link{link("ks.yaml", "resource")}, "pvc.yaml:3"},
		"the change edits what uses it":            {"ks.yaml", "substitute", []origin.Link{link("ks.yaml", "resource")}, "ks.yaml:7"},
	} {
		changed := func(path string) bool { return strings.Contains(tc.changed, path) }
		p := Substituted(origin.Place{Path: "pvc.yaml", StartLine: 3, EndLine: 3, Role: tc.role, Chain: tc.chain}, changed)
		if got := fmt.Sprintf("%s:%d", p.Path, p.StartLine); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestDiffers(t *testing.T) {
	for _, tc := range []struct{ now, was, want string }{
		{"web:2", "web:1", "2"}, {"web:22", "web:2", "2"}, {"web:2", "web:22", ""}, {"a", "b", "a"}, {"same", "same", ""},
		{"é", "è", "\xa9"},
	} {
		from, to := Differs(map[string]any{"a": tc.now}, "/a", map[string]any{"a": tc.was}, "/a")
		if got := tc.now[from:to]; got != tc.want {
			t.Errorf("%q and %q: %q differs, want %q", tc.now, tc.was, got, tc.want)
		}
	}
	if from, to := Differs(map[string]any{"a": "x"}, "/a", map[string]any{}, "/a"); from != 0 || to != 0 {
		t.Errorf("what is new differs in %d to %d", from, to)
	}
}
