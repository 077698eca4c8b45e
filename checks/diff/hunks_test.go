package diff

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := sigsyaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

func TestHunks(t *testing.T) {
	big := "a: {x1: 1, x2: 2, x3: 3, x4: 4, x5: 5, x6: 6, x7: 7, x8: 8, x9: 9}\n"
	for name, tc := range map[string]struct{ was, now, want string }{
		"no difference": {"a: 1", "a: 1", ""},
		"a scalar, with lines around": {
			"kind: Deployment\nspec: {replicas: 1, paused: true, selector: {a: b, c: d}, template: {x: y}}",
			"kind: Deployment\nspec: {replicas: 2, paused: true, selector: {a: b, c: d}, template: {x: y}}",
			`@@ spec @@
 kind: Deployment
 spec:
   paused: true
-  replicas: 1
+  replicas: 2
   selector:
     a: b
     c: d
`,
		},
		"two near differences are one hunk": {
			"a: 1\nb: {c: [1, 2]}\nd: 1", "a: 2\nb: {c: [1, 2]}\nd: 2",
			"@@ @@\n-a: 1\n+a: 2\n b:\n   c:\n   - 1\n   - 2\n-d: 1\n+d: 2\n",
		},
		"two distant differences are two hunks": {
			"_: 1\n" + big + "z: 1", "_: 2\n" + big + "z: 2",
			"@@ @@\n-_: 1\n+_: 2\n a:\n   x1: 1\n   x2: 2\n@@ @@\n   x7: 7\n   x8: 8\n   x9: 9\n-z: 1\n+z: 2\n",
		},
		"an element of a list by its name": {
			"l: [{name: a, image: a:1}, {name: b, image: b:1}]",
			"l: [{name: c, image: c:1}, {name: a, image: a:1}, {name: b, image: b:2}]",
			`@@ l @@
 l:
+- image: c:1
+  name: c
 - image: a:1
   name: a
-- image: b:1
+- image: b:2
   name: b
`,
		},
		"an element that moves": {
			"l: [a, b, c, d]", "l: [d, a, b, c]", "@@ l @@\n l:\n+- d\n - a\n - b\n - c\n-- d\n",
		},
		"a key that begins an element": {
			"l: [{a: 1, b: 2}]", "l: [{b: 2}]", "@@ l[0] @@\n l:\n-- a: 1\n-  b: 2\n+- b: 2\n",
		},
		"a string of several lines": {
			"data: {x: \"one\\ntwo\\nthree\\n\"}", "data: {x: \"one\\nzwei\\nthree\\n\"}",
			"@@ data.x @@\n data:\n   x: |\n     one\n-    two\n+    zwei\n     three\n",
		},
		"a string that the YAML library prints on one line": {
			"x: \"if a && b; then \\n\\techo 🔥 1\\nfi\"", "x: \"if a && b; then \\n\\techo 🔥 2\\nfi\"",
			"@@ x @@\n x: |-\n   if a && b; then \n-  \techo 🔥 1\n+  \techo 🔥 2\n   fi\n",
		},
		"a string with carriage returns": {
			"x: \"a\\r\\n  b\\r\\nc\"", "x: \"a\\r\\n  d\\r\\nc\"",
			"@@ x @@\n x: \"\\\n   a\\r\\n\\\n-  \\  b\\r\\n\\\n+  \\  d\\r\\n\\\n   c\\\n   \"\n",
		},
		"nothing is escaped as in HTML":      {"x: a", "x: \"<&>\\r\"", "@@ @@\n-x: a\n+x: \"<&>\\r\"\n"},
		"another kind of value":              {"a: {b: 1}", "a: [1]", "@@ @@\n-a:\n-  b: 1\n+a:\n+- 1\n"},
		"empty and not":                      {"a: {}\nb: []", "a: {c: 1}\nb: [{}]", "@@ @@\n-a: {}\n+a:\n+  c: 1\n-b: []\n+b:\n+- {}\n"},
		"null and absent":                    {"a: null", "b: null", "@@ @@\n-a: null\n+b: null\n"},
		"strings that look like other types": {"a: \"1\"\nb: \"yes\"", "a: 1\nb: true", "@@ @@\n-a: \"1\"\n+a: 1\n-b: \"yes\"\n+b: true\n"},
	} {
		var got strings.Builder
		for _, h := range Hunks(parse(t, tc.was), parse(t, tc.now)) {
			got.WriteString(h.String())
		}
		if d := cmp.Diff(tc.want, got.String()); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestPaths(t *testing.T) {
	was := parse(t, "spec: {template: {spec: {containers: [{name: app, env: [{name: A, value: x}]}]}}}\nmetadata: {annotations: {a/b: c}}")
	now := parse(t, "spec: {template: {spec: {containers: [{name: app, env: [{name: A, value: z}]}]}}}\nmetadata: {annotations: {a/b: d}}")
	hunks := Hunks(was, now)
	if len(hunks) != 1 || hunks[0].Path != "metadata.annotations" {
		t.Fatalf("%+v", hunks)
	}
	var got []string
	for _, l := range hunks[0].Lines {
		if l.Sign == "+" {
			got = append(got, l.Field)
		}
	}
	if want := []string{"/metadata/annotations/a~1b", "/spec/template/spec/containers/0/env/0/value"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

// random returns a random JSON value.
func random(r *rand.Rand, depth int) any {
	texts := []string{"a", "yes", "1", "", "x: y", "- a", "#", "a\nb", "a\nb\n", "a\n\nb\n\n", " a\nb", "\ta\nb", "a\r\nb",
		strings.Repeat("long ", 40), strings.Repeat("'q' ", 40), "a\u0085b", "é\n\u2028", "null", "~", "0x1f", "1e3", "|", "\x01",
		"%a", "@b", "a \nb\t\n", "  \n\tb\n", "a\r\n  b\r\n\r\n", "🔥 \"a\\\"\nb\n\n", "\x7f\n b", "\x7f", "a && b \n", "\n \n", "\n\u00a0\n", " \r\n", "\"\r\n\\\"\n\\", "key:", "---", "...", "2001-01-01", "1:30", "<<", "=", "?", "? a", "!x", "&a", "*a"}
	switch n := r.IntN(10); {
	case n < 3 && depth > 0:
		m := map[string]any{}
		for range r.IntN(4) {
			m[texts[r.IntN(len(texts))]] = random(r, depth-1)
		}
		return m
	case n < 6 && depth > 0:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, random(r, depth-1))
		}
		return l
	case n < 7:
		return []any{int64(-3), 2.5, true, nil, int64(1 << 60), 1e30}[r.IntN(6)]
	}
	return texts[r.IntN(len(texts))]
}

// edited returns a value with one random edit.
func edited(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			switch r.IntN(5) {
			case 0:
			case 1:
				out[key] = edited(r, value)
			default:
				out[key] = value
			}
		}
		if r.IntN(3) == 0 {
			out[fmt.Sprint("new", r.IntN(3))] = random(r, 2)
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			switch r.IntN(6) {
			case 0:
			case 1:
				out = append(out, edited(r, value))
			default:
				out = append(out, value)
			}
		}
		if len(out) > 1 && r.IntN(3) == 0 {
			out[0], out[len(out)-1] = out[len(out)-1], out[0]
		}
		return out
	}
	return random(r, 1)
}

// A difference without its removed lines is the whole new version; without its added lines, it is the old one.
func TestBothVersionsAreInADifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		was, _ := random(r, 4).(map[string]any)
		if len(was) == 0 {
			continue
		}
		now, _ := edited(r, was).(map[string]any)
		var w walk
		w.maps(node{at: &fieldPath{}}, was, now)
		var old, new strings.Builder
		for _, i := range w.items {
			for _, l := range i.head(nil, maxLines) {
				if l.Sign != "+" {
					old.WriteString(l.Text + "\n")
				}
				if l.Sign != "-" {
					new.WriteString(l.Text + "\n")
				}
			}
		}
		for _, side := range []struct {
			text string
			want map[string]any
		}{{old.String(), was}, {new.String(), now}} {
			got := map[string]any{}
			if err := sigsyaml.Unmarshal([]byte(side.text), &got); err != nil {
				t.Fatalf("%v in\n%s", err, side.text)
			}
			var want map[string]any
			data, _ := json.Marshal(side.want)
			_ = json.Unmarshal(data, &want) // numbers have the types that decoding YAML gives them
			if d := cmp.Diff(want, got); d != "" && len(want) > 0 {
				t.Fatalf("%s\n%s", side.text, d)
			}
		}
	}
}

// head and tail print the same lines as printing the whole value.
func TestHeadAndTailPrintLinesOfTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		n := node{at: &fieldPath{}, value: random(r, 5)}
		all := n.head(nil, maxLines)
		for k := range min(8, len(all)+1) {
			if got := first([]item{{same: &n}}, k); !reflect.DeepEqual(got, all[:k]) && k > 0 {
				t.Fatalf("first %d: %v, want %v", k, got, all[:k])
			}
			if got := last([]item{{same: &n}}, k); !reflect.DeepEqual(got, all[len(all)-k:]) && k > 0 {
				t.Fatalf("last %d: %v, want %v", k, got, all[len(all)-k:])
			}
		}
	}
}
