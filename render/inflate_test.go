package render_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/roots"
)

// inflatedChart is one chart, in a chart repository and in the folder "app/charts/local".
var inflatedChart = func() string {
	chart := `
-- CHART/Chart.yaml --
apiVersion: v2
name: NAME
version: 1.2.3
-- CHART/values.yaml --
replicas: 1
name: main
labels: {a: "1", b: "2"}
list: [1, 2]
crd: true
big: 1000000
-- CHART/crds/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.com
spec:
  group: example.com
-- CHART/templates/_helpers.tpl --
{{- define "labels" }}
{{- range $k, $v := .Values.labels }}
{{ $k }}: {{ $v | quote }}
{{- end }}
{{- end }}
-- CHART/templates/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ .Values.name }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  template:
    spec:
      containers:
      - name: c
        image: img:{{ .Chart.Version }}
        args: {{ toJson .Values.list }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  annotations:
    kube: {{ .Capabilities.KubeVersion.Version }}
    big: "{{ .Values.big }}"
    has: "{{ .Capabilities.APIVersions.Has "example.com/v1" }}"
-- CHART/templates/hook.yaml --
apiVersion: batch/v1
kind: Job
metadata:
  name: hook
  annotations: {helm.sh/hook: pre-install}
-- CHART/templates/tests/test.yaml --
apiVersion: v1
kind: Pod
metadata:
  name: test
  annotations:
    helm.sh/hook: test
-- CHART/templates/NOTES.txt --
Notes
`
	return strings.NewReplacer("CHART", "charts/web/1.2.3", "NAME", "web").Replace(chart) +
		strings.NewReplacer("CHART", "app/charts/local", "NAME", "local").Replace(chart) + `
-- app/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: own
`
}()

var inflateCases = []struct{ name, files string }{
	{"chart in a folder", "-- app/kustomization.yaml --\nhelmCharts:\n- name: local\n  releaseName: r\n"},
	{"chart from a repository", `
-- app/kustomization.yaml --
namespace: ns
namePrefix: p-
resources:
- own.yaml
helmCharts:
- name: web
  repo: HOST/charts
  version: 1.2.3
  releaseName: r
  includeCRDs: true
  skipTests: true
  kubeVersion: "1.30"
  apiVersions: [example.com/v1]
configMapGenerator:
- name: generated
  literals: [a=b]
patches:
- target: {kind: Deployment}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: any
    spec:
      paused: true
images:
- name: img
  newTag: "9"
`},
	{"values", `
-- app/kustomization.yaml --
helmCharts:
- name: local
  releaseName: a
  namespace: one
  valuesFile: values/a.yaml
  skipHooks: true
  valuesInline:
    name: inline-a
    labels: {c: "3"}
    list: [9]
- name: local
  releaseName: b
  valuesFile: values/a.yaml
  valuesMerge: merge
  skipHooks: true
  valuesInline:
    name: inline-b
    labels: {c: "3"}
    list: [9]
    big: 12345678
- name: local
  releaseName: c
  valuesMerge: replace
  skipHooks: true
  additionalValuesFiles: [values/b.yaml]
  valuesInline:
    name: inline-c
    labels: {c: "3"}
- name: local
  releaseName: d
  skipHooks: true
  additionalValuesFiles: [values/a.yaml, values/b.yaml]
-- app/values/a.yaml --
name: from-a
replicas: 3
labels:
  b: null
-- app/values/b.yaml --
name: from-b
labels: {z: "26"}
`},
	{"chart home", `
-- app/kustomization.yaml --
helmGlobals: {chartHome: charts/../charts}
components: [../component]
helmCharts:
- {name: local, nameTemplate: fixed, skipTests: true}
-- component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
commonAnnotations: {by: component}
`},
	{"generator in a file", `
-- app/kustomization.yaml --
resources: [own.yaml]
namespace: ns
generators:
- chart.yaml
- |
  apiVersion: builtin
  kind: HelmChartInflationGenerator
  metadata: {name: b}
  name: local
  releaseName: inline
  skipHooks: true
-- app/chart.yaml --
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: a}
name: local
releaseName: g
namespace: other
skipTests: true
`},
	{"two inline generators", `
-- app/kustomization.yaml --
generators:
- |
  apiVersion: builtin
  kind: HelmChartInflationGenerator
  metadata: {name: a}
  name: local
  releaseName: one
  skipHooks: true
  ---
  apiVersion: builtin
  kind: HelmChartInflationGenerator
  metadata: {name: b}
  name: local
  releaseName: two
  skipHooks: true
`},
	{"aliases", `
-- app/kustomization.yaml --
commonAnnotations: &why
  why: because
commonLabels: *why
helmCharts:
- name: local
  releaseName: one
  skipHooks: true
  valuesInline: &values
    name: aliased
    labels: &labels {q: "17"}
    more: {<<: *labels, r: "18"}
- name: local
  releaseName: two
  skipHooks: true
  valuesInline: *values
`},
	{"chart in a base", `
-- app/kustomization.yaml --
namespace: above
resources: [base]
nameSuffix: -x
-- app/base/kustomization.yaml --
helmGlobals: {chartHome: charts}
helmCharts:
- name: web
  repo: HOST/charts
  version: 1.2.3
  releaseName: r
`},
	{"deprecated field", `
-- app/kustomization.yaml --
helmChartInflationGenerator:
- chartName: local
  releaseName: old
  values: v.yaml
  valuesLocal: {name: l}
-- app/v.yaml --
replicas: 4
`},
	{"chart of a remote base", `
-- app/kustomization.yaml --
resources:
- HOST/o/charts//k?ref=v1
-- git/o/charts/k/kustomization.yaml --
helmCharts:
- name: inner
  releaseName: r
-- git/o/charts/k/charts/inner/Chart.yaml --
apiVersion: v2
name: inner
version: 0.1.0
-- git/o/charts/k/charts/inner/values.yaml --
a: b
-- git/o/charts/k/charts/inner/templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {a: "{{ .Values.a }}"}
`},
}

func TestInflate(t *testing.T) {
	for _, c := range inflateCases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, host, c.files+inflatedChart)
			r, out, problems := w.render("app")
			if len(problems) > 0 || len(out.Resources) == 0 {
				t.Fatal(problems)
			}
			printed, err := out.YAML()
			if err != nil {
				t.Fatal(err)
			}
			alone, err := r.Renderer.Unmarked(t.Context(), roots.Root{Path: "app"})
			if err != nil || !bytes.Equal(alone, printed) {
				t.Errorf("%v\n%s\nbut alone\n%s", err, printed, alone)
			}
		})
	}
}

// The programs named by LINTEL_KUSTOMIZE and LINTEL_HELM print the same.
func TestInflateAsKustomize(t *testing.T) {
	kustomize, helm := os.Getenv("LINTEL_KUSTOMIZE"), os.Getenv("LINTEL_HELM")
	if kustomize == "" || helm == "" {
		t.Skip("LINTEL_KUSTOMIZE and LINTEL_HELM do not name the programs")
	}
	for _, c := range inflateCases {
		t.Run(c.name, func(t *testing.T) {
			var w *world
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) { w.serve(out, in) }))
			defer server.Close()
			w = newWorld(t, server.URL, c.files+inflatedChart)
			_, out, problems := w.render("app")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			printed, err := out.YAML()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), kustomize, "build", "--reorder=none", "--enable-helm", "--helm-command", helm,
				filepath.Join(w.repo.Dir, "app"))
			var words bytes.Buffer
			cmd.Stderr = &words
			want, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &words)
			}
			if !bytes.Equal(printed, want) {
				t.Errorf("got\n%s\nkustomize prints\n%s", printed, want)
			}
		})
	}
}

// pack returns a chart as the archive that a chart repository serves.
func pack(name string, files map[string]string) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tape := tar.NewWriter(zipped)
	for file, text := range files {
		_ = tape.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(text))})
		_, _ = tape.Write([]byte(text))
	}
	_, _ = tape.Close(), zipped.Close()
	return out.Bytes()
}

// serveCharts answers the requests to the chart repository.
func (w *world) serveCharts(out http.ResponseWriter, p string) {
	if p == "index.yaml" {
		fmt.Fprint(out, "apiVersion: v1\nentries:\n")
		for key := range w.charts {
			name, version, _ := strings.Cut(key, "/")
			fmt.Fprintf(out, "  %s:\n  - {apiVersion: v2, name: %[1]s, version: %s, urls: [%[1]s-%[2]s.tgz]}\n", name, version)
		}
		return
	}
	for key, files := range w.charts {
		name, version, _ := strings.Cut(key, "/")
		if p == name+"-"+version+".tgz" {
			_, _ = out.Write(pack(name, files))
			return
		}
	}
	http.Error(out, "none", http.StatusNotFound)
}
