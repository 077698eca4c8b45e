package render_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/remote"
)

// A chart that is missing or does not render is one problem on the line that names it. Everything else is rendered.
func TestInflateMissing(t *testing.T) {
	chart := func(fields string) string {
		return "-- app/kustomization.yaml --\nresources: [own.yaml]\nhelmCharts:\n- releaseName: r\n  " +
			strings.ReplaceAll(fields, "; ", "\n  ") + "\n"
	}
	for _, c := range []struct{ name, files, problem string }{
		{"chart that does not exist in the repository", chart("name: gone; repo: HOST/charts; version: 9.9.9"),
			"app/kustomization.yaml:6: helmCharts: chart gone 9.9.9 of HOST/charts: there is no such thing"},
		{"repository without access", chart("name: web; repo: HOST/secret; version: 1.0.0"),
			"?app/kustomization.yaml:6: helmCharts: chart web 1.0.0 of HOST/secret: needs credentials"},
		{"registry without access", chart("name: web; repo: oci://reg.example.com/secret/; version: 1.0.0"),
			"?app/kustomization.yaml:6: helmCharts: oci://reg.example.com/secret/web at 1.0.0: needs credentials"},
		{"local chart that does not exist", chart("name: gone"), "app/kustomization.yaml:4: helmCharts: there is no chart in app/charts/gone"},
		{"repository that is a folder", chart("name: gone; repo: ../charts"),
			"app/kustomization.yaml:4: helmCharts: there is no chart in app/charts/gone, and repo \"../charts\" is " +
				"not an address"},
		{"no name", chart("version: 1.2.3"), "app/kustomization.yaml:4: helmCharts: has no name"},
		{"name that looks like an option", chart("name: --post-renderer=x"), "app/kustomization.yaml:4: helmCharts: has a name that starts"},
		{"values file that does not exist", chart("name: local; valuesFile: gone.yaml"), `app/kustomization.yaml:4: helmCharts: valuesFile: "gone.yaml" does not exist`},
		{"values file outside the folder", chart("name: local; valuesFile: ../other.yaml") + "-- other.yaml --\na: b\n",
			`app/kustomization.yaml:4: helmCharts: valuesFile: "../other.yaml" is not below the kustomization`},
		{"values file that is not YAML", chart("name: local; valuesFile: v.yaml") + "-- app/v.yaml --\n[a\n",
			"app/kustomization.yaml:4: helmCharts: the values cannot be read"},
		{"chart home outside the repository", chart("name: local") + "helmGlobals: {chartHome: /tmp/charts}\n",
			"?app/kustomization.yaml:4: helmCharts: has its charts in a folder outside the repository"},
		{"name template that does not end", strings.Replace(chart("name: local; nameTemplate: '{{ range 999999999999 }}name"+
			"{{ end }}'"), "releaseName: r\n  ", "", 1), "?app/kustomization.yaml:3: helmCharts: has a template for " +
			"the name of the release"},
		{"template that fails", chart("name: bad") + "-- app/charts/bad/Chart.yaml --\napiVersion: v2\nname: bad\nversion: 1.0.0\n" +
			"-- app/charts/bad/values.yaml --\na: b\n-- app/charts/bad/templates/a.yaml --\na: {{ fail \"no luck\" }}\n",
			"app/kustomization.yaml:4: the chart bad rejects its values: no luck"},
		{"output without a name", chart("name: bad") + "-- app/charts/bad/Chart.yaml --\napiVersion: v2\nname: bad\nversion: 1.0.0\n" +
			"-- app/charts/bad/values.yaml --\na: b\n-- app/charts/bad/templates/a.yaml --\nkind: A\na: b\n",
			"app/kustomization.yaml:4: helmCharts: "},
		{"name that is a map", "-- app/kustomization.yaml --\nresources: [own.yaml]\nhelmCharts:\n- name: {a: b}\n",
			"app/kustomization.yaml:3: helmCharts: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, host, c.files+inflatedChart)
			w.fails = map[string]*remote.Failure{"/secret": {Message: "needs credentials"}}
			_, out, problems := w.render("app")
			if c.name != "name that is a map" && (len(out.Resources) != 1 || !out.Partial) {
				t.Errorf("%d resources, partial: %v", len(out.Resources), out.Partial)
			}
			want, unknown := strings.CutPrefix(strings.ReplaceAll(c.problem, "HOST", host), "?")
			if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) || problems[0].Unknown != unknown {
				t.Errorf("got %v\nwant %s", problems, want)
			}
		})
	}
}

// A field that a chart prints has the place of the entry, where nothing more is known. A field that the kustomization
// overwrites has the place in the kustomization.
func TestInflatePlaces(t *testing.T) {
	w := newWorld(t, host, `
-- app/kustomization.yaml --
helmCharts:
- name: local
  releaseName: r
- name: web
  repo: HOST/charts
  releaseName: s
  version: 1.2.3
  skipHooks: true
images:
- name: img
  newTag: "9"
patches:
- target: {kind: Deployment}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: any
    spec:
      replicas: 7
commonLabels:
  x: why
`+inflatedChart)
	_, out, problems := w.render("app")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct{ resource, pointer, want string }{
		{"Deployment r-main", "/spec/template/spec/containers/0/name",
			"app/charts/local/templates/deployment.yaml:11:15-16 writer"},
		{"Deployment r-main", "/spec/template/spec/containers/0/image", "app/kustomization.yaml:11:11-14 writer < app/charts/local/templates/deployment.yaml:12"},
		{"Deployment r-main", "/spec/replicas",
			"app/kustomization.yaml:20:17-18 identity < app/charts/local/values.yaml:1 < app/charts/local/templates/deployment.yaml:7"},
		{"Deployment s-main", "/spec/template/spec/containers/0/name", "app/kustomization.yaml:7 enclosing < https://git.example.com/charts/web@1.2.3//templates/deployment.yaml:11"},
		{"Service s", "/metadata/labels/x", "app/kustomization.yaml:22:6-9 writer"},
	} {
		if got := describe(find(t, out, c.resource).Origin(c.pointer)); got != c.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.resource, c.pointer, got, c.want)
		}
	}
}

func TestInflateNothing(t *testing.T) {
	w := newWorld(t, host, "-- app/kustomization.yaml --\nresources: [own.yaml]\nhelmCharts:\n- name: local\n  releaseName: r\n  valuesInline: {enabled: false}\n"+
		"-- app/own.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n-- app/charts/local/Chart.yaml --\napiVersion: v2\nname: local\nversion: 1.0.0\n"+
		"-- app/charts/local/values.yaml --\nenabled: true\n-- app/charts/local/templates/a.yaml --\n{{ if .Values.enabled }}\na: b\n{{ end }}\n")
	if _, out, problems := w.render("app"); len(problems) > 0 || len(out.Resources) != 1 {
		t.Error(len(out.Resources), problems)
	}
}
