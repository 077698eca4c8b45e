package gitops

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// layersMaker makes random layers. Each scalar names its own line: "v7" is on line 7.
type layersMaker struct {
	*rand.Rand
	line int
	file strings.Builder
}

func (m *layersMaker) write(format string, args ...any) {
	m.line++
	fmt.Fprintf(&m.file, format+"\n", args...)
}

func (m *layersMaker) key() string { return string(rune('a' + m.IntN(4))) }

// object writes a map or a list in flow style, with the mark of its line.
func (m *layersMaker) object(indent string, depth int) {
	keys := []string{"a", "b", "c", "d"}
	m.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, k := range keys[:1+m.IntN(3)] {
		switch n := m.IntN(6); {
		case n < 2 && depth < 3:
			m.write("%s%s:", indent, k)
			m.object(indent+"  ", depth+1)
		case n == 2:
			m.write("%s%s:", indent, k)
			for range 1 + m.IntN(3) {
				m.write("%s- v%d", indent, m.line+1)
			}
		default:
			m.write("%s%s: v%d", indent, k, m.line+1)
		}
	}
}

func (m *layersMaker) path() string {
	p := m.key()
	for range m.IntN(3) {
		if m.IntN(3) == 0 {
			p += fmt.Sprintf("[%d]", m.IntN(3))
		} else {
			p += "." + m.key()
		}
	}
	return p
}

// TestPlacesOfRandomLayers checks with random layers that the place of each value is the line that the value names.
func TestPlacesOfRandomLayers(t *testing.T) {
	made, refused := 0, 0
	for seed := range uint64(500) {
		m := &layersMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
		m.write("apiVersion: %s/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux}\nspec:\n  chartRef: {kind: "+
			"OCIRepository, name: tag}\n  valuesFrom:", helmGroup)
		m.line += 5
		type set struct{ path, name string }
		var sets []set
		for i := range 1 + m.IntN(3) {
			if name := fmt.Sprintf("m%d", i); m.IntN(3) == 0 {
				p := m.path()
				m.write("  - {kind: ConfigMap, name: %s, targetPath: '%s'}", name, p)
				sets = append(sets, set{p, name})
			} else {
				m.write("  - {kind: ConfigMap, name: %s}", name)
				sets = append(sets, set{"", name})
			}
		}
		if m.IntN(4) > 0 {
			m.write("  values:")
			m.object("    ", 0)
		}
		for _, s := range sets {
			m.write("---\nkind: ConfigMap\nmetadata: {name: %s, namespace: flux}\ndata:", s.name)
			m.line += 3
			if s.path != "" {
				m.write("  values.yaml: v%d", m.line+1)
				continue
			}
			m.write("  values.yaml: |")
			m.object("    ", 0)
		}
		archive := "-- all.yaml --\n" + m.file.String() + fluxSourceObjects
		f, d := oneRelease(t, archive)
		v, err := d.Release.Values(f, nil)
		if err != nil {
			refused++ // the path leads into a scalar
			continue
		}
		made++
		if v.tagged == nil {
			t.Fatalf("%d: the tagged values have another shape\n%s", seed, archive)
		}
		for _, path := range leavesOf(v.Map, nil) {
			at, exact := v.Origin(path)
			value := valueAt(v.Map, path)
			if want := fmt.Sprintf("v%d", at.Line); !exact || value != nil && value != want {
				t.Fatalf("%d: %v is %v, and its place %s (%v)\n%s", seed, path, value, at, exact, archive)
			}
			for _, old := range v.Chain(path) {
				if old == at {
					t.Fatalf("%d: %v is behind itself\n%s", seed, path, archive)
				}
			}
			v.Unsure(path)
			v.Origin(path[:len(path)-1])
			v.Origin(append(slices.Clip(path), "x"))
		}
	}
	if made < 250 || refused < 5 {
		t.Errorf("%d made, %d refused", made, refused)
	}
}

func composed(t *testing.T, rule rule, layers []Layer) {
	f := files{"f": "a: 1\n"}
	v, err := (&Release{Rule: rule, Layers: layers}).Values(f, nil)
	if err != nil {
		return
	}
	if v.tagged == nil {
		t.Fatal("the tagged values have another shape")
	}
	for _, path := range leavesOf(v.Map, nil) {
		v.Origin(path)
		v.Chain(path)
		v.Unsure(path)
	}
}

func textLayer(text string) Layer {
	return Layer{Name: "text", Value: made(text, Position{Path: "f", Line: 1})}
}

func FuzzParameters(f *testing.F) {
	f.Add("a: {b: [1, null]}", "a.b[1]", "x", "a.b[1][0]", "{y,z}", false)
	f.Add("a: null", "a.b", "x", "c", "null", true)
	f.Add("", `a\.b`, `x\,y`, "a[0].b", "", false)
	f.Fuzz(func(t *testing.T, base, name1, value1, name2, value2 string, text bool) {
		kind := setLayer
		if text {
			kind = stringLayer
		}
		at := Position{Path: "f", Line: 1}
		composed(t, argoRule, []Layer{textLayer(base), {Kind: setLayer, Set: name1, Value: made(listed(value1), at)},
			{Kind: kind, Set: name2, Value: made(listed(value2), at)},
			{Kind: fileLayer, Set: name1 + "x", File: "f"}})
	})
}

func FuzzValuesFrom(f *testing.F) {
	f.Add("a: {b: c}", "a.b", "'5'", "a: {b: d}", false)
	f.Add("a: [null]\n---\nb: c", "a[0][1]", "{x,y}", "a: {b: d}", false)
	f.Add("on: yes", "a", "a,b=[c]{d}", "", true)
	f.Fuzz(func(t *testing.T, first, target, value, last string, verbatim bool) {
		kind := fluxLayer
		if verbatim {
			kind = literalLayer
		}
		one, spec := textLayer(first), textLayer(last)
		one.First, spec.Name = true, specValues
		at := Position{Path: "f", Line: 1}
		composed(t, fluxRule, []Layer{one, {Kind: kind, Set: target, Value: made(value, at)}, spec})
	})
}
