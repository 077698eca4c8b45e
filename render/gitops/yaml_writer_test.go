package gitops

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

// Written YAML is read as the same value, whatever its texts contain, and each of its lines has a place.
func TestWrittenYAMLIsReadUnchanged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "yes", " ", "  ", "\n", "\n\n", "\t", "#", ": ", "- ", "'", `"`, "\u00e9", "\u2028", "{{", "%", "0",
		"1_0", "0x1", "~", "<<", "=", "1:20", "2001-01-01", "|", "&a", "*a", "!b", "\r", "\x00", "\ufeff", "---\n"}
	text := func() string {
		var b strings.Builder
		for range random.IntN(5) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch kind := random.IntN(6); {
		case kind == 0 && depth < 3:
			m := map[string]any{}
			for range random.IntN(3) {
				m[text()] = value(depth + 1)
			}
			return m
		case kind == 1 && depth < 3:
			list := []any{}
			for range random.IntN(3) {
				list = append(list, value(depth+1))
			}
			return list
		case kind == 2:
			return []any{nil, true, 1.5, float64(7)}[random.IntN(4)]
		}
		return text()
	}
	for range 3000 {
		want := map[string]any{"x": value(0), "y": value(0)}
		f := made(want, Position{Path: "k.yaml", Line: 3})
		v := &Virtual{}
		if err := v.append(f, f.Keys); err != nil {
			t.Fatalf("%q: %v", want, err)
		}
		var got map[string]any
		if err := sigsyaml.Unmarshal(v.Data, &got); err != nil {
			t.Fatalf("%q: %v\n%s", want, err, v.Data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", diff, v.Data)
		}
		if len(v.Written) != strings.Count(string(v.Data), "\n") ||
			slices.ContainsFunc(v.Written, func(l Line) bool { return l.At.Line != 3 || !l.Moved }) {
			t.Fatal(fmt.Sprintf("%+v", v.Written), "\n", string(v.Data))
		}
	}
}
