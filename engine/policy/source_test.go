package policy

import (
	"reflect"
	"testing"

	"github.com/lintel-bot/lintel/engine/internal/yamltest"
)

func TestValue(t *testing.T) {
	data := `kind: A
int: 12
whole: 1.0
float: 1.5
hex: 0x10
yes: true
text: "yes"
null: ~
date: 2024-01-01
base: {a: 1, b: 2}
1: one
`
	docs, problems := Documents(Source{Documents: yamltest.Documents(data)})
	if len(problems) > 0 || len(docs) != 1 {
		t.Fatal(problems)
	}
	want := map[string]any{
		"kind": "A", "int": int64(12), "whole": int64(1), "float": 1.5, "hex": int64(16), "yes": true, "text": "yes",
		"null": nil,
		"date": "2024-01-01", "base": map[string]any{"a": int64(1), "b": int64(2)}, "1": "one",
	}
	if got := docs[0].Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestPosition(t *testing.T) {
	data := "kind: A\nspec:\n  rules:\n  - name: x\n    a/b: {c~d: 1}\n"
	docs, _ := Documents(Source{Documents: yamltest.Documents("---\n" + data)})
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
		{"misspelled", "kind: ClusterPolicy\nspec:\n  rules:\n  - nam: a\n",
			[]string{`f.yaml:4:5: unknown field "nam" in spec.rules[0]: did you mean "name"?`}},
		{"other case", "kind: ClusterPolicy\nspec:\n  applyrules: All\n",
			[]string{`f.yaml:3:3: unknown field "applyrules" in spec: did you mean "applyRules"?`}},
		{"several", "kind: ClusterPolicy\nspec:\n  background: \"true\"\n  rules:\n  - name: 5\n    validate: []\n", []string{
			`f.yaml:3:15: spec.background is a string and must be true or false, without quotes`,
			`f.yaml:5:11: spec.rules[0].name is a number and must be a string: put it in quotes, "5"`,
			`f.yaml:6:15: spec.rules[0].validate is a list and must be a mapping`,
		}},
		{"scalar for list", "kind: ClusterPolicy\nspec:\n  rules:\n  - name: a\n    match: {resources: {kinds: Pod}}\n",
			[]string{
				`f.yaml:5:32: spec.rules[0].match.resources.kinds is a string and must be a list`}},
		{"null", "kind: ClusterPolicy\nspec:\n  background: null\n  rules: ~\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, problems := Documents(Source{Path: "f.yaml", Documents: yamltest.Documents(tt.data)})
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
	for in, want := range map[string]string{"patern": "pattern", "anypattern": "anyPattern", "forEach": "foreach",
		"Deny": "deny", "zzz": ""} {
		if got := Nearest(in, names); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
