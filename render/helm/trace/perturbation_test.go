package trace

import (
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/doc"
	"go.yaml.in/yaml/v3"
)

// leaf is a scalar of a rendered object with its place in the template's output.
type leaf struct {
	template, object, path string
	doc, index             string // number of the document, and path with indexes instead of names
	at, n                  int
	value                  string
}

// ids returns two keys of a field: with names and with numbers.
func (l leaf) ids() [2]string {
	return [2]string{l.template + "\x00" + l.object + "\x00" + l.path, l.template + "\x00" + l.doc + "\x00" + l.index}
}

// leavesOf returns the scalars in the output of Helm.
func leavesOf(out map[string]string) []leaf {
	var all []leaf
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if b := path.Base(name); strings.HasPrefix(b, "_") || !strings.HasSuffix(b, "ml") {
			continue
		}
		all = append(all, leavesIn(name, out[name])...)
	}
	return all
}

func leavesIn(name, text string) []leaf {
	var all []leaf
	d := doc.NewOffsets(text)
	objects, number := map[string]int{}, 0
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var root yaml.Node
		if err := dec.Decode(&root); err != nil {
			break
		}
		if len(root.Content) == 0 {
			continue
		}
		object := field(root.Content[0], "kind") + "/" + field(root.Content[0], "metadata", "name")
		if objects[object]++; objects[object] > 1 {
			object += fmt.Sprint("#", objects[object])
		}
		number++
		walkLeaves(root.Content[0], "", "", func(p, index string, n *yaml.Node) {
			at := d.Of(n)
			if at >= len(text) || n.Anchor != "" {
				return
			}
			l := leaf{template: name, object: object, path: p, at: at, value: n.Value, index: index, doc: strconv.Itoa(number)}
			rest := text[at:]
			switch {
			case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
				l.n = doc.QuotedLength(rest)
			case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
				end := min(n.Line+max(1, strings.Count(strings.TrimRight(n.Value, "\n"), "\n")+1), len(d.Lines)-1)
				l.at = min(len(text), d.Lines[min(n.Line, len(d.Lines)-1)])
				l.n = max(0, d.Lines[end]-l.at)
			case strings.HasPrefix(rest, n.Value):
				l.n = len(n.Value)
			default:
				l.n = 1
			}
			if l.n > 0 {
				all = append(all, l)
			}
		})
	}
	return all
}

func field(n *yaml.Node, names ...string) string {
	for _, name := range names {
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
			if n.Content[i].Value == name {
				next = n.Content[i+1]
			}
		}
		if next == nil {
			return ""
		}
		n = next
	}
	return n.Value
}

func walkLeaves(n *yaml.Node, at, index string, f func(path, index string, n *yaml.Node)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			walkLeaves(n.Content[i+1], at+"/"+n.Content[i].Value, index+"/"+n.Content[i].Value, f)
		}
	case yaml.SequenceNode:
		names := map[string]int{}
		for i, e := range n.Content {
			id := strconv.Itoa(i)
			if name := field(e, "name"); name != "" {
				id = fmt.Sprint("[", name, "#", names[name], "]")
				names[name]++
			}
			walkLeaves(e, at+"/"+id, index+"/"+strconv.Itoa(i), f)
		}
	case yaml.ScalarNode:
		f(at, index, n)
	}
}

// TestPublicPlaces edits each place that At returns, renders with Helm, and checks whether the field changes.
func TestPublicPlaces(t *testing.T) {
	each := 40
	if s := os.Getenv("LINTEL_PLACES"); s != "" {
		each, _ = strconv.Atoi(s)
	}
	rng := rand.New(rand.NewSource(1))
	total := map[string]int{}
	seen := map[string]map[string]bool{}
	for r := range sampled(t) {
		out, err := r.render(t)
		if err != nil {
			continue
		}
		tr, err := r.trace(t, out)
		if err != nil {
			t.Fatal(err)
		}
		leaves := leavesOf(out)
		total["leaves"] += len(leaves)
		base := regexp.MustCompile("/[^/]*ya?ml$").ReplaceAllString(r.label, "")
		if seen[base] == nil {
			seen[base] = map[string]bool{}
		}
		seen := seen[base]
		var undecidable []leaf
		var picked []leaf
		for _, i := range rng.Perm(len(leaves)) {
			l := leaves[i]
			if !tr.Accepted(l.template) {
				continue
			}
			os := tr.At(l.template, l.at, l.n)
			if len(os) == 0 {
				total["without origin"]++
				t.Logf("without origin: %s: %s %s %s %q", r.label, l.template, l.object, l.path, l.value)
				continue
			}
			if os[0].Role == Condition || os[0].Role == Fallback {
				total["only conditions"]++
				if total["only conditions"] < 20 {
					t.Logf("only conditions: %s: %s %s %s %q %v", r.label, l.template, l.object, l.path, l.value, os[0])
				}
				continue
			}
			if !slices.ContainsFunc(os, func(o Origin) bool { return o.Kind == Value || o.Kind == Key || o.Kind == Lookup }) &&
				len(undecidable) < 200 {
				undecidable = append(undecidable, l)
			}
			key := fmt.Sprint(os[0].Kind, os[0].Path, os[0].Template, os[0].Offset, os[0].Name)
			if os[0].Kind == Value || os[0].Kind == Key {
				key = fmt.Sprint(os[0].Kind, os[0].Path)
			}
			if !seen[key] && len(picked) < each {
				seen[key] = true
				picked = append(picked, l)
			}
		}
		for _, l := range picked {
			os := tr.At(l.template, l.at, l.n)
			if os[0].Kind == Release && slices.Equal(os[0].Path, []string{"Service"}) {
				total["nothing to edit"]++
				continue
			}
			verdict := r.confirm(t, out, l, os[0])
			total[verdict]++
			total[os[0].Kind.String()+" "+verdict]++
			if verdict != "confirmed" {
				t.Logf("%s: %s: %s %s %s = %q: %v", verdict, r.label, l.template, l.object, l.path, l.value, os[0])
			}
		}
		r.unmoved(t, rng, out, undecidable, total)
	}
	for _, k := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%s: %d", k, total[k])
	}
	if total["refuted"] > 0 {
		t.Errorf("%d places refuted", total["refuted"])
	}
}

// confirm edits a place and reports whether the field changes.
func (r release) confirm(t *testing.T, out map[string]string, l leaf, o Origin) string {
	verdict := "undecided"
	for _, edited := range r.edits(o) {
		again, err := edited.render(t)
		if err != nil {
			continue
		}
		if same(again[l.template], l) >= same(out[l.template], l) {
			verdict = "refuted"
			continue
		}
		return "confirmed"
	}
	return verdict
}

// same counts the fields of objects with the same name, in a template's output, that have the value of a leaf.
func same(text string, l leaf) int {
	n := 0
	object, _, _ := strings.Cut(l.object, "#")
	for _, m := range leavesIn(l.template, text) {
		if o, _, _ := strings.Cut(m.object, "#"); o == object && m.index == l.index && m.value == l.value {
			n++
		}
	}
	return n
}

// unmoved changes some values, and checks that fields without a deciding value stay the same.
func (r release) unmoved(t *testing.T, rng *rand.Rand, out map[string]string, fixed []leaf, total map[string]int) {
	if len(fixed) == 0 {
		return
	}
	var paths [][]string
	valueLeaves(r.merged(), nil, &paths)
	for k, i := range rng.Perm(len(paths)) {
		if k >= 8 {
			break
		}
		edits := r.edits(Origin{Kind: Value, Path: paths[i]})
		if len(edits) == 0 {
			continue
		}
		again, err := edits[0].render(t)
		if err != nil {
			continue
		}
		now := map[string]string{}
		for _, l := range leavesOf(again) {
			for _, id := range l.ids() {
				now[id] = l.value
			}
		}
		for _, l := range fixed {
			if ids := l.ids(); now[ids[0]] != l.value && now[ids[1]] != l.value {
				total["undecided by values: moved"]++
				t.Logf("moved: %s: %s %s %s = %q by %v", r.label, l.template, l.object, l.path, l.value, paths[i])
			} else {
				total["undecided by values: unmoved"]++
			}
		}
	}
}

func valueLeaves(v any, at []string, out *[][]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			valueLeaves(v[k], append(slices.Clone(at), k), out)
		}
	case []any:
		for i, e := range v {
			valueLeaves(e, append(slices.Clone(at), strconv.Itoa(i)), out)
		}
	default:
		*out = append(*out, at)
	}
}
