package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
)

// Places are those of values in all styles of YAML; a missing field has the place of its nearest parent.
func TestPlaces(t *testing.T) {
	const text = `# a comment
kind: First
---
kind: Second
metadata:
  labels: {plain: a b, single: 'it''s', double: "x\"y", 'key': 1}
  "quoted": yes
spec:
  list:
  - name: ünï
    ports: [80, 443]
  - null
  block: |
    text
  folded: "one
    two"
  anchor: &a value
  alias: *a
  empty:
`
	for field, want := range map[string]string{
		"":                        "4:1-5",
		"/metadata":               "5:1-9",
		"/metadata/labels/plain":  "6:19-22 a b",
		"/metadata/labels/single": "6:32-39 'it''s'",
		"/metadata/labels/double": `6:49-55 "x\"y"`,
		"/metadata/labels/key":    "6:64-65 1",
		"/metadata/labels/none":   "6:3-9 missing",
		"/metadata/quoted":        "7:13-16 yes",
		"/spec/list/0/name":       "10:11-14 ünï",
		"/spec/list/0/ports/1":    "11:17-20 443",
		"/spec/list/0":            "10:5-0",
		"/spec/list/7/name":       "9:3-7 missing",
		"/spec/block":             "13:3-8 block",
		"/spec/folded":            "15:3-9 folded",
		"/spec/none/deep/er":      "8:1-5 missing",
		"/spec/empty":             "19:3-8 empty",
	} {
		var got report.EvaluationPlace
		rows := strings.Split(text, "\n")
		for part, problem := range objects(rules.File{Path: "x", Data: []byte(text)}) {
			if problem != nil {
				t.Fatal(problem)
			}
			if part.Object["kind"] == "Second" {
				p := placing{at: &part}
				got = p.of([]string{field})[0]
			}
		}
		said := fmt.Sprintf("%d:%d-%d", got.Line, got.Column, got.EndColumn)
		if row := []rune(rows[got.Line-1]); !got.Missing && got.EndColumn > 0 && strings.Contains(want, " ") {
			said += " " + string(row[got.Column-1:got.EndColumn-1])
		}
		if got.Missing {
			said += " missing"
		}
		if said != want || got.Field != field {
			t.Errorf("%s: %s, want %s", field, said, want)
		}
	}
}

// Only the first results have excerpts, and columns do not reveal the length of a Secret's values.
func TestExcerpts(t *testing.T) {
	var text strings.Builder
	for i := range maxExcerpts + 5 {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n\n\n\n\n\n\n", i)
	}
	r := run(t, Input{Policies: seen("request.object.metadata.name"), Resources: file(text.String())})
	if n := len(r.Excerpts["x.yaml"]) / (2*around + 1); n == 0 || n > maxExcerpts {
		t.Errorf("%d excerpts: %v", n, r.Excerpts)
	}
	for i := range r.Results {
		if len(r.Results[i].Places) != 1 || r.Results[i].PolicyLine != 7 || r.Results[i].PolicyPath != "x.yaml" {
			t.Errorf("%+v", r.Results[i])
		}
	}
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aHVudGVyMg==}\n"
	r = run(t, Input{Policies: seen("request.object.data.a"), Resources: file(secret)})
	for _, row := range r.Excerpts["x.yaml"] {
		if strings.Contains(row, "aHVu") {
			t.Errorf("%q", row)
		}
	}
	places := []report.EvaluationPlace{{Field: "/data/a", EndColumn: 9}, {Field: "/metadata/name", EndColumn: 9}}
	if unmeasured("v1", places); places[0].EndColumn != 0 || places[1].EndColumn != 9 {
		t.Errorf("%+v", places)
	}
}

// A list is parsed once for all of its objects, however many fail: the time is linear in the size of the file.
func TestPlacesOfLongLists(t *testing.T) {
	const n = 3000
	var text strings.Builder
	text.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range n {
		fmt.Fprintf(&text, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c%d\n", i)
	}
	r := run(t, Input{Policies: seen("request.object.metadata.name"), Resources: file(text.String())})
	if len(r.Results) != n {
		t.Fatal(len(r.Results))
	}
	for i := range r.Results {
		if p := r.Results[i].Places; len(p) != 1 || p[0].Line != 4*i+5 || p[0].Column != 3 {
			t.Fatalf("%d: %+v", i, r.Results[i])
		}
	}
	seen := map[*part]bool{}
	for at := range objects(file(text.String())[0]) {
		seen[at.part] = true
	}
	if len(seen) != 1 {
		t.Errorf("%d parts", len(seen))
	}
}
