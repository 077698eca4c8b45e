package rules

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
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
		{"windows line ends", strings.ReplaceAll(twoPolicies, "\n", "\r\n"),
			[]doc{{"ClusterPolicy", "", "a", 2}, {"Policy", "team", "b", 8}}},
		{"byte order mark", "\xef\xbb\xbfkind: A\n", []doc{{"A", "", "", 1}}},
		{"directive", "%YAML 1.1\n---\nkind: A\n...\n---\nkind: B\n", []doc{{"A", "", "", 3}, {"B", "", "", 6}}},
		{"document on the marker's line", "--- {kind: A}\n--- {kind: B}\n", []doc{{"A", "", "", 1}, {"B", "", "", 2}}},
		{"json", `{"kind": "A", "metadata": {"name": "x"}}`, []doc{{"A", "", "x", 1}}},
		{"list", "kind: List\nitems:\n- kind: A\n- kind: BList\n  items:\n  - kind: B\n",
			[]doc{{"A", "", "", 3}, {"B", "", "", 6}}},
		{"no objects", "a: 1\n---\n- kind: A\n---\njust text\n---\n", nil},
		{"empty", "", nil},
		{"only comments", "# a\n---\n# b\n", nil},
		{"marker in a block scalar's line is text when indented", "kind: A\ntext: |\n  ---\n  kind: B\n",
			[]doc{{"A", "", "", 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, problems := File{Path: "f.yaml", Data: []byte(tt.data)}.Documents()
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

func TestValue(t *testing.T) {
	data := `kind: A
int: 12
whole: 1.0
float: 1.5
hex: 0x10
yes: yes
text: "yes"
none: ~
date: 2024-01-01
base: &base {a: 1, b: 2}
merged: {<<: *base, b: 3}
alias: *base
1: one
`
	docs, problems := File{Path: "f.yaml", Data: []byte(data)}.Documents()
	if len(problems) > 0 || len(docs) != 1 {
		t.Fatal(problems)
	}
	base := map[string]any{"a": int64(1), "b": int64(2)}
	want := map[string]any{
		"kind": "A", "int": int64(12), "whole": int64(1), "float": 1.5, "hex": int64(16), "true": true, "text": "yes",
		"none": nil, "date": "2024-01-01", "base": base, "merged": map[string]any{"a": int64(1), "b": int64(3)},
		"alias": base, "1": "one",
	}
	if got := docs[0].Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// A problem quotes a boolean as it is written.
func TestBooleanLabel(t *testing.T) {
	docs, problems := File{Path: "f.yaml",
		Data: []byte("kind: ClusterPolicy\nmetadata: {labels: {a: yes}}\n")}.Documents()
	if len(docs) != 1 || len(problems) > 0 {
		t.Fatal(problems)
	}
	want := `f.yaml:2:24: metadata.labels.a is a boolean and must be a string: put it in quotes, "yes"`
	if got := policy.Decode(docs[0], &policy.ClusterPolicy{}); len(got) != 1 || got[0].String() != want {
		t.Errorf("got  %q\nwant %q", got, want)
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
		{"template", "{{ if .Values.x }}\nkind: A\n{{ end }}\n", "not valid YAML", 1},
		{"broken second document", "kind: A\n---\nkind: B\n  c: 1\n", "not valid YAML", 4},
		{"alias bomb", "kind: A\n" + bomb, "use fewer aliases", 0},
		{"alias to itself", "kind: A\nspec: &a {b: *a}\n", "contains it", 2},
		{"deep flow", "kind: A\nb: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "levels deep", 2},
		{"deeper than the parser", "b: " + strings.Repeat("[", 50000), "not valid YAML", 1},
		{"NUL", "kind: A\nb: \x00", "NUL", 2},
		{"not UTF-8", "kind: A\n\nb: \xff\xfe", "UTF-8", 3},
		{"key twice", "kind: A\nb: 1\nb: 2\n", "twice", 3},
		{"mapping as key", "kind: A\n? {a: 1}\n: 2\n", "key must be a string", 2},
		{"infinity", "kind: A\nb: .inf\n", "JSON", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := File{Path: "f.yaml", Data: []byte(tt.data)}.Documents()
			if len(problems) != 1 || problems[0].Warning || !strings.Contains(problems[0].Message, tt.want) {
				t.Fatalf("got %v, want one problem with %q", problems, tt.want)
			}
			if tt.line > 0 && problems[0].Line != tt.line {
				t.Errorf("line %d, want %d: %s", problems[0].Line, tt.line, problems[0].Message)
			}
		})
	}
}

// A key that is repeated with the same value is not an error, since files edited by hand have such keys.
func TestSameKeyTwice(t *testing.T) {
	docs, problems := File{Path: "f.yaml", Data: []byte("kind: A\nname: x\nspec: 1\nname: x\n")}.Documents()
	if len(docs) != 1 || len(problems) > 0 {
		t.Fatalf("got %v %v", docs, problems)
	}
	if got := docs[0].Value().(map[string]any)["name"]; got != "x" {
		t.Errorf("got %v", got)
	}
	for _, data := range []string{"kind: A\nname: x\nname: y\n", "kind: A\nname: 1\nname: '1'\n",
		"kind: A\nname: {}\nname: {}\n"} {
		if _, problems := (File{Path: "f.yaml", Data: []byte(data)}).Documents(); len(problems) != 1 ||
			!strings.Contains(problems[0].Message, "written twice") {
			t.Errorf("%q: got %v", data, problems)
		}
	}
}

func TestInvalidDocumentDoesNotHideOthers(t *testing.T) {
	docs, problems := File{Path: "f.yaml", Data: []byte("kind: A\n---\nkind: [\n---\nkind: C\n")}.Documents()
	if len(docs) != 2 || len(problems) != 1 {
		t.Errorf("got %d documents and %v", len(docs), problems)
	}
}

// Empty documents before a policy must not hide it, since the policy would silently have no effect.
func TestEmptyDocuments(t *testing.T) {
	for _, before := range []string{
		"---\n", "---\n---\n", "# note\n---\n", "# note\n---\n---\n", "---\n--- # note\n", "# note\n---\n--- # note\n",
		"# note\n---\n\n# more\n---\n", "--- # note\n---\n", "%YAML 1.1\n---\n", "%YAML 1.1\n---\n---\n",
		"---\n# note\n...\n---\n",
	} {
		docs, problems := File{Path: "x.yaml", Data: []byte(before + "kind: A\n---\nkind: B\n")}.Documents()
		if len(docs) != 2 || docs[0].Kind != "A" || docs[1].Kind != "B" || len(problems) > 0 {
			t.Errorf("%q: %d documents, problems %v", before, len(docs), problems)
			continue
		}
		if want := 1 + strings.Count(before, "\n"); docs[0].Line != want || docs[1].Line != want+2 {
			t.Errorf("%q: lines %d and %d, want %d and %d", before, docs[0].Line, docs[1].Line, want, want+2)
		}
	}
}

func FuzzDocuments(f *testing.F) {
	for _, s := range []string{twoPolicies, "a: &a [*a]", "- {<<: [*b]}", "kind: {{ .Values.x }}", "? [a]\n: b",
		"%TAG ! x:\n---\nkind: !foo A", "kind: A\nb: !!binary ab", "\"\\x00\": 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, problems := File{Path: "f", Data: data}.Documents()
		lines := 1 // YAML has several kinds of line ends
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
			var p policy.ClusterPolicy
			policy.Decode(d, &p)
			d.Position("/spec/rules/0/validate")
		}
	})
}

func TestTooLarge(t *testing.T) {
	_, problems := File{Path: "f.yaml", Data: make([]byte, MaxBytes+1)}.Documents()
	if len(problems) != 1 || problems[0].Warning || !strings.Contains(problems[0].Message, "larger than") {
		t.Errorf("got %v", problems)
	}
}

// Compiling a file reports its syntax errors.
func TestCompileBroken(t *testing.T) {
	_, problems := engine.CompilePolicies(ForEngine([]File{{Path: "p.yaml", Data: []byte("kind: [")}}), engine.Options{})
	if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), "p.yaml:1: is not valid YAML") {
		t.Errorf("got %v", problems)
	}
}

func TestCompileVariableWithoutQuotes(t *testing.T) {
	_, problems := engine.CompilePolicies(ForEngine([]File{{Path: "p.yaml", Data: []byte("apiVersion: kyverno.io/v1\n" +
		"kind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n" +
		"    match: {any: [{resources: {kinds: [Pod]}}]}\n" +
		"    validate: {message: {{ request.object.kind }}, deny: {}}\n")}}), engine.Options{})
	if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), "p.yaml:8:26: a key must be a string") {
		t.Errorf("got %v", problems)
	}
}

// Documents of a rendered file have the lines of the source files.
func TestRenderedLines(t *testing.T) {
	docs, problems := File{Path: "f.yaml", Data: []byte("kind: A\n---\nkind: B\n"),
		Line: func(line int) int { return line + 10 }}.Documents()
	if len(docs) != 2 || len(problems) > 0 || docs[0].Line != 11 || docs[1].Line != 13 {
		t.Errorf("got %v %v", docs, problems)
	}
}
