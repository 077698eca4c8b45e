package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/helm"
)

const exampleChart = "apiVersion: v2\nname: top\nversion: 1.2.3\nappVersion: \"7\"\n"

// example returns a release of a small chart with one template, a helper and a file.
func example(template, values string) release {
	vals, _ := helm.ParseValues([]byte(values))
	return release{name: "rel", namespace: "space", values: vals, files: []helm.File{
		{Name: "Chart.yaml", Data: []byte(exampleChart)},
		{Name: "templates/NOTES.txt", Data: []byte(template)},
		{Name: "templates/_h.tpl", Data: []byte(`{{ define "name" }}{{ .Release.Name }}-{{ .Values.name }}{{ end }}` +
			`{{ define "labels" }}app: {{ .Values.name }}` + "\n" + `tier: back{{ end }}`)},
		{Name: "conf/a.txt", Data: []byte("first\nsecond\n")},
	}}
}

const exampleValues = `
name: web
empty: ""
count: 3
flag: true
tag: v1.2
list: [a, b, c]
map: {x: one, w: two, sub: {z: deep}}
none: {}
text: "hello {{ .Values.name }}"
yaml: "k: val\nl: [p, q]\n"
block: "one\ntwo\n"
`

// at renders a template, finds the origins of the text between brackets, and returns the first one as text.
func at(t *testing.T, template, values string) (string, []Origin) {
	t.Helper()
	r := example(template, values)
	out, err := r.render(t)
	if err != nil {
		t.Fatalf("%s: %v", template, err)
	}
	tr, err := r.trace(t, out)
	if err != nil {
		t.Fatalf("%s: %v", template, err)
	}
	const name = "top/templates/NOTES.txt"
	if err := tr.Why(name); err != nil {
		t.Fatalf("%s: %v\nshadow %q\nhelm   %q", template, err, tr.files[name].out, out[name])
	}
	text := out[name]
	i, j := strings.Index(text, "<")+1, strings.LastIndex(text, ">")
	if i <= 0 || j < i {
		t.Fatalf("%s: no brackets in %q", template, text)
	}
	return text[i:j], tr.At(name, i, j-i)
}

func spell(o Origin) string {
	switch o.Kind {
	case Value, Key:
		return fmt.Sprint(o.Kind, " ", strings.Join(o.Path, "."), " ", o.Role)
	case Text:
		return fmt.Sprint("text ", o.Line, " ", o.Role)
	case File:
		return fmt.Sprint("file ", o.Name, " ", o.Offset, " ", o.Role)
	case Random, Lookup:
		return fmt.Sprint(o.Kind, " ", o.Name, " ", o.Role)
	}
	return fmt.Sprint(o.Kind, " ", strings.Join(o.Path, "."), " ", o.Role)
}

func TestOriginsOfFunctions(t *testing.T) {
	for _, test := range []struct{ template, text, origin string }{
		{`<{{ .Values.name }}>`, "web", "value name verbatim"},
		{`<literal>`, "literal", "text 1 verbatim"},
		{"\n\n<{{ \"lit\" }}>", "lit", "text 3 verbatim"},
		{`<{{ .Values.count }}>`, "3", "value count verbatim"},
		{`<{{ .Values.name | quote }}>`, `"web"`, "value name verbatim"},
		{`<{{ squote .Values.name }}>`, `'web'`, "value name verbatim"},
		{`<{{ .Values.name | upper | trunc 2 }}>`, "WE", "value name verbatim"},
		{`<{{ trimSuffix "b" .Values.name }}>`, "we", "value name verbatim"},
		{`<{{ trimPrefix "w" .Values.name }}>`, "eb", "value name verbatim"},
		{`<{{ printf "%s" .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ print .Values.name }}>`, "web", "value name verbatim"},
		{`{{ printf "a-%s-%d<" .Values.name 5 }}x>`, "x", "text 1 verbatim"},
		{`{{ printf "%s<%v>" .Values.name .Values.count }}`, "3", "value count verbatim"},
		{`<{{ replace "." "-" .Values.tag }}>`, "v1-2", "value tag verbatim"},
		{`<{{ regexReplaceAll "[.]" .Values.tag "-" }}>`, "v1-2", "value tag verbatim"},
		{`<{{ .Values.name | b64enc }}>`, "d2Vi", "value name derived"},
		{`<{{ default "zz" .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ default "zz" .Values.empty }}>`, "zz", "text 1 verbatim"},
		{`<{{ .Values.empty | default .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ coalesce .Values.empty .Values.missing .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ ternary .Values.name "no" .Values.flag }}>`, "web", "value name verbatim"},
		{`<{{ or .Values.empty .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ and .Values.flag .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ required "no" .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ not .Values.flag }}>`, "false", "value flag derived"},
		{`<{{ eq .Values.name "web" }}>`, "true", "value name derived"},
		{`<{{ index .Values.list 1 }}>`, "b", "value list.1 verbatim"},
		{`<{{ index .Values "map" "x" }}>`, "one", "value map.x verbatim"},
		{`<{{ get .Values.map "x" }}>`, "one", "value map.x verbatim"},
		{`<{{ dig "map" "sub" "z" "zz" .Values.AsMap }}>`, "deep", "value map.sub.z verbatim"},
		{`<{{ first .Values.list }}>`, "a", "value list.0 verbatim"},
		{`<{{ last .Values.list }}>`, "c", "value list.2 verbatim"},
		{`<{{ rest .Values.list | first }}>`, "b", "value list.1 verbatim"},
		{`<{{ append .Values.list "d" | last }}>`, "d", "text 1 verbatim"},
		{`<{{ concat (list "z") .Values.list | last }}>`, "c", "value list.2 verbatim"},
		{`<{{ reverse .Values.list | first }}>`, "c", "value list.2 verbatim"},
		{`<{{ without .Values.list "a" | first }}>`, "b", "value list.1 verbatim"},
		{`{{ range .Values.list }}{{ if eq . "b" }}<{{ . }}>{{ end }}{{ end }}`, "b", "value list.1 verbatim"},
		{`{{ range $k, $v := .Values.map }}{{ if eq $k "x" }}<{{ $k }}>{{ end }}{{ end }}`, "x", "key map.x verbatim"},
		{`{{ range $k, $v := .Values.map }}{{ if eq $k "x" }}<{{ $v }}>{{ end }}{{ end }}`, "one", "value map.x verbatim"},
		{`{{ join "" (list "<" .Values.name ">") }}`, "web", "value name verbatim"},
		{`<{{ join "," .Values.list }}>`, "a,b,c", "value list.0 verbatim"},
		{`<{{ index (splitList "." .Values.tag) 1 }}>`, "2", "value tag verbatim"},
		{`<{{ (split "." .Values.tag)._0 }}>`, "v1", "value tag derived"},
		{`<{{ include "name" . }}>`, "rel-web", "value name verbatim"},
		{`<{{ template "name" . }}>`, "rel-web", "value name verbatim"},
		{`<{{ tpl .Values.text . }}>`, "hello web", "value text verbatim"},
		{`{{ tpl "<{{ .Values.name }}>" . }}`, "web", "value name verbatim"},
		{`<{{ (dict "a" .Values.name).a }}>`, "web", "value name verbatim"},
		{`{{ $d := dict }}{{ $_ := set $d "a" .Values.name }}<{{ $d.a }}>`, "web", "value name verbatim"},
		{`{{ $_ := set .Values "fresh" .Values.tag }}<{{ .Values.fresh }}>`, "v1.2", "value tag verbatim"},
		{`<{{ (merge (dict) .Values.map).sub.z }}>`, "deep", "value map.sub.z verbatim"},
		{`<{{ (mergeOverwrite (deepCopy .Values.map) (dict "x" .Values.name)).x }}>`, "web", "value name verbatim"},
		{`<{{ (mergeOverwrite (deepCopy .Values.map) (dict "x" .Values.name)).w }}>`, "two", "value map.w verbatim"},
		{`<{{ (merge (dict "x" .Values.name) .Values.map).x }}>`, "web", "value name verbatim"},
		{`<{{ (deepCopy .Values.map).sub.z }}>`, "deep", "value map.sub.z verbatim"},
		{`{{ $m := deepCopy .Values.map }}{{ $_ := set $m "x" .Values.name }}<{{ $m.sub.z }}>`, "deep", "value map.sub.z verbatim"},
		{`{{ $m := deepCopy .Values.map }}{{ $_ := set $m.sub "y" .Values.name }}<{{ $m.w }}>`, "two", "value map.w verbatim"},
		{`{{ $m := deepCopy (dict "a" .Values.map "b" .Values.name) }}<{{ $m.a.sub.z }}>`, "deep", "value map.sub.z verbatim"},
		{`{{ $l := deepCopy (list .Values.tag .Values.name) }}<{{ index $l 1 }}>`, "web", "value name verbatim"},
		{`{{ $l := deepCopy (list (dict "a" .Values.tag "b" .Values.name)) }}<{{ (index $l 0).b }}>`, "web", "value name verbatim"},
		{`{{ $m := deepCopy (dict "l" (list (dict "a" .Values.tag "b" .Values.name))) }}<{{ (index $m.l 0).b }}>`, "web", "value name verbatim"},
		{`{{ .Values.map | toJson | squote }} <{{ .Values.name }}>`, "web", "value name verbatim"},
		{`{{ .Values.map | toJson | quote }} <{{ .Values.name }}>`, "web", "value name verbatim"},
		{`<{{ (pick .Values.map "x").x }}>`, "one", "value map.x verbatim"},
		{`<{{ (omit .Values.map "x").w }}>`, "two", "value map.w verbatim"},
		{`<{{ keys .Values.map | sortAlpha | last }}>`, "x", "key map.x verbatim"},
		{`<{{ (fromYaml .Values.yaml).k }}>`, "val", "value yaml verbatim"},
		{`<{{ index (fromYaml .Values.yaml).l 1 }}>`, "q", "value yaml verbatim"},
		{`<{{ (include "labels" . | fromYaml).app }}>`, "web", "value name verbatim"},
		{`<{{ (include "labels" . | fromYaml).tier }}>`, "back", "text 2 verbatim"},
		{`<{{ .Files.Get "conf/a.txt" | trim }}>`, "first\nsecond", "file conf/a.txt 0 verbatim"},
		{`<{{ index (.Files.Lines "conf/a.txt") 1 }}>`, "second", "file conf/a.txt 6 verbatim"},
		{`<{{ .Release.Name }}>`, "rel", "release Name verbatim"},
		{`<{{ .Chart.Version }}>`, "1.2.3", "chart Version verbatim"},
		{`<{{ .Capabilities.KubeVersion.Minor }}>`, "33", "capabilities KubeVersion.Minor verbatim"},
		{`<{{ randAlphaNum 4 | len }}>`, "4", "random randAlphaNum derived"},
		{`{{ $x := "a" }}{{ if .Values.flag }}{{ $x = .Values.name }}{{ end }}<{{ $x }}>`, "web", "value name verbatim"},
		{`{{ with .Values.map }}<{{ .x }}>{{ end }}`, "one", "value map.x verbatim"},
		{`{{ with $m := .Values.map }}<{{ $m.sub.z }}>{{ end }}`, "deep", "value map.sub.z verbatim"},
		{`{{ range $i, $e := .Values.list }}{{ if eq $i 1 }}{{ continue }}{{ end }}` +
			`{{ if eq $i 2 }}<{{ $e }}>{{ break }}{{ end }}{{ end }}`,
			"c", "value list.2 verbatim"},
		{`<{{ int .Values.count | add 1 }}>`, "4", "value count derived"},
		{`<{{ .Values.none | toYaml }}>`, "{}", "value none verbatim"},
	} {
		text, os := at(t, test.template, exampleValues)
		if text != test.text || len(os) == 0 || spell(os[0]) != test.origin {
			t.Errorf("%s: %q %v, want %q %s", test.template, text, os, test.text, test.origin)
		}
	}
}

func TestOriginsInEncodedValues(t *testing.T) {
	for _, test := range []struct{ template, find, origin string }{
		{`{{ toYaml .Values.map | nindent 2 }}`, "deep", "value map.sub.z verbatim"},
		{`{{ toYaml .Values.map | indent 2 }}`, "sub", "key map.sub verbatim"},
		{`{{ toYaml .Values.list }}`, "b", "value list.1 verbatim"},
		{`{{ toJson .Values.map }}`, "two", "value map.w verbatim"},
		{`{{ toPrettyJson .Values.map }}`, "deep", "value map.sub.z verbatim"},
		{`{{ toYaml (dict "a" (list .Values.tag 7) "t" .Values.block) }}`, "v1.2", "value tag verbatim"},
		{`{{ toYaml (dict "a" (list .Values.tag 7) "t" .Values.block) }}`, "7", "text 1 verbatim"},
		{`{{ toYaml (dict "a" (list .Values.tag 7) "t" .Values.block) | nindent 4 }}`, "two", "value block verbatim"},
		{`{{ include "labels" . | nindent 4 }}`, "web", "value name verbatim"},
		{`{{ (.Files.Glob "conf/*").AsConfig }}`, "second", "file conf/a.txt 6 verbatim"},
		{`{{ fromYaml (toYaml .Values.map) | toYaml }}`, "deep", "value map.sub.z verbatim"},
	} {
		r := example(test.template, exampleValues)
		out, err := r.render(t)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := r.trace(t, out)
		if err != nil {
			t.Fatal(err)
		}
		const name = "top/templates/NOTES.txt"
		os := tr.At(name, strings.Index(out[name], test.find), len(test.find))
		if len(os) == 0 || spell(os[0]) != test.origin {
			t.Errorf("%s: %s: %v (%v), want %s in\n%s", test.template, test.find, os, tr.Why(name), test.origin, out[name])
		}
	}
}

func TestFallbacksAndConditions(t *testing.T) {
	for _, test := range []struct{ template, origin string }{
		{`<{{ default "zz" .Values.empty }}>`, "value empty fallback"},
		{`<{{ .Values.missing | default .Values.name }}>`, "value missing fallback"},
		{`<{{ or .Values.empty "x" }}>`, "value empty fallback"},
		{`{{ if .Values.flag }}<x>{{ end }}`, "value flag condition"},
		{`{{ if not .Values.empty }}<x>{{ end }}`, "value empty condition"},
		{`{{ if .Values.empty }}{{ else }}<x>{{ end }}`, "value empty condition"},
		{`{{ with .Values.map }}{{ range $.Values.list }}{{ if eq . "b" }}<x>{{ end }}{{ end }}{{ end }}`,
			"value map condition"},
		{`{{ $x := "a" }}{{ if .Values.flag }}{{ $x = "b" }}{{ end }}<{{ $x }}>`, "value flag condition"},
		{`<{{ ternary "a" "b" .Values.flag }}>`, "value flag condition"},
		{`<{{ include "name" . }}>`, "release Name verbatim"},
	} {
		_, os := at(t, test.template, exampleValues)
		if !slices.ContainsFunc(os, func(o Origin) bool { return spell(o) == test.origin }) {
			t.Errorf("%s: %v, want %s among them", test.template, os, test.origin)
		}
	}
}

func TestGlobalsOfSubchartsComeFromTheParent(t *testing.T) {
	r := example("a: b\n", "global: {registry: r.example}\nsub: {image: i}\n")
	r.files = append(r.files, helm.File{Name: "charts/sub/Chart.yaml",
		Data: []byte("apiVersion: v2\nname: sub\nversion: 0.1.0\n")},
		helm.File{Name: "charts/sub/templates/s.yaml",
			Data: []byte("x: {{ .Values.global.registry }}/{{ .Values.image }}\n")})
	out, err := r.render(t)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := r.trace(t, out)
	if err != nil {
		t.Fatal(err)
	}
	const name = "top/charts/sub/templates/s.yaml"
	os := tr.At(name, 3, len("r.example/i"))
	if len(os) != 3 || spell(os[0]) != "value global.registry verbatim" || spell(os[1]) != "value sub.image verbatim" {
		t.Errorf("%q: %v", out[name], os)
	}
}

func TestAbsentFields(t *testing.T) {
	for _, test := range []struct {
		template, parent string
		keys             []string
		path             string
		onOff            bool
	}{
		{"a:\n  b: 1\n{{- with .Values.none }}\n  sec:\n    {{- toYaml . | nindent 4 }}\n{{- end }}\n", "b: 1",
			[]string{"sec", "run"}, "none.run", false},
		{"a:\n  {{- toYaml .Values.map | nindent 2 }}\n", "sub:", []string{"new", "k"}, "map.new.k", false},
		{"a: {{ toYaml .Values.none }}\n", "{}", []string{"cpu"}, "none.cpu", false},
		{"a:\n  b: 1\n{{- if .Values.empty }}\n  host: true\n{{- end }}\n", "b: 1", []string{"host"}, "empty", true},
		{"a:\n  b: 1\n{{- if .Values.empty }}\n  host: {{ .Values.hostName }}\n{{- end }}\n", "b: 1",
			[]string{"host"}, "hostName", false},
		{"a:\n  b: 1\n  {{- include \"x\" . | nindent 2 }}\n" +
			"{{ define \"x\" }}{{ with .Values.none }}sec: {{ toYaml . | nindent 2 }}{{ end }}{{ end }}", "b: 1", []string{"sec", "run"}, "none.run", false},
		// Maps that are merged with empty ones, however they are printed.
		{"a:\n{{- range $k, $v := merge (dict \"x\" \"z\") (.Values.labels | default dict) }}\n  {{ $k }}: {{ $v }}\n" +
			"{{- end }}\n", "x: z", []string{"team"}, "labels.team", false},
		{"a:\n  {{- merge (dict \"x\" \"z\") (default dict .Values.labels) | toYaml | nindent 2 }}\n", "x: z",
			[]string{"team"}, "labels.team", false},
		{"{{ $o := toYaml .Values.map | fromYaml }}a:\n" +
			"{{- range $k, $v := merge (dict \"q\" \"z\") ($o.labels | default dict) }}\n" +
			"  {{ printf \"%s: %s\" $k $v }}\n{{- end }}\n", "q: z", []string{"team"}, "map.labels.team", false},
		{"a:\n  {{- merge (dict \"q\" \"z\") (include \"g\" . | fromYaml) | toYaml | nindent 2 }}\n" +
			"{{ define \"g\" }}x: z\n{{ with .Values.none }}{{ toYaml . }}{{ end }}{{ end }}", "q: z\n  x: z",
			[]string{"team"}, "none.team", false},
		{"a:\n  b: 1\n{{- with merge (.Values.labels | default dict) (dict) }}\n" +
			"  labels: {{- toYaml . | nindent 4 }}\n{{- end }}\n", "b: 1", []string{"labels", "team"}, "labels.team", false},
		{"a:\n  b: 1\n", "b: 1", []string{"sec"}, "", false},
	} {
		r := example(test.template, exampleValues)
		out, err := r.render(t)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := r.trace(t, out)
		if err != nil {
			t.Fatal(err)
		}
		const name = "top/templates/NOTES.txt"
		cs := tr.Absent(name, strings.Index(out[name], test.parent), len(test.parent), test.keys)
		got := ""
		if len(cs) > 0 {
			got = strings.Join(cs[0].Path, ".")
		}
		if got != test.path || len(cs) > 0 && cs[0].Switch != test.onOff {
			t.Errorf("%s: %v: %v, want %s", test.template, test.keys, cs, test.path)
		}
	}
}

// Steps are the same on any machine.
func TestStepsDoNotDependOnTheMachine(t *testing.T) {
	steps := func(template string) int {
		r := example(template, exampleValues)
		out, err := r.render(t)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := r.trace(t, out)
		if err != nil {
			t.Fatal(err)
		}
		tr.At("top/templates/NOTES.txt", 0, 1) // At adds no steps
		return tr.Steps()
	}
	short, long := steps(`{{ range 10 }}{{ . }}{{ end }}`), steps(`{{ range 1000 }}{{ . }}{{ end }}`)
	if again := steps(`{{ range 1000 }}{{ . }}{{ end }}`); short < 10 || long < short+990 || again != long {
		t.Errorf("%d, %d and %d again", short, long, again)
	}
}

func TestUnlimitedTemplatesAreStopped(t *testing.T) {
	for _, template := range []string{
		`{{ define "b" }}{{ include "b" . }}{{ end }}{{ include "b" . }}`,
		`{{ define "b" }}{{ template "b" . }}{{ end }}{{ template "b" . }}`,
		`{{ range 100000000 }}{{ range 100000000 }}{{ end }}{{ end }}`,
		`{{ range 100000000 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}`,
		`{{ $x := "{{ tpl .y . }}" }}{{ tpl $x (dict "y" $x) }}`,
	} {
		in, err := bombInput(template)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"top/templates/NOTES.txt": ""}
		tr, err := run(t.Context(), in, want, Limits{Steps: 200_000, Bytes: 1 << 20})
		if err == nil && tr.Accepted("top/templates/NOTES.txt") {
			t.Errorf("%s: accepted", template)
		}
	}
}

func bombInput(template string) (*helm.Input, error) {
	r := example(template, exampleValues)
	c, err := r.load()
	if err != nil {
		return nil, err
	}
	return c.Input(r.options())
}
