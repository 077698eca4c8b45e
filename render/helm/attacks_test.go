package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/helm"
)

// TestUnlimitedChartsAreStopped renders charts that need unlimited time, memory or depth. Each render ends with an error that says so.
func TestUnlimitedChartsAreStopped(t *testing.T) {
	doubling := strings.Repeat(`{{ $x = print $x $x }}`, 60)
	var cycle, chain strings.Builder
	for i := range 300 {
		fmt.Fprintf(&cycle, `{{ define "c%d" }}{{ include "c%d" . }}{{ end }}`, i, (i+1)%300)
		fmt.Fprintf(&chain, `{{ define "d%d" }}{{ template "d%d" . }}{{ end }}`, i, (i+1)%300)
	}
	for name, files := range map[string][]string{
		"include":        {"templates/a.yaml", `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`},
		"include cycle":  {"templates/a.yaml", cycle.String() + `{{ include "c0" . }}`},
		"template":       {"templates/a.yaml", `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`},
		"template cycle": {"templates/a.yaml", chain.String() + `{{ template "d0" . }}`},
		"tpl":            {"templates/a.yaml", "{{ tpl .Values.t . }}", "values.yaml", "t: '{{ tpl .Values.t . }}'\n"},
		"tpl template": {"templates/a.yaml", "{{ tpl .Values.t . }}",
			"values.yaml", "t: '{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}'\n"},
		"repeat":     {"templates/a.yaml", `{{ repeat 2000000000 "x" }}`},
		"repeat 2":   {"templates/a.yaml", `{{ range until 5000 }}{{ repeat 60000000 "x" | len }}{{ end }}`},
		"until":      {"templates/a.yaml", `{{ until 2000000000 | len }}`},
		"untilStep":  {"templates/a.yaml", `{{ untilStep 0 2000000000 1 | len }}`},
		"untilStep+": {"templates/a.yaml", `{{ untilStep 9223372036854775806 9223372036854775807 3 | len }}`},
		"untilStep-": {"templates/a.yaml", `{{ untilStep 2000000000 -2000000000 -1 | len }}`},
		"seq":        {"templates/a.yaml", `{{ seq 2000000000 | len }}`},
		"seq-":       {"templates/a.yaml", `{{ seq 1 -2000000000 | len }}`},
		"rand":       {"templates/a.yaml", `{{ randAlphaNum 2000000000 | len }}`},
		"indent":     {"templates/a.yaml", `{{ indent 1000000000 "x" | len }}`},
		"replace":    {"templates/a.yaml", `{{ replace "" (repeat 1000000 "x") (repeat 1000000 "x") | len }}`},
		"doubling":   {"templates/a.yaml", `{{ $x := "0123456789" }}` + doubling},
		"output":     {"templates/a.yaml", `{{ range until 1000000 }}{{ repeat 10000 "x" }}{{ end }}`},
		"depth":      {"templates/a.yaml", strings.Repeat("{{ if 1 }}", 5000) + strings.Repeat("{{ end }}", 5000)},
		"tpl depth": {"templates/a.yaml", "{{ tpl .Values.t . }}",
			"values.yaml", "t: '" + strings.Repeat("{{ if 1 }}", 5000) + strings.Repeat("{{ end }}", 5000) + "'\n"},
		"loop": {"templates/a.yaml", `{{ range until 1000000 }}{{ range until 1000000 }}{{ print 1 | len | eq 2 }}{{ end }}{{ end }}`},
	} {
		t.Run(name, func(t *testing.T) {
			limits, want := helm.Limits{Time: 3 * time.Second}, helm.CauseLimit
			if testing.Short() {
				limits.Time = time.Second
			}
			if slices.Contains([]string{"include", "template", "tpl template"}, name) { // Helm's own limit of depth
				limits, want = helm.Limits{Time: 20 * time.Second}, helm.CauseTemplate
			}
			start := time.Now()
			_, err := app(t, files...).Render(t.Context(), helm.Options{Limits: limits})
			if err == nil {
				t.Fatal("no error")
			}
			if e := cause(t, err); e.Cause != want {
				t.Errorf("got %+v", e)
			}
			if over := time.Since(start) - limits.Time; over > 20*time.Second { // a slow machine, and not an endless render
				t.Errorf("it took %v more than its time", over)
			}
		})
	}
}

// TestCallsWithLargeResultsAreRefused has single calls that make large results from small arguments. Each is refused before it runs,
// and not when the time is up.
func TestCallsWithLargeResultsAreRefused(t *testing.T) {
	again := func(action string) string { return strings.Repeat("{{ "+action+" }}", 60) }
	lists := "{{ $x := list 1 }}" + again(`$x = list $x $x`)
	dicts := "{{ $x := dict }}" + again(`$x = dict "a" $x "b" $x`)
	texts := `{{ $x := "0123456789" }}`
	for name, template := range map[string]string{
		"until":        `{{ until -9223372036854775808 | len }}`,
		"quote":        texts + again(`$x = quote $x $x`),
		"b64enc":       texts + strings.Repeat(again(`$x = b64enc $x`), 4),
		"join":         texts + again(`$x = list $x $x | join $x`),
		"join much":    `{{ join (repeat 1000000 "x") (until 100000) | len }}`,
		"wrapWith":     `{{ wrapWith 1 (repeat 1000000 "x") (repeat 1000000 "x") | len }}`,
		"pattern":      `{{ regexReplaceAll "" (repeat 1000000 "x") (repeat 1000000 "y") | len }}`,
		"pattern $":    `{{ mustRegexReplaceAll ".*" (repeat 1000000 "x") (repeat 1000000 "$0") | len }}`,
		"width":        `{{ printf (repeat 100000 "%1000000d") 1 | len }}`,
		"width *":      `{{ printf "%*d%*d%*d%*d%*d" 1000000 1 1000000 1 1000000 1 1000000 1 1000000 1 | len }}`,
		"concat":       "{{ $x := list 1 }}" + again(`$x = concat $x $x`),
		"toJson":       lists + `{{ toJson $x | len }}`,
		"toYaml":       lists + `{{ toYaml $x | len }}`,
		"print":        lists + `{{ print $x | len }}`,
		"quote a dict": dicts + `{{ quote $x | len }}`,
		"toYamlPretty": dicts + `{{ toYamlPretty $x | len }}`,
		"copied":       `{{ $_ := set .Values "v" .Values }}{{ $_ = deepCopy .Values }}`,
		"in itself":    `{{ $_ := set .Values "v" .Values }}{{ toYamlPretty .Values | len }}`,
	} {
		t.Run(name, func(t *testing.T) {
			limits := helm.Limits{Time: 20 * time.Second, Output: 4 << 20}
			_, err := app(t, "templates/a.yaml", template).Render(t.Context(), helm.Options{Limits: limits})
			if err == nil {
				t.Fatal("no error")
			}
			if e := cause(t, err); e.Cause != helm.CauseLimit || strings.Contains(e.Message, "too long") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestChartsOverTheLimitsAreNotLoaded(t *testing.T) {
	nested := tree("Chart.yaml", chartYAML)
	for range 20 {
		nested = append(tree("Chart.yaml", chartYAML), helm.File{Name: "charts/app.tgz", Data: []byte(pack(t, "app", nested))})
	}
	deep := "Chart.yaml"
	for range 20 {
		deep = "charts/app/" + deep
	}
	anchors := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		anchors += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	big := pack(t, "app", append(tree("Chart.yaml", chartYAML), helm.File{Name: "x", Data: make([]byte, 3<<20)}))
	many := tree("Chart.yaml", chartYAML)
	for i := range 200 {
		many = append(many, helm.File{Name: fmt.Sprintf("f%d", i)})
	}
	for name, files := range map[string][]helm.File{
		"nested packed": nested,
		"nested":        tree("Chart.yaml", chartYAML, deep, chartYAML),
		"aliases":       tree("Chart.yaml", chartYAML, "values.yaml", anchors),
		"packed aliases": append(tree("Chart.yaml", chartYAML), helm.File{Name: "charts/a.tgz",
			Data: []byte(pack(t, "app", tree("Chart.yaml", chartYAML, "values.yaml", anchors)))}),
		"itself": tree("Chart.yaml", chartYAML, "values.yaml", "a: &a {b: *a}\n"),
		"deep":   tree("Chart.yaml", chartYAML, "values.yaml", "a: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)),
		"large":  append(tree("Chart.yaml", chartYAML), helm.File{Name: "charts/a.tgz", Data: []byte(big)}),
		"files":  many,
		"packed files": append(tree("Chart.yaml", chartYAML), helm.File{Name: "charts/a.tgz",
			Data: []byte(pack(t, "app", many))}),
		"packed aliases in a file of another type": append(tree("Chart.yaml", chartYAML), helm.File{Name: "charts/a.tgz",
			Data: []byte(packed(t, tar.Header{Name: "app/values.yaml", Typeflag: tar.TypeCont}, anchors))}),
		"packed aliases in a roundabout name": append(tree("Chart.yaml", chartYAML), helm.File{Name: "charts/a.tgz",
			Data: []byte(packed(t, tar.Header{Name: "app/values.yaml/.", Typeflag: tar.TypeReg}, anchors))}),
		"link": append(tree("Chart.yaml", chartYAML), helm.File{Name: "charts/a.tgz", Data: []byte(packed(t,
			tar.Header{Name: "app/values.yaml", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, ""))}),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := helm.Load(files, helm.Limits{Files: 100, Bytes: 2 << 20})
			if err == nil {
				t.Fatal("no error")
			}
			if e := cause(t, err); e.Cause != helm.CauseLimit {
				t.Errorf("got %+v", e)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// packed returns a packed chart with one file and the given header.
func packed(t testing.TB, header tar.Header, text string) string {
	t.Helper()
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	archive := tar.NewWriter(zipped)
	header.Size = int64(len(text))
	err := archive.WriteHeader(&header)
	_, written := archive.Write([]byte(text))
	if err := errors.Join(err, written, archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return data.String()
}

// TestHostile renders charts that only look dangerous, and charts that Helm itself stops.
func TestHostile(t *testing.T) {
	loop := map[string]any{}
	loop["a"] = loop
	for name, test := range map[string]struct {
		files   []string
		options helm.Options
		fails   bool
	}{
		"values that contain themselves": {[]string{"templates/a.yaml", "a: b"}, helm.Options{Values: loop}, true},
		"dependency on itself": {[]string{"Chart.yaml", chartYAML + "dependencies: [{name: app, version: 1.x}]\n",
			"charts/app/Chart.yaml", chartYAML, "charts/app/templates/a.yaml", "kind: A"}, helm.Options{}, false},
		"schema that refers to itself": {[]string{"values.schema.json", `{"$ref":"#"}`}, helm.Options{}, true},
		"schemas that refer to each other": {[]string{"values.schema.json",
			`{"allOf":[{"$ref":"#/definitions/a"}],"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`},
			helm.Options{}, true},
		"values of the wrong kind": {[]string{"templates/a.yaml", "a: {{ .Values.global.x }}", "values.yaml", "global: text\n"},
			helm.Options{}, true},
		"panic":                            {[]string{"templates/a.yaml", "a: {{ mustToYaml (dict \"a\" (list 1)) }} {{ div 1 0 }}"}, helm.Options{}, true},
		"values set to contain themselves": {[]string{"templates/a.yaml", "{{ $_ := set .Values \"v\" .Values }}a: {{ len .Values }}"}, helm.Options{}, false},
		"values that contain themselves are printed": {[]string{"templates/a.yaml", "{{ $_ := set .Values \"v\" .Values }}a: {{ toYaml .Values | quote }}"},
			helm.Options{}, false},
		"release name":              {[]string{"templates/a.yaml", "a: {{ .Release.Name | quote }}"}, helm.Options{Name: "--post-renderer=x"}, true},
		"long release name":         {[]string{"templates/a.yaml", "a: b"}, helm.Options{Name: strings.Repeat("a", 53)}, false},
		"release name without room": {[]string{"templates/a.yaml", "a: b"}, helm.Options{Name: strings.Repeat("a", 54)}, true},
		"empty schema":              {[]string{"values.schema.json", ""}, helm.Options{}, true},
		"chart of a later version":  {[]string{"Chart.yaml", "apiVersion: v3\nname: app\nversion: 1.0.0\n"}, helm.Options{}, true},
		"Kubernetes":                {[]string{"templates/a.yaml", "a: b"}, helm.Options{Kubernetes: "new"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := app(t, test.files...).Render(t.Context(), test.options)
			if (err != nil) != test.fails {
				t.Errorf("got %v", err)
			}
			if err != nil {
				cause(t, err)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(chartYAML), []byte("a: 1\n"), "templates/a.yaml", []byte("kind: {{ .Values.a }}"))
	f.Add([]byte(chartYAML), []byte("a: &a [1]\nb: *a\n"), "charts/s/Chart.yaml", []byte(chartYAML))
	f.Add([]byte("name: x\nversion: 1\n"), []byte("---\na: 1\n---\n"), "requirements.yaml", []byte("dependencies: [{name: a}]"))
	f.Add([]byte(chartYAML), []byte(""), "charts/a.tgz", []byte(pack(f, "a", tree("Chart.yaml", chartYAML))))
	f.Add([]byte(chartYAML+"dependencies: [null]\n"), []byte(""), "values.schema.json", []byte(`{"type":"object"}`))
	f.Fuzz(func(t *testing.T, chart, values []byte, name string, data []byte) {
		files := []helm.File{{Name: "Chart.yaml", Data: chart}, {Name: "values.yaml", Data: values}, {Name: name, Data: data}}
		limits := helm.Limits{Bytes: 1 << 20, Output: 1 << 20, Time: 5 * time.Second}
		c, err := helm.Load(files, limits)
		if err != nil {
			cause(t, err)
			return
		}
		c.Missing()
		first, err := c.Render(t.Context(), helm.Options{Name: "fuzz", Limits: limits})
		if err != nil {
			cause(t, err)
			return
		}
		second, err := c.Render(t.Context(), helm.Options{Name: "fuzz", Limits: limits})
		if err != nil || first.Text() != second.Text() {
			t.Errorf("the second time is another: %v", err)
		}
	})
}
