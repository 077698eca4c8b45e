package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
)

func TestUnknownValues(t *testing.T) {
	templates := `
-- chart/templates/config.yaml --
apiVersion: v1
kind: Secret
metadata:
  name: config
  annotations:
    sum: {{ .Values.token | sha256sum }}
    plain: "yes"
data:
  token: {{ .Values.token | b64enc }}
  other: b3RoZXI=
stringData:
  url: https://user:{{ .Values.token }}@host
  port: "{{ .Values.port | int }}"
  fixed: {{ .Values.image }}
`
	spec := `
  valuesFrom:
  - {kind: Secret, name: hidden, valuesKey: token, targetPath: token}
  - {kind: Secret, name: hidden, valuesKey: port, targetPath: port}
`
	r := renderReleases(t, fluxRepo+spec+templates, render.Config{})
	if len(r.problems) > 0 {
		t.Error(r.messages())
	}
	var got []string
	for _, i := range find(t, r.one, "Secret config").Issues {
		got = append(got, fmt.Sprint(i.Check, " ", i.Pointer, " ", i.Value, ": ", i.Message))
	}
	slices.Sort(got)
	var want []string
	for _, p := range []string{"/data/token", "/metadata/annotations/sum", "/stringData/port", "/stringData/url"} {
		want = append(want, "controller-unknown "+p+" true: depends on a value that only the cluster has (the Secret hidden is "+
			"not in this repository)")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	count := strings.Replace(templates, "apiVersion", "{{- if eq (.Values.port | int) 0 }}\napiVersion", 1) + "{{- end }}\n"
	r = renderReleases(t, fluxRepo+spec+count, render.Config{})
	if got := r.messages(); got != "flux/app.yaml:8: which resources the chart prints depends on a value that only the cluster "+
		"has (the Secret hidden is not in this repository)" || !r.problems[0].Unknown {
		t.Error(got)
	}
}

// The effect of an unknown value is found with several texts. If the chart accepts none of them, that is a problem, so
// that nothing is decided silently.
func TestUnknownValuesThatTheChartRestricts(t *testing.T) {
	spec := `
  valuesFrom: [{kind: Secret, name: hidden, valuesKey: token, targetPath: token}]
`
	secret := func(guard string) string {
		return "-- chart/templates/config.yaml --\n{{- if " + guard + ` }}{{ fail "is refused" }}{{ end }}
apiVersion: v1
kind: Secret
metadata: {name: config}
data:
  token: {{ .Values.token | b64enc }}
`
	}
	for _, c := range []struct{ name, files, problem string }{
		{"short values are rejected", secret(`lt (len .Values.token) 20`), ""},
		{"schema rejects the values", secret("false") + "-- chart/values.schema.json --\n" +
			`{"properties": {"token": {"type": "string", "pattern": "^lintel-"}}}` + "\n", ""},
		{"with a post renderer that matches nothing", `  postRenderers: [{kustomize: {images: [{name: nothing, newTag: "1"}]}}]
` + secret("false"), ""},
		{"all values are rejected", secret(`not (hasPrefix "lintel-" .Values.token)`), "flux/app.yaml:8: the chart does not render with " +
			"another text for a value that only the cluster has (the Secret hidden is not in this repository). What " +
			"depends on it is checked as if it were known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+spec+c.files, render.Config{})
			if got := r.messages(); got != c.problem || c.problem != "" && !r.problems[0].Unknown {
				t.Errorf("got  %s\nwant %s", got, c.problem)
			}
			known := !slices.ContainsFunc(find(t, r.one, "Secret config").Issues, func(i render.Issue) bool {
				return i.Value && i.Pointer == "/data/token"
			})
			if known != (c.name == "all values are rejected") {
				t.Errorf("known: %v", known)
			}
		})
	}
}

// The place of a text that contains an unknown value is where that value comes from.
func TestPlaceOfUnknownInText(t *testing.T) {
	r := renderReleases(t, fluxRepo+`
  valuesFrom: [{kind: Secret, name: hidden, valuesKey: token, targetPath: "config.receivers[1].token"}]
  values:
    config:
      long: a text of the user that is the longest of all that are printed here, and known
      receivers:
      - name: known
      - name: other
-- chart/templates/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data:
  config: |
    {{- toYaml .Values.config | nindent 4 }}
`, render.Config{})
	config := find(t, r.one, "ConfigMap config")
	if len(config.Issues) != 1 || config.Issues[0].Pointer != "/data/config" {
		t.Fatalf("%+v", config.Issues)
	}
	if p := config.Origin("/data/config"); p.Path != "flux/app.yaml" || p.StartLine != 11 {
		t.Errorf("%+v", p)
	}
}
