package policy

import (
	"reflect"
	"strings"
	"testing"
)

const twoPolicies = `# comment
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: a}
---
# nothing here
---
apiVersion: kyverno.io/v1
kind: Policy
metadata:
  name: b
  namespace: team
`

func TestDocuments(t *testing.T) {
	type doc struct {
		Kind, Namespace, Name string
		Line                  int
	}
	tests := []struct {
		name, data string
		want       []doc
	}{
		{"two documents", twoPolicies, []doc{{"ClusterPolicy", "", "a", 2}, {"Policy", "team", "b", 8}}},
		{"windows line ends", strings.ReplaceAll(twoPolicies, "\n", "\r\n"), []doc{{"ClusterPolicy", "", "a", 2}, {"Policy", "team", "b", 8}}},
		{"byte order mark", "\xef\xbb\xbfkind: A\n", []doc{{"A", "", "", 1}}},
		{"directive", "%YAML 1.1\n---\nkind: A\n...\n---\nkind: B\n", []doc{{"A", "", "", 3}, {"B", "", "", 6}}},
		{"document on the marker's line", "--- {kind: A}\n--- {kind: B}\n", []doc{{"A", "", "", 1}, {"B", "", "", 2}}},
		{"json", `{"kind": "A", "metadata": {"name": "x"}}`, []doc{{"A", "", "x", 1}}},
		{"list", "kind: List\nitems:\n- kind: A\n- kind: BList\n  items:\n  - kind: B\n", []doc{{"A", "", "", 3}, {"B", "", "", 6}}},
		{"no objects", "a: 1\n---\n- kind: A\n---\njust text\n---\n", nil},
		{"empty", "", nil},
		{"only comments", "# a\n---\n# b\n", nil},
		{"marker in a block scalar's line is text when indented", "kind: A\ntext: |\n  ---\n  kind: B\n", []doc{{"A", "", "", 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, problems := Documents(Source{Path: "f.yaml", Data: []byte(tt.data)})
			if len(problems) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			var got []doc
			for _, d := range docs {
				got = append(got, doc{d.Kind, d.Namespace, d.Name, d.Line})
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDocumentsRefuse(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for _, c := range "bcdefgh" {
		prev := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+",", 10), ",") + "]\n"
	}
	tests := []struct {
		name, data, want string
		line             int
	}{
		{"broken", "kind: A\nb: [\n", "not valid YAML", 2},
		{"broken second document", "kind: A\n---\nkind: B\n  c: 1\n", "not valid YAML", 4},
		{"alias bomb", "kind: A\n" + bomb, "use fewer aliases", 0},
		{"alias to itself", "kind: A\nspec: &a {b: *a}\n", "contains it", 2},
		{"deep flow", "kind: A\nb: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "levels deep", 2},
		{"deeper than the parser", "b: " + strings.Repeat("[", 50000), "not valid YAML", 1},
		{"NUL", "kind: A\nb: \x00", "NUL", 2},
		{"not UTF-8", "kind: A\n\nb: \xff\xfe", "UTF-8", 3},
		{"too large", "kind: A\n#" + strings.Repeat("x", MaxBytes), "larger than", 0},
		{"key twice", "kind: A\nb: 1\nb: 2\n", "twice", 3},
		{"mapping as key", "kind: A\n? {a: 1}\n: 2\n", "key must be a string", 2},
		{"infinity", "kind: A\nb: .inf\n", "JSON", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := Documents(Source{Path: "f.yaml", Data: []byte(tt.data)})
			if len(problems) != 1 || problems[0].Warning || !strings.Contains(problems[0].Message, tt.want) {
				t.Fatalf("got %v, want one problem with %q", problems, tt.want)
			}
			if tt.line > 0 && problems[0].Line != tt.line {
				t.Errorf("line %d, want %d: %s", problems[0].Line, tt.line, problems[0].Message)
			}
		})
	}
}

// A key that is written twice with the same text says one thing, as files that were edited by hand do.
func TestSameKeyTwice(t *testing.T) {
	docs, problems := Documents(Source{Path: "f.yaml", Data: []byte("kind: A\nname: x\nspec: 1\nname: x\n")})
	if len(docs) != 1 || len(problems) > 0 {
		t.Fatalf("got %v %v", docs, problems)
	}
	if got := docs[0].Value().(map[string]any)["name"]; got != "x" {
		t.Errorf("got %v", got)
	}
	for _, data := range []string{"kind: A\nname: x\nname: y\n", "kind: A\nname: 1\nname: '1'\n", "kind: A\nname: {}\nname: {}\n"} {
		if _, problems := Documents(Source{Path: "f.yaml", Data: []byte(data)}); len(problems) != 1 || !strings.Contains(problems[0].Message, "written twice") {
			t.Errorf("%q: got %v", data, problems)
		}
	}
}

func TestDocumentsKeepsWhatIsWhole(t *testing.T) {
	docs, problems := Documents(Source{Path: "f.yaml", Data: []byte("kind: A\n---\nkind: [\n---\nkind: C\n")})
	if len(docs) != 2 || len(problems) != 1 {
		t.Errorf("got %d documents and %v", len(docs), problems)
	}
}

func TestValue(t *testing.T) {
	data := `kind: A
int: 12
whole: 1.0
float: 1.5
hex: 0x10
yes: yes
text: "yes"
null: ~
date: 2024-01-01
base: &base {a: 1, b: 2}
merged: {<<: *base, b: 3}
alias: *base
1: one
`
	docs, problems := Documents(Source{Data: []byte(data)})
	if len(problems) > 0 || len(docs) != 1 {
		t.Fatal(problems)
	}
	base := map[string]any{"a": int64(1), "b": int64(2)}
	want := map[string]any{
		"kind": "A", "int": int64(12), "whole": int64(1), "float": 1.5, "hex": int64(16), "true": true, "text": "yes", "null": nil,
		"date": "2024-01-01", "base": base, "merged": map[string]any{"a": int64(1), "b": int64(3)}, "alias": base, "1": "one",
	}
	if got := docs[0].Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestPosition(t *testing.T) {
	data := "kind: A\nspec:\n  rules:\n  - name: x\n    a/b: {c~d: 1}\n"
	docs, _ := Documents(Source{Data: []byte("---\n" + data)})
	tests := []struct {
		pointer      string
		line, column int
	}{
		{"", 2, 1},
		{"/spec", 3, 1},
		{"/spec/rules/0", 5, 5},
		{"/spec/rules/0/name", 5, 5},
		{"/spec/rules/0/a~1b/c~0d", 6, 11},
		{"/spec/rules/7/name", 4, 3},
		{"/spec/missing/x", 3, 1},
		{"/spec/rules/0/name/deeper", 5, 5},
	}
	for _, tt := range tests {
		if line, column := docs[0].Position(tt.pointer); line != tt.line || column != tt.column {
			t.Errorf("%q: got %d:%d, want %d:%d", tt.pointer, line, column, tt.line, tt.column)
		}
	}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, data string
		want       []string
	}{
		{"fine", "kind: ClusterPolicy\nspec:\n  rules:\n  - name: a\n    match: {any: [{resources: {kinds: [Pod]}}]}\n", nil},
		{"misspelled", "kind: ClusterPolicy\nspec:\n  rules:\n  - nam: a\n", []string{`f.yaml:4:5: unknown field "nam" in spec.rules[0]: did you mean "name"?`}},
		{"other case", "kind: ClusterPolicy\nspec:\n  applyrules: All\n", []string{`f.yaml:3:3: unknown field "applyrules" in spec: did you mean "applyRules"?`}},
		{"several", "kind: ClusterPolicy\nspec:\n  background: \"true\"\n  rules:\n  - name: 5\n    validate: []\n", []string{
			`f.yaml:3:15: spec.background is a string and must be true or false, without quotes`,
			`f.yaml:5:11: spec.rules[0].name is a number and must be a string: put it in quotes, "5"`,
			`f.yaml:6:15: spec.rules[0].validate is a list and must be a mapping`,
		}},
		{"scalar for list", "kind: ClusterPolicy\nspec:\n  rules:\n  - name: a\n    match: {resources: {kinds: Pod}}\n", []string{
			`f.yaml:5:32: spec.rules[0].match.resources.kinds is a string and must be a list`}},
		{"boolean label", "kind: ClusterPolicy\nmetadata: {labels: {a: yes}}\n", []string{
			`f.yaml:2:24: metadata.labels.a is a boolean and must be a string: put it in quotes, "yes"`}},
		{"null", "kind: ClusterPolicy\nspec:\n  background: null\n  rules: ~\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, problems := Documents(Source{Path: "f.yaml", Data: []byte(tt.data)})
			if len(docs) != 1 || len(problems) > 0 {
				t.Fatal(problems)
			}
			var p ClusterPolicy
			var got []string
			for _, problem := range Decode(docs[0], &p) {
				got = append(got, problem.String())
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestFromTree(t *testing.T) {
	want := Rule{Name: "yes", Preconditions: map[string]any{"a": int64(1), "b": 1.5, "c": []any{true, nil, "1"}}}
	tree := map[string]any{"name": "yes", "preconditions": want.Preconditions}
	got, problems := FromTree[Rule](Document{}, tree)
	if len(problems) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, problems)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"pattern", "anyPattern", "deny", "foreach"}
	for in, want := range map[string]string{"patern": "pattern", "anypattern": "anyPattern", "forEach": "foreach", "Deny": "deny", "zzz": ""} {
		if got := Nearest(in, names); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func FuzzDocuments(f *testing.F) {
	for _, s := range []string{twoPolicies, "a: &a [*a]", "- {<<: [*b]}", "kind: {{ .Values.x }}", "? [a]\n: b", "%TAG ! x:\n---\nkind: !foo A", "kind: A\nb: !!binary ab", "\"\\x00\": 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, problems := Documents(Source{Path: "f", Data: data})
		lines := 1 // YAML knows more line ends than one
		for _, r := range string(data) {
			if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) {
				lines++
			}
		}
		for _, p := range problems {
			if p.Message == "" || p.Line > lines {
				t.Errorf("problem %+v of %d lines", p, lines)
			}
		}
		for _, d := range docs {
			if d.Kind == "" || d.Line < 1 || d.Line > lines {
				t.Errorf("document %q at line %d of %d", d.Kind, d.Line, lines)
			}
			d.Value()
			var p ClusterPolicy
			Decode(d, &p)
			d.Position("/spec/rules/0/validate")
		}
	})
}
