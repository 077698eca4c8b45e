package render_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
)

// A template may ask for fields of Chart.yaml and for files that do not exist.
func TestPlacesOfMissingChartFieldsAndFiles(t *testing.T) {
	r := renderReleases(t, fluxRepo+`
-- chart/templates/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: config
data:
  chart: {{ index .Chart "" | toString | quote }}
  release: {{ index .Release "" | toString | quote }}
  value: {{ index .Values "" | toString | quote }}
  file: {{ .Files.Get "none.txt" | quote }}
  beside: {{ .Files.Get "../flux/app.yaml" | quote }}
`, render.Config{})
	if got := r.messages(); got != "" {
		t.Fatal(got)
	}
	for _, name := range []string{"chart", "release", "value", "file", "beside"} {
		if p := find(t, r.one, "ConfigMap config").Origin("/data/" + name); p.How != origin.Enclosing {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A value that is a text of several lines is edited in the line that a field comes from, also where the text is a template, and
// where the values are a text themselves.
func TestPlacesOfLinesInTextsOfValues(t *testing.T) {
	const template = `
-- chart/templates/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: config
  labels:
    {{- tpl .Values.labels . | nindent 4 }}
data:
  {{- .Values.data | nindent 2 }}
-- flux/app.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: app, namespace: apps}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
`
	for name, test := range map[string]struct {
		files  string
		places map[string]string
	}{
		"in an object": {`  values:
    labels: |
      team: "a"

      app: {{ .Release.Name }}-web # a comment
    data: |
      a: 1
      b: >-
        two
        three
`, map[string]string{"/metadata/labels/team": "flux/app.yaml:8:14-15", "/metadata/labels/app": "flux/app.yaml:10:31-35",
			"/data/a": "flux/app.yaml:12:10-11", "/data/b": "flux/app.yaml:14:9-12"}},
		"in a text": {`  valuesFrom: [{kind: ConfigMap, name: values}]
-- flux/values.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: values, namespace: apps}
data:
  values.yaml: |
    labels: |
      team: "a"
    data: |
      b: 1
      a: 2
`, map[string]string{"/metadata/labels/team": "flux/values.yaml:7:14-15", "/data/a": "flux/values.yaml:10:10-11"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+template+test.files, render.Config{})
			if got := r.messages(); got != "" {
				t.Fatal(got)
			}
			for pointer, want := range test.places {
				p := find(t, r.one, "ConfigMap config").Origin(pointer)
				if got := fmt.Sprintf("%s:%d:%d-%d", p.Path, p.StartLine, p.StartColumn, p.EndColumn); got != want || p.How != origin.Writer {
					t.Errorf("%s: %s, want %s (%+v)", pointer, got, want, p)
				}
			}
		})
	}
}

// The cost of a place does not grow with the size of the chart, as "lintel blame" asks for the places of all lines.
func TestChartPlacesCost(t *testing.T) {
	var values, template strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&values, "k%d: %d\n", i, i)
		fmt.Fprintf(&template, "  k%d: 'x'\n", i)
	}
	w := newWorld(t, host, `
-- app/kustomization.yaml --
helmCharts:
- {name: web, version: 1.2.3, repo: HOST/charts, releaseName: web}
-- charts/web/1.2.3/Chart.yaml --
{apiVersion: v2, name: web, version: 1.2.3}
-- charts/web/1.2.3/values.yaml --
image: app:1
`+values.String()+`
-- charts/web/1.2.3/templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  image: {{ .Values.image }}
`+template.String())
	_, out, problems := w.render("app")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	config := find(t, out, "ConfigMap a")
	limit := uint64(30_000) // parsing values or the template again for each place takes ten times that
	if raceDetector {
		limit *= 5 // the race detector's own allocations are counted, too
	}
	for _, pointer := range []string{"/data/image", "/data/k2000"} {
		config.Origin(pointer) // makes what all places share
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const times = 20
		for range times {
			config.Origin(pointer)
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / times; each > limit {
			t.Errorf("the place of %s: %d bytes", pointer, each)
		}
	}
}
