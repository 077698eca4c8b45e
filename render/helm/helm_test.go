package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template/parse"

	"helm.sh/helm/v4/pkg/engine"

	"github.com/lintel-bot/lintel/render/helm"
)

const chartYAML = "apiVersion: v2\nname: app\nversion: 1.2.3\n"

// tree returns files from pairs of name and content.
func tree(pairs ...string) []helm.File {
	var files []helm.File
	for i := 0; i+1 < len(pairs); i += 2 {
		files = append(files, helm.File{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	return files
}

// app returns a chart with templates and values.
func app(t testing.TB, pairs ...string) *helm.Chart {
	t.Helper()
	files := tree(pairs...)
	if !slices.ContainsFunc(files, func(f helm.File) bool { return f.Name == "Chart.yaml" }) {
		files = append(files, tree("Chart.yaml", chartYAML)...)
	}
	c, err := helm.Load(files, helm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func render(t testing.TB, c *helm.Chart, o helm.Options) *helm.Output {
	t.Helper()
	o.Name = "rel"
	out, err := c.Render(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func values(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := helm.ParseValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func pack(t testing.TB, folder string, files []helm.File) string {
	t.Helper()
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: folder + "/" + f.Name, Size: int64(len(f.Data)), Mode: 0o644,
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return data.String()
}

func TestHooksAreChosenByNameAndEvents(t *testing.T) {
	c := app(t, "templates/a.yaml", "kind: A\nmetadata: {name: a, annotations: {helm.sh/hook: 'test, post-install'}}\n",
		"templates/b.yaml", "kind: B\nmetadata: {name: b, annotations: {helm.sh/hook: test-success}}\n",
		"templates/c.yaml", "kind: C\nmetadata: {name: c, annotations: {helm.sh/hook: post-install}}\n")
	var asked []string
	hooks := func(name string, events []string) bool {
		asked = append(asked, name+" "+strings.Join(events, " "))
		return name == "b"
	}
	for _, one := range []struct {
		options helm.Options
		want    string
	}{{helm.Options{}, "C"}, {helm.Options{Hooks: hooks}, "B"}} {
		out := render(t, c, one.options)
		if len(out.Manifests) != 1 || !strings.HasPrefix(out.Manifests[0].Text, "kind: "+one.want) {
			t.Errorf("%d manifests, want %s", len(out.Manifests), one.want)
		}
	}
	slices.Sort(asked)
	if want := []string{"a test post-install", "b test", "c post-install"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestOutputIsThatOfHelmTemplate(t *testing.T) {
	c := app(t,
		"values.yaml", "replicas: 2\nname: x\n",
		"crds/a.yaml", "kind: CustomResourceDefinition\nmetadata: {name: a}\n",
		"templates/_h.tpl", `{{ define "n" }}{{ .Values.name }}-{{ .Release.Name }}{{ end }}`,
		"templates/NOTES.txt", "thanks",
		"templates/.hidden.yaml", "kind: Hidden",
		"templates/b.yaml", "---\n# one\nkind: Deployment\nn: {{ include \"n\" . }}\n---\nkind: Service\nr: {{ .Values.replicas }}\n",
		"templates/empty.yaml", "{{ if .Values.none }}kind: None{{ end }}\n",
		"templates/hook.yaml", "kind: Job\nmetadata:\n  annotations:\n    helm.sh/hook: pre-install\n",
		"templates/test.yaml", "kind: Pod\nmetadata:\n  annotations:\n    helm.sh/hook: test\n",
		"templates/a.yaml", "kind: Namespace\nv: {{ .Capabilities.KubeVersion.Version }} {{ .Values.gone }}\n",
	)
	out := render(t, c, helm.Options{})
	want := `---
# Source: app/crds/a.yaml
kind: CustomResourceDefinition
metadata: {name: a}

---
# Source: app/templates/a.yaml
kind: Namespace
v: v1.37.0 

---
# Source: app/templates/b.yaml
kind: Service
r: 2

---
# Source: app/templates/b.yaml
# one
kind: Deployment
n: x-rel
---
# Source: app/templates/hook.yaml
kind: Job
metadata:
  annotations:
    helm.sh/hook: pre-install

`
	if got := out.Text(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	for _, m := range out.Manifests {
		if m.CRD {
			continue
		}
		if file := out.Files[m.Template]; m.Offset < 0 || !strings.HasPrefix(file[m.Offset:], m.Text) {
			t.Errorf("%s is not at %d", m.Template, m.Offset)
		}
		if m.File == "" || "app/"+m.File != m.Template {
			t.Errorf("%s is said to be %q", m.Template, m.File)
		}
	}
	if without := render(t, c, helm.Options{SkipCRDs: true, Hooks: func(string, []string) bool { return false }}); len(without.Manifests) != 3 {
		t.Errorf("without CRDs and hooks there are %d manifests", len(without.Manifests))
	}
}

func flat(files []helm.File) (pairs []string) {
	for _, f := range files {
		pairs = append(pairs, f.Name, string(f.Data))
	}
	return pairs
}

// A chart that reads API versions in other ways than by Has may depend on any of them.
func TestChartsThatMayReadAllAPIVersions(t *testing.T) {
	for template, want := range map[string]bool{
		`{{ .Capabilities.APIVersions.Has "a/v1" }}{{ $.Capabilities.KubeVersion.Minor }}`: false,
		`a: b`: false,
		`{{ range .Capabilities.APIVersions }}{{ . }}{{ end }}`:                        true,
		`{{ $c := .Capabilities }}{{ $c.KubeVersion.Minor }}`:                          true,
		`{{ toJson .Capabilities }}`:                                                   true,
		`{{ get .Capabilities "APIVersions" }}`:                                        true,
		`{{ tpl "{{ .Capabilities.APIVersions | len }}" . }}`:                          true,
		`{{ tpl .Values.text . }}`:                                                     true,
		`{{ if false }}{{ has "a/v1" .Capabilities.APIVersions }}{{ end }}`:            true,
		`{{ (dict "v" .Capabilities.APIVersions.Has).v }}{{/* .APIVersions.Has */ -}}`: false,
	} {
		out, err := app(t, "templates/a.yaml", template).Render(t.Context(), helm.Options{
			Values: map[string]any{"text": `{{ index .Capabilities "APIVersions" | len }}`}})
		if err == nil && out.Listed != want {
			t.Errorf("%s: listed is %v", template, out.Listed)
		}
	}
}

func TestOutputNotesWhatTheChartAsked(t *testing.T) {
	c := app(t, "templates/a.yaml", `kind: A
{{ if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" }}b: 1{{ end }}
{{ if .Capabilities.APIVersions.Has "apps/v1" }}c: 1{{ end }}
{{ if has "x.example/v1" .Capabilities.APIVersions }}d: 1{{ end }}
v: {{ .Capabilities.HelmVersion.Version }} {{ .Capabilities.KubeVersion.Minor }} {{ .Release.Revision }} {{ .Release.Service }}
s: {{ (lookup "v1" "Secret" "ns" "s").data }}
t: {{ (lookup "v1" "Secret" "ns" "known").data.k }}
`)
	o := helm.Options{Kubernetes: "1.33", APIVersions: []string{"x.example/v1"},
		Lookup: func(_, _, _, name string) (map[string]any, bool) {
			return map[string]any{"data": map[string]any{"k": "yes"}}, name == "known"
		}}
	out := render(t, c, o)
	want := "kind: A\n\nc: 1\nd: 1\nv: v4.3.1 33 1 Helm\ns: \nt: yes\n"
	if got := out.Files["app/templates/a.yaml"]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(out.Absent, []string{"monitoring.coreos.com/v1/ServiceMonitor"}) {
		t.Errorf("absent: %v", out.Absent)
	}
	if !slices.Equal(out.Present, []string{"apps/v1"}) || !out.Listed {
		t.Errorf("present: %v, listed: %v", out.Present, out.Listed)
	}
	if !slices.Equal(out.Lookups, []helm.Lookup{{APIVersion: "v1", Kind: "Secret", Namespace: "ns", Name: "s"}}) {
		t.Errorf("lookups: %v", out.Lookups)
	}
	if kinds := helm.KubernetesKinds(""); !slices.Contains(kinds, "apps/v1/Deployment") || !slices.Contains(kinds, "v1/Pod") {
		t.Error("kinds of Kubernetes are missing")
	}
}

func cause(t testing.TB, err error) *helm.Error {
	t.Helper()
	e, ok := errors.AsType[*helm.Error](err)
	if !ok {
		t.Fatalf("%v is not an *Error", err)
	}
	return e
}

func TestErrorsHaveCauseAndPlace(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		want  helm.Error
	}{
		"required": {[]string{"templates/_h.tpl", "\n{{ define \"h\" }}\n{{ required \"set x\" .Values.x }}{{ end }}",
			"templates/a.yaml", "kind: A\na: {{ include \"h\" . }}"},
			helm.Error{Cause: helm.CauseRequired, File: "templates/_h.tpl", Line: 3, Message: "set x"}},
		"fail": {[]string{"templates/a.yaml", "kind: A\n{{ fail \"no\\nway\" }}"},
			helm.Error{Cause: helm.CauseFail, File: "templates/a.yaml", Line: 2, Message: "no way"}},
		"syntax": {[]string{"templates/a.yaml", "kind: A\n\n{{ if }}"},
			helm.Error{Cause: helm.CauseSyntax, File: "templates/a.yaml", Line: 3, Message: "missing value for if"}},
		"unknown function": {[]string{"templates/a.yaml", "{{ env \"HOME\" }}"},
			helm.Error{Cause: helm.CauseSyntax, File: "templates/a.yaml", Line: 1, Message: "function \"env\" not defined"}},
		"field of nil": {[]string{"templates/a.yaml", "a:\n  {{ .Values.a.b.c }}"},
			helm.Error{Cause: helm.CauseTemplate, File: "templates/a.yaml", Line: 2,
				Message: "<.Values.a.b.c>: nil pointer evaluating interface {}.b"}},
		"tpl": {[]string{"templates/a.yaml", "a: {{ tpl .Values.t . }}", "values.yaml", "t: 's3cret {{ fail \"x\" }}'\n"},
			helm.Error{Cause: helm.CauseFail, File: "templates/a.yaml", Line: 1, Message: "x"}},
		"tpl syntax": {[]string{"templates/a.yaml", "a: {{ tpl .Values.t . }}", "values.yaml", "t: 's3cret {{ if }}'\n"},
			helm.Error{Cause: helm.CauseTemplate, File: "templates/a.yaml", Line: 1,
				Message: "cannot parse the text that is given to tpl: missing value for if"}},
		"value quoted by an error": {[]string{"templates/a.yaml", "a: {{ mustToDate \"2006\" .Values.s }}", "values.yaml", "s: s3cret\n"},
			helm.Error{Cause: helm.CauseTemplate, File: "templates/a.yaml", Line: 1,
				Message: "<mustToDate \"2006\" .Values.s>: error calling mustToDate: parsing time … as …: cannot parse … as …"}},
		"range over a text": {[]string{"templates/a.yaml", "{{ range .Values.s }}{{ end }}", "values.yaml", "s: \"a\\ns3cret\"\n"},
			helm.Error{Cause: helm.CauseTemplate, File: "templates/a.yaml", Line: 1,
				Message: "<.Values.s>: range can't iterate over …"}},
		"value like an alias": {[]string{"templates/a.yaml", "a: {{ .Values.s }}", "values.yaml", "s: '*s3cret'\n"},
			helm.Error{Cause: helm.CauseOutput, File: "templates/a.yaml", Message: "prints what is not YAML: unknown anchor …"}},
		"output that is not YAML": {[]string{"templates/a.yaml", "kind: A\n  b: c"}, helm.Error{Cause: helm.CauseOutput,
			File: "templates/a.yaml", Message: "prints what is not YAML: line 2: mapping values are not allowed in this context"}},
		"library": {[]string{"Chart.yaml", chartYAML + "type: library\n"}, helm.Error{Cause: helm.CauseLibrary,
			File: "Chart.yaml", Line: 4, Message: "is a library chart, which cannot be installed"}},
		"kubernetes": {[]string{"Chart.yaml", chartYAML + "kubeVersion: '>=1.99'\n"}, helm.Error{Cause: helm.CauseVersion,
			File: "Chart.yaml", Line: 4, Message: "requires Kubernetes >=1.99 and is rendered for v1.37.0"}},
		"schema": {[]string{"values.yaml", "a: {b: s3cret}\n",
			"values.schema.json", `{"properties":{"a":{"properties":{"b":{"pattern":"^x"},"c":{"type":"string"}}}}}`},
			helm.Error{Cause: helm.CauseSchema, File: "values.schema.json", Message: "does not allow the values: a.b must match ^x",
				Paths: [][]string{{"a", "b"}}}},
		"schema of a subchart": {[]string{"charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n",
			"charts/s/values.yaml", "k: text\n", "charts/s/values.schema.json", `{"properties":{"k":{"type":"integer"}}}`},
			helm.Error{Cause: helm.CauseSchema, File: "charts/s/values.schema.json",
				Message: "does not allow the values: s.k must be integer and is string", Paths: [][]string{{"s", "k"}}}},
		"scalar at the key of a subchart": {[]string{"charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n", "values.yaml", "s: 1\n"},
			helm.Error{Cause: helm.CauseValues,
				Message: "cannot merge the values: the key of a subchart holds something other than a map"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := app(t, test.files...).Render(t.Context(), helm.Options{Name: "rel"})
			if err == nil {
				t.Fatal("no error")
			}
			got := *cause(t, err)
			got.Template = ""
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v has a value in it", err)
			}
		})
	}
}

// TestReportedErrorIsAlwaysTheSame renders a chart with several errors: the same one is always reported.
func TestReportedErrorIsAlwaysTheSame(t *testing.T) {
	bomb := "a: &a [x]\nb: &b [" + strings.Repeat("*a,", 50) + "]\nc: &c [" + strings.Repeat("*b,", 50) + "]\nd: [" +
		strings.Repeat("*c,", 500) + "]\n"
	for _, text := range []string{"kind: A\n  b: c", bomb} {
		c := app(t, "templates/a.yaml", text, "templates/b.yaml", text, "templates/c.yaml", text, "templates/d.yaml", text)
		for range 20 {
			_, err := c.Render(t.Context(), helm.Options{})
			if err == nil {
				t.Fatal("no error")
			}
			if e := cause(t, err); e.File != "templates/a.yaml" {
				t.Fatalf("the first error is %v", e)
			}
		}
	}
}

// TestTemplatesAreParsedOnce compares the trees of two inputs of one chart.
func TestTemplatesAreParsedOnce(t *testing.T) {
	c := app(t, "templates/_h.tpl", `{{ define "h" }}x{{ end }}`, "templates/a.yaml", `a: {{ template "h" }}`)
	var trees []map[string]*parse.Tree
	for range 2 {
		in, err := c.Input(helm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		of, err := in.Trees()
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, of)
	}
	if h := trees[0]["h"]; h == nil || h.ParseName != "app/templates/_h.tpl" || h != trees[1]["h"] {
		t.Errorf("a template is parsed twice, or is said to be of another file: %v", h)
	}
	if a := trees[0]["app/templates/a.yaml"].Root.String(); a != `a: {{include "h" nil}}` {
		t.Errorf("the action template is %s", a)
	}
}

// TestFunctionsAreThoseOfHelm compares each function that Helm's engine does not export with the engine.
func TestFunctionsAreThoseOfHelm(t *testing.T) {
	calls := strings.Split(strings.TrimSpace(`
toYaml .Values | toYaml .Values.s | mustToYaml .Values.l | toYamlPretty .Values | toJson .Values
mustToJson .Values.m | toToml .Values.m | mustToToml .Values.m | toToml 3 | fromToml "a = 1\nb=[1,2]"
fromToml "a" | fromYaml "a: 1\nb: [x]" | fromYaml "- a" | fromYaml "a: b: c" | fromYamlArray "- 1\n- a"
fromYamlArray "a: 1" | fromJson "{\"a\": 12345678901}" | fromJson "[" | fromJsonArray "[1]" | fromJsonArray "{}"
mustToDuration "1h" | mustToDuration 5 | durationSeconds "90m" | durationMilliseconds "2.5"
durationMicroseconds 3 | durationNanoseconds 2.5 | durationMinutes "2h" | durationHours "90m"
durationDays "36h" | durationWeeks "14d" | durationWeeks 1209600 | durationRoundTo "2h13m" "1h"
durationTruncateTo "2h53m" "1h" | durationRoundTo "2h13m" "x" | durationSeconds nil | durationSeconds .Values.m
durationHours -9223372036854775807 | durationSeconds "1e300" | durationSeconds " 5 " | indent 2 "a\nb"
nindent 4 "a\nb\n" | nindent 0 "" | repeat 3 "ab" | repeat 0 "a" | until 4 | until -3 | untilStep 0 10 3
untilStep 5 1 -2 | untilStep 3 1 1 | seq 5 | seq -3 | seq 2 5 | seq 0 2 10 | seq 10 -3 0 | seq 5 1
replace "a" "bb" "banana" | replace "" "-" "abc" | print "a" 1 2 "b" | println 1 | printf "%s-%d" "x" 3
cat "a" nil 3 | required "m" 3 | required "m" false | getHostByName "localhost" | keys .Values.m
values .Values.m | htmlDateInZone 0 "UTC" | date "2006-01-02" 0 | dateInZone "15:04" 3600 "Europe/Berlin"
toDate "2006-01-02" "2024-02-29" | durationRound "400h" | durationRound 100 | ago nil
derivePassword 1 "long" "p" "u" "s" | tpl "{{ .Values.s }} {{ .x }}" . | tpl "plain" . | tpl "" .
tpl .Values.t . | include "h" . | include "h" nil | lookup "v1" "Pod" "a" "b" | genPrivateKey "none"
randAlpha 0 | tpl "{{ define \"own\" }}O{{ end }}{{ include \"own\" . }}{{ template \"h\" . }}" .
typeOf .Values | kindOf .Files | .Files.Get "f.txt" | (.Files.Glob "*.txt").AsConfig | .Capabilities.APIVersions
.Capabilities | toYaml .Capabilities.KubeVersion
mustToRawJson .Values.m | toPrettyJson .Values.l | quote .Values.l nil | squote 1 "a" | join "," .Values.l | join "," nil
join "-" "a" | b64enc "x" | b32enc "x" | wrapWith 3 "-" "abcdefgh" | wrapWith 0 "-" "ab" | concat .Values.l (list 1)
regexReplaceAll "a(.)" "abac" "${1}x" | regexReplaceAllLiteral "a" "aba" "$0" | mustRegexReplaceAll "(a)" "ba" "$1$1"
mustRegexReplaceAllLiteral "a" "ba" "$1" | toString .Values.m | mustToPrettyJson .Values.l | toYaml (set (dict) "a" 1)
toYaml (set (deepCopy .Values.m) "own" (dict "a" 1)) | typeOf (deepCopy .Values) | toYaml (mustDeepCopy .Values)
typeOf (deepCopy (list 1 "a")) | typeOf (deepCopy (dict "a" (list)).a) | toJson (deepCopy (dict "a" nil "b" (dict) "c" (list) "d" (tuple 1 nil)))
toJson (deepCopy .Chart) | typeOf (deepCopy (splitList "," "a,b")) | toJson (deepCopy (dict "a" (splitList "," "a,b"))) | deepCopy 3.5
(deepCopy .Values).s | len (append (deepCopy .Values.l) 1) | typeOf (deepCopy (until 2)) | toJson (deepCopy (dict "a" .Values))
`), "\n")
	var templates []string
	for _, line := range calls {
		for _, call := range strings.Split(line, " | ") {
			templates = append(templates, "{{ "+call+" }}")
		}
	}
	c := app(t, "values.yaml", "s: text\nl: [1, two, 3.5, null]\nm: {one: 1}\nt: 'a {{ .Values.s }}'\n", "f.txt", "x",
		"templates/_h.tpl", `{{ define "h" }}[{{ .Values }}]{{ end }}`,
		"templates/NOTES.txt", "#"+strings.Join(templates, "\n#"), "templates/b/NOTES.txt", `#{{ template "h" . }}{{ template "h" }}{{ block "k" . }}{{ $ }}{{ end }}`)
	in, err := c.Input(helm.Options{Name: "rel"})
	if err != nil {
		t.Fatal(err)
	}
	ours := render(t, c, helm.Options{}).Files
	helms, err := engine.Engine{}.RenderWithContext(t.Context(), in.Chart, in.Top)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(helms)) {
		a, b := strings.Split(ours[name], "\n"), strings.Split(helms[name], "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("%s:%d: ours %q, Helm's %q", name, i+1, a[i], b[i])
				break
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s has %d lines, Helm's %d", name, len(a), len(b))
		}
	}
}

func TestRandomFunctionsAreRepeatable(t *testing.T) {
	chart := func(before string) *helm.Chart {
		return app(t, "templates/_h.tpl", `{{ define "r" }}{{ randAlphaNum 20 }}{{ end }}`, "templates/0.yaml", before+"kind: Z",
			"templates/a.yaml", `kind: A
a: {{ randAlphaNum 12 }} {{ randAlphaNum 12 }} {{ randAlpha 5 }} {{ randNumeric 5 }} {{ randAscii 8 | quote }} {{ randBytes 16 }}
b: {{ uuidv4 }} {{ randInt 3 9 }} {{ shuffle "abcdefgh" }} {{ bcrypt "x" }} {{ htpasswd "u" "p" }} {{ encryptAES "k" "text" }}
c: {{ now | date "2006-01-02T15:04:05" }} {{ now | unixEpoch }} {{ ago now }} {{ dateInZone "2006" "x" "UTC" }} {{ htmlDate now }}
{{ $ca := genCA "ca" 365 }}{{ $c := genSignedCert "cn" (list "10.0.0.1") (list "a.example") 30 $ca }}
{{ $w := genCAWithKey "w" 3 (genPrivateKey "ecdsa") }}{{ $s := genSignedCertWithKey "s" nil nil 3 $w (genPrivateKey "ed25519") }}
{{ $x := buildCustomCert (b64enc $ca.Cert) (b64enc $ca.Key) }}{{ $y := genSignedCert "y" nil nil 3 $x }}
{{ $z := genSelfSignedCert "z" nil nil 3 }}{{ $v := genSelfSignedCertWithKey "z" nil nil 3 (genPrivateKey "rsa") }}
d: {{ list $ca $c $w $s $y $z $v (genPrivateKey "dsa") | toJson }}
e: {{ decryptAES "k" (encryptAES "k" "plain") }} {{ include "r" . }}
`)
	}
	first := render(t, chart(""), helm.Options{}).Files["app/templates/a.yaml"]
	for name, got := range map[string]string{
		"a second time":                      render(t, chart(""), helm.Options{}).Files["app/templates/a.yaml"],
		"after another file's random values": render(t, chart("a: {{ randAlphaNum 12 }}{{ include \"r\" . }}\n"), helm.Options{}).Files["app/templates/a.yaml"],
	} {
		if got != first {
			t.Errorf("it differs %s:\n%s\n%s", name, got, first)
		}
	}
	words := strings.Fields(first)
	if words[3] == words[4] {
		t.Error("two calls are equal")
	}
	if !strings.Contains(first, "e: plain ") || !strings.Contains(first, "2025-01-01T00:00:00 1735689600 0s 2025 2025-01-01") {
		t.Error(first)
	}
	checkKeys(t, first)
	out, err := chart("").Render(t.Context(), helm.Options{Name: "another"})
	if err != nil {
		t.Fatal(err)
	}
	if out.Files["app/templates/a.yaml"] == first {
		t.Error("another release has the same random values")
	}
	if !slices.Contains(out.Frozen, "genCA") || !slices.Contains(out.Frozen, "now") {
		t.Errorf("frozen: %v", out.Frozen)
	}
}

func TestSchemaNeverFetches(t *testing.T) {
	for _, ref := range []string{"http://127.0.0.1:1/x", "https://schemas.example/x.json", "file:///etc/hostname", "other.json"} {
		c := app(t, "values.schema.json", `{"properties":{"a":{"$ref":"`+ref+`"}}}`, "templates/a.yaml", "kind: A")
		if out := render(t, c, helm.Options{}); !slices.Equal(out.Unvalidated, []string{"app"}) {
			t.Errorf("%s: not validated: %v", ref, out.Unvalidated)
		}
	}
	c := app(t, "values.schema.json", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"properties":{
		"a":{"$ref":"#/definitions/a"}}}},"$ref":"#/definitions/a"}`, "values.yaml", "a: {a: {a: {}}}", "templates/a.yaml", "kind: A")
	if out := render(t, c, helm.Options{}); len(out.Unvalidated) > 0 {
		t.Errorf("a schema of its own is not validated: %v", out.Unvalidated)
	}
}

func TestConcurrentRendersAreEqual(t *testing.T) {
	c := app(t, "Chart.yaml", chartYAML+"dependencies:\n- {name: s, version: 1.x, alias: x, import-values: [{child: a, parent: b}]}\n"+
		"- {name: s, version: 1.x, condition: s.on}\n",
		"charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n", "charts/s/values.yaml", "a: {c: 1}\n",
		"charts/s/templates/a.yaml", "kind: S\nv: {{ toJson .Values }}{{ $_ := set .Values.a \"d\" 5 }}\n",
		"templates/a.yaml", "kind: A\nv: {{ toJson .Values }}\n{{ $_ := set .Values \"z\" 1 }}{{ $_ := unset .Values.b \"c\" }}")
	given := values(t, "b: {u: 1}\ns: {on: true}\n")
	want := render(t, c, helm.Options{Values: given}).Text()
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			out, err := c.Render(t.Context(), helm.Options{Name: "rel", Values: given})
			if err != nil || out.Text() != want {
				t.Errorf("render %d differs: %v", i, err)
			}
		})
	}
	group.Wait()
	if !reflect.DeepEqual(given, values(t, "b: {u: 1}\ns: {on: true}\n")) {
		t.Error("the values that were given are changed")
	}
}

func TestKubernetesKinds(t *testing.T) {
	for _, c := range []struct {
		version, kind string
		want          bool
	}{
		{"1.24", "policy/v1beta1/PodDisruptionBudget", true},
		{"1.25", "policy/v1beta1/PodDisruptionBudget", false},
		{"1.33", "policy/v1/PodDisruptionBudget", true},
		{"v1.18.3", "networking.k8s.io/v1/Ingress", false},
		{"1.19", "networking.k8s.io/v1/Ingress", true},
		{"1.33", "resource.k8s.io/v1beta1/DeviceClass", false},
		{"1.33", "v1/Pod", true},
		{"", "apps/v1/Deployment", true},
		{"next", "apps/v1/Deployment", false},
	} {
		if got := slices.Contains(helm.KubernetesKinds(c.version), c.kind); got != c.want {
			t.Errorf("Kubernetes %s: %s %t", c.version, c.kind, got)
		}
	}
}

func TestHasWord(t *testing.T) {
	for text, want := range map[string][2]bool{ // with fields, and without
		"kind: Role":                  {true, true},
		"Role":                        {true, true},
		`{{ include "Role" . }}`:      {true, true},
		"RoleBinding, ClusterRole":    {},
		"Rolé, _Role, Role2":          {},
		".Release.Role":               {true, false},
		".Values.Role.x, kind: Role.": {true, true},
		"RoleRole Role":               {true, true},
		"":                            {},
	} {
		for i, fields := range []bool{true, false} {
			if got := helm.HasWord([]byte(text), "Role", fields); got != want[i] {
				t.Errorf("%q, fields %v: %v", text, fields, got)
			}
		}
	}
}
