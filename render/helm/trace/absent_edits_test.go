package trace

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/doc"
	"go.yaml.in/yaml/v3"
)

// wished are fields that policies often require, below a pod template and below a container.
var wished = []struct {
	container bool
	keys      string
	value     any
}{
	{false, "securityContext/runAsNonRoot", true},
	{false, "securityContext/fsGroup", 1234},
	{false, "securityContext/seccompProfile/type", "RuntimeDefault"},
	{false, "priorityClassName", "zz"},
	{false, "nodeSelector/zz", "zz"},
	{false, "tolerations/0/key", "zz"},
	{false, "topologySpreadConstraints/0/maxSkew", 1},
	{false, "automountServiceAccountToken", false},
	{true, "resources/limits/memory", "77Mi"},
	{true, "resources/requests/cpu", "77m"},
	{true, "securityContext/runAsNonRoot", true},
	{true, "securityContext/readOnlyRootFilesystem", true},
	{true, "securityContext/capabilities/drop/0", "ALL"},
	{true, "securityContext/allowPrivilegeEscalation", false},
	{true, "livenessProbe/httpGet/path", "/zz"},
	{true, "readinessProbe/httpGet/path", "/zz"},
}

// gap is a missing field.
type gap struct {
	template, object string
	above            []string // the existing parent mapping
	at, n            int
	keys             []string
	value            any
}

func (g gap) path() string { return "/" + strings.Join(append(slices.Clone(g.above), g.keys...), "/") }

func gapsIn(name, text string) []gap {
	var out []gap
	d := doc.NewOffsets(text)
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return out
		}
		if len(doc.Content) == 0 {
			continue
		}
		root := doc.Content[0]
		object := field(root, "kind") + "/" + field(root, "metadata", "name")
		switch field(root, "kind") {
		case "Deployment", "StatefulSet", "DaemonSet":
		default:
			continue
		}
		for _, w := range wished {
			path := []string{"spec", "template", "spec"}
			if w.container {
				path = append(path, "containers", "0")
			}
			n := get(root, path...)
			if n == nil || n.Kind != yaml.MappingNode {
				continue
			}
			g := gap{template: name, object: object, above: path, keys: strings.Split(w.keys, "/"), value: w.value}
			for len(g.keys) > 0 {
				next := get(n, g.keys[0])
				if next == nil || next.Kind != yaml.MappingNode {
					break
				}
				n, g.above, g.keys = next, append(slices.Clone(g.above), g.keys[0]), g.keys[1:]
			}
			if len(g.keys) == 0 || get(n, g.keys[0]) != nil {
				continue
			}
			g.at = d.Of(n)
			g.n = max(2, end(d, n)-g.at)
			out = append(out, g)
		}
	}
}

// end returns approximately where the last scalar below a node ends: at the end of its line.
func end(d doc.Offsets, n *yaml.Node) int {
	at := d.Of(n)
	for _, c := range n.Content {
		at = max(at, end(d, c))
	}
	if len(n.Content) > 0 {
		return at
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return d.Lines[min(len(d.Lines)-1, n.Line+strings.Count(n.Value, "\n"))]
	}
	rest, _, _ := strings.Cut(d.Text[min(at, len(d.Text)):], "\n")
	return at + len(rest)
}

func get(n *yaml.Node, path ...string) *yaml.Node {
	for _, k := range path {
		var next *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == k {
					next = n.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(k); err == nil && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}

// TestPublicAbsentFields sets the values that Absent returns for missing fields, and renders with Helm.
func TestPublicAbsentFields(t *testing.T) {
	total := map[string]int{}
	for r := range sampled(t) {
		if strings.HasSuffix(r.label, "ml") {
			continue
		}
		out, err := r.render(t)
		if err != nil {
			continue
		}
		tr, err := r.trace(t, out)
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, name := range slices.Sorted(maps.Keys(out)) {
			for _, g := range gapsIn(name, out[name]) {
				if tried++; tried > 40 {
					break
				}
				total["absent"]++
				cs := tr.Absent(name, g.at, g.n, g.keys)
				verdict := "no candidate"
				for i, c := range cs[:min(3, len(cs))] {
					if r.sets(t, g, c) {
						verdict = "confirmed"
						if i > 0 {
							verdict = "confirmed second or third"
						}
						break
					}
					verdict = "not confirmed"
				}
				total[verdict]++
				if verdict != "confirmed" {
					t.Logf("%s: %s: %s %s %s: %v", verdict, r.label, name, g.object, g.path(), cs[:min(3, len(cs))])
				}
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%s: %d", k, total[k])
	}
}

// sets reports whether setting a candidate makes the field appear.
func (r release) sets(t *testing.T, g gap, c Candidate) bool {
	m := r.merged()
	for _, need := range c.Needs {
		if old, ok := lookupPath(m, need); !ok || old == nil || old == false || old == "" {
			setPath(m, need, true)
		}
	}
	tries := []any{g.value}
	if c.Switch {
		tries = []any{true, "zz", 7}
	} else if old, _ := lookupPath(m, c.Path); old != nil {
		if _, ok := old.(string); ok {
			tries = append(tries, g.value)
		}
	}
	for _, v := range tries {
		e := r
		e.values = deep(m).(map[string]any)
		if !setDeep(e.values, c.Path, v) {
			return false
		}
		out, err := e.render(t)
		if err != nil {
			continue
		}
		for _, now := range leavesIn(g.template, out[g.template]) {
			if now.object == g.object && strings.HasPrefix(now.index, g.path()) {
				return true
			}
		}
	}
	return false
}

// setDeep is setPath, but makes lists for keys that are numbers.
func setDeep(m map[string]any, p []string, v any) bool {
	for i := len(p) - 1; i > 0; i-- {
		if old, _ := lookupPath(m, p[:i]); container2(old) {
			return setPath(m, p[:i+1], v)
		}
		if p[i] == "0" {
			v = []any{v}
		} else {
			v = map[string]any{p[i]: v}
		}
	}
	return setPath(m, p[:1], v)
}

func container2(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return true
	case []any:
		return len(v) > 0
	}
	return false
}
