package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// setOf returns the value that the suggested fix of a field sets, and the fix.
func setOf(t *testing.T, r *releases, resource, pointer string) (set, advice string) {
	t.Helper()
	p := find(t, r.one, resource).Origin(pointer)
	return strings.Join(p.Set, "."), p.SuggestedFix
}

// Many missing fields that no value prints do not use up the attempts for fields that a value prints, in any order of
// requests.
func TestAbsentFieldsInAnyOrder(t *testing.T) {
	var archive strings.Builder
	archive.WriteString(fluxRepo)
	names := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
	for _, n := range names {
		archive.WriteString("-- chart/templates/" + string(n) + `.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: the-` + string(n) + `
data:
  a: b
  {{- if .Values.more` + string(n) + ` }}
  extra: {{ if eq .Values.more` + string(n) + ` 5.0 }}{{ fail "no" }}{{ end }}
  {{- end }}
  {{- with .Values.data` + string(n) + ` }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
`)
	}
	for _, backwards := range []bool{false, true} {
		r := renderReleases(t, archive.String(), render.Config{})
		order := strings.Split(names, "")
		if backwards {
			slices.Reverse(order)
		}
		for _, n := range order {
			for _, key := range []string{"absent", "other"} {
				if set, _ := setOf(t, r, "ConfigMap the-"+n, "/data/"+key); set != "data"+n+"."+key {
					t.Fatalf("%s %s: %q", n, key, set)
				}
			}
		}
	}
}

// A value that switches a field off is turned off; one that switches it on is turned on.
func TestSwitches(t *testing.T) {
	r := renderReleases(t, fluxRepo+`
-- chart/values.yaml --
unguarded: true
noService: true
-- chart/templates/switched.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: switched
data:
  a: b
  {{- if .Values.unsaid }}
  on: "1"
  {{- end }}
  {{- if not .Values.unguarded }}
  off: "1"
  {{- end }}
  {{- if eq .Values.noService false }}
  compared: "1"
  {{- end }}
`, render.Config{})
	for key, want := range map[string]string{"on": "turn unsaid on in the values", "off": "turn unguarded off in the values",
		"compared": "turn noService off in the values"} {
		if _, advice := setOf(t, r, "ConfigMap switched", "/data/"+key); advice != want {
			t.Errorf("%s: %q, not %q", key, advice, want)
		}
	}
}

// If several values print a field, the suggested fix names the one that changes nothing else.
func TestSuggestedValueChangesNoOtherField(t *testing.T) {
	r := renderReleases(t, fluxRepo+`
-- chart/templates/service.yaml --
apiVersion: v1
kind: Service
metadata:
  name: it
  labels:
    {{- if .Values.selectorOverride }}
    {{- toYaml .Values.selectorOverride | nindent 4 }}
    {{- else }}
    app: it
    {{- end }}
    {{- with .Values.everywhere }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    {{- if .Values.selectorOverride }}
    {{- toYaml .Values.selectorOverride | nindent 4 }}
    {{- else }}
    app: it
    {{- end }}
-- chart/templates/other.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: other
  labels:
    a: b
    {{- with .Values.everywhere }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
-- chart/templates/only.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: only
  labels:
    {{- if .Values.replaced }}
    {{- toYaml .Values.replaced | nindent 4 }}
    {{- else }}
    app: it
    {{- end }}
`, render.Config{})
	if got := r.messages(); got != "" {
		t.Fatal(got)
	}
	set, advice := setOf(t, r, "Service it", "/metadata/labels/team")
	if set != "labels.team" || strings.Contains(advice, "also") {
		t.Errorf("%s: %s", set, advice)
	}
	set, advice = setOf(t, r, "ConfigMap only", "/metadata/labels/team")
	if set != "replaced.team" || !strings.HasSuffix(advice, "; it also changes /metadata/labels/app") {
		t.Errorf("%s: %s", set, advice)
	}
}

// A suggested fix does not say that no value sets a field where not all values were tried, or where a value decides
// whether the text is printed. Fields of remote dependencies have the place of the dependency's entry.
func TestSuggestedFixesOfRemoteCharts(t *testing.T) {
	w := newWorld(t, host, `
-- app/kustomization.yaml --
helmCharts:
- {name: web, version: 1.2.3, repo: HOST/charts, releaseName: web}
-- own/kustomization.yaml --
helmCharts:
- {name: own, releaseName: own}
-- own/charts/own/Chart.yaml --
apiVersion: v2
name: own
version: 1.0.0
dependencies:
- name: web
  repository: HOST/charts
  version: 1.2.3
-- own/charts/own/values.yaml --
x: y
-- charts/web/1.2.3/Chart.yaml --
{apiVersion: v2, name: web, version: 1.2.3}
-- charts/web/1.2.3/values.yaml --
enabled: true
-- charts/web/1.2.3/templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  always: here
  {{- if .Values.enabled }}
  some: times
  {{- end }}
`)
	const advice = "patch it in the kustomization, as "
	_, out, problems := w.render("app")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for pointer, want := range map[string]string{
		"/data/always": advice + "no value of the chart changes it",
		"/data/some":   advice + "the template contains this text; whether it is rendered depends on enabled",
		"/data/none":   advice + "no value was found that sets it",
	} {
		if p := find(t, out, "ConfigMap a").Origin(pointer); p.SuggestedFix != want {
			t.Errorf("%s: %q", pointer, p.SuggestedFix)
		}
	}
	_, out, problems = w.render("own")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if p := find(t, out, "ConfigMap a").Origin("/data/always"); p.Path != "own/charts/own/Chart.yaml" || p.StartLine != 7 {
		t.Errorf("%s:%d", p.Path, p.StartLine)
	}
}

// The release name and namespace of a chart that nothing deploys have no place of their own.
func TestPlaceOfNameThatNobodyWrote(t *testing.T) {
	repo := treetest.New(t)
	repo.Write("chart/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	repo.Write("chart/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"+
		"data: {release: '{{ .Release.Name }}', space: '{{ .Release.Namespace }}'}\n")
	set, err := deploy.Open(repo.Tree(repo.Snapshot()), roots.Options{}, &graph.Cache{}, render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := set.Render(t.Context(), set.All()[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, pointer := range []string{"/data/release", "/data/space"} {
		if p := find(t, out, "ConfigMap a").Origin(pointer); p.How != origin.Enclosing {
			t.Errorf("%s: %+v", pointer, p)
		}
	}
}
