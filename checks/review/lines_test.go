package review

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

const source = `spec:
  hostNetwork: true # for speed
  securityContext: {}
  empty:
  limits: {memory: 2Gi}
  drop: [NET_RAW]
  labels:
    app: web
  text:
    long: |
      two
      lines
  containers:
  - name: web
    args:
    - --debug
    - --verbose
    image: x
  - image: y
  privileged: {is: yes}
  none: ~
  two: {a: {}, b: {a: {}}}
  anchor: &true true
  tag: !!bool "true"
  used: [&x true, *x]
literals: [a=true]
zero: false # here
`

func TestLinesOfSuggestions(t *testing.T) {
	at := func(line, column, end int, missing string) *report.Origin {
		return &report.Origin{Path: "a.yaml", StartLine: line, EndLine: line, StartColumn: column, EndColumn: end,
			Missing: missing}
	}
	for name, c := range map[string]struct {
		at    *report.Origin
		field string
		s     report.Suggestion
		want  []string
	}{
		"a scalar": {at(2, 16, 20, ""), "/spec/hostNetwork", report.Suggestion{YAML: "false", Was: "true"},
			[]string{"-  hostNetwork: true # for speed", "+  hostNetwork: false # for speed"}},
		"a value other than the expected one": {at(2, 16, 20, ""), "/spec/hostNetwork", report.Suggestion{YAML: "false", Was: "other"}, nil},
		"a value that the API server drops": {at(27, 7, 12, ""), "/zero", report.Suggestion{YAML: "true"},
			[]string{"-zero: false # here", "+zero: true # here"}},
		"a removed key": {at(2, 16, 20, ""), "/spec/hostNetwork", report.Suggestion{Remove: true, Was: "true"},
			[]string{"-  hostNetwork: true # for speed"}},
		"a removed element": {at(16, 7, 14, ""), "/spec/containers/0/args/0", report.Suggestion{Remove: true},
			[]string{"-    - --debug"}},
		"a key of a mapping": {at(7, 3, 9, "/app.kubernetes.io~1name"), "/spec/labels/app.kubernetes.io~1name",
			report.Suggestion{YAML: "web"}, []string{"     app: web", "+    app.kubernetes.io/name: web"}},
		"a key below a block scalar": {at(9, 3, 7, "/x"), "/spec/text/x", report.Suggestion{YAML: "1"},
			[]string{"   text:", "+    x: 1"}},
		"several keys": {at(1, 1, 5, "/a/b"), "/spec/a/b", report.Suggestion{YAML: "c: true"},
			[]string{" spec:", "+  a:", "+    b:", "+      c: true"}},
		"a mapping on one line": {at(5, 3, 9, "/cpu"), "/spec/limits/cpu", report.Suggestion{YAML: "1"},
			[]string{"-  limits: {memory: 2Gi}", "+  limits: {memory: 2Gi, cpu: 1}"}},
		"an empty mapping": {at(3, 3, 18, "/runAsNonRoot"), "/spec/securityContext/runAsNonRoot",
			report.Suggestion{YAML: "true"},
			[]string{"-  securityContext: {}", "+  securityContext: {runAsNonRoot: true}"}},
		"a key without a value": {at(4, 3, 8, "/a"), "/spec/empty/a", report.Suggestion{YAML: "1"},
			[]string{"   empty:", "+    a: 1"}},
		"the whole value of an empty mapping": {at(3, 3, 18, ""), "/spec/securityContext",
			report.Suggestion{YAML: "runAsNonRoot: true"},
			[]string{"-  securityContext: {}", "+  securityContext: {runAsNonRoot: true}"}},
		"several keys of an empty mapping": {at(3, 3, 18, ""), "/spec/securityContext",
			report.Suggestion{YAML: "runAsUser: 1\nrunAsNonRoot: true"},
			[]string{"-  securityContext: {}", "+  securityContext: {runAsNonRoot: true, runAsUser: 1}"}},
		"the value of a key without one": {at(4, 0, 0, ""), "/spec/empty", report.Suggestion{YAML: "a: 1"},
			[]string{"   empty:", "+    a: 1"}},
		"several keys of a key without a value": {at(4, 0, 0, ""), "/spec/empty", report.Suggestion{YAML: "a: 1\nb: 2"},
			[]string{"   empty:", "+    a: 1", "+    b: 2"}},
		"the value of null": {at(21, 9, 10, ""), "/spec/none", report.Suggestion{YAML: "a: 1"},
			[]string{"-  none: ~", "+  none: {a: 1}"}},
		"several keys of null": {at(21, 9, 10, ""), "/spec/none", report.Suggestion{YAML: "a: 1\nb: 2"},
			[]string{"-  none: ~", "+  none: {a: 1, b: 2}"}},
		"two empty keys on one line":    {at(22, 0, 0, ""), "/spec/two/a", report.Suggestion{YAML: "a: 1"}, nil},
		"another value without columns": {at(2, 0, 0, ""), "/spec/hostNetwork", report.Suggestion{YAML: "false", Was: "true"}, nil},
		"a scalar with an anchor": {at(23, 17, 21, ""), "/spec/anchor", report.Suggestion{YAML: "false", Was: "true"},
			[]string{"-  anchor: &true true", "+  anchor: &true false"}},
		"a scalar with a tag": {at(24, 15, 21, ""), "/spec/tag", report.Suggestion{YAML: "false", Was: "true"},
			[]string{`-  tag: !!bool "true"`, "+  tag: !!bool false"}},
		"a scalar that others stand for": {at(25, 13, 17, ""), "/spec/used/0", report.Suggestion{YAML: "false", Was: "true"}, nil},
		"a key of a list element": {at(14, 5, 14, "/securityContext"), "/spec/containers/0/securityContext",
			report.Suggestion{YAML: "privileged: false"},
			[]string{"     image: x", "+    securityContext:", "+      privileged: false"}},
		"an element of a missing list": {at(14, 5, 14, "/env/0"), "/spec/containers/0/env/0",
			report.Suggestion{YAML: "name: x"}, []string{"     image: x", "+    env:", "+      - name: x"}},
		"a boolean of YAML 1.1": {at(20, 20, 23, ""), "/spec/privileged/is", report.Suggestion{YAML: "false", Was: "true"},
			[]string{"-  privileged: {is: yes}", "+  privileged: {is: false}"}},
		"a literal of a generator": {at(26, 12, 18, ""), "/data/a", report.Suggestion{YAML: `"false"`, Was: `"true"`},
			[]string{"-literals: [a=true]", "+literals: [a=false]"}},
		"a literal of another key":    {at(26, 12, 18, ""), "/data/b", report.Suggestion{YAML: `"false"`, Was: `"true"`}, nil},
		"a literal of another value":  {at(26, 12, 18, ""), "/data/a", report.Suggestion{YAML: `"false"`, Was: `"yes"`}, nil},
		"a place outside of the file": {at(99, 1, 2, ""), "/spec/x", report.Suggestion{YAML: "1"}, nil},
	} {
		c.s.Field = c.field
		got, why := LinesOf([]byte(source)).Diff(c.at, c.field, &c.s)
		var lines []string
		if got != nil {
			lines = got.Lines()
		}
		if (got == nil) != (why != "") {
			t.Errorf("%s: an edit or the reason for none, not both: %q", name, why)
		}
		if !slices.Equal(lines, c.want) {
			t.Errorf("%s: %q, want %q", name, lines, c.want)
		}
	}
	for text, want := range map[string][]string{
		"    {{- if .x }}\n    a: true\n    {{- end }}\n": {"-    a: true", "+    a: false"},
		"    {{- if .x }}\n    a: [\n    {{- end }}\n":    nil,
	} {
		s := report.Suggestion{Field: "/a", Was: "true", YAML: "false"}
		got, why := LinesOf([]byte("templatePatch: |\n"+text)).Diff(at(3, 0, 0, ""), "/a", &s)
		if want == nil {
			if got != nil || why == severalLines {
				t.Errorf("%q: %v %q", text, got, why)
			}
		} else if got == nil || !slices.Equal(got.Lines(), want) {
			t.Errorf("%q: %v %q, want %q", text, got, why, want)
		}
	}
	if f := LinesOf([]byte("a: {{ .Values.x }}\nb: [")); f != nil {
		t.Error("a template is read as YAML")
	}
}
