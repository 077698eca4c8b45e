package render_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
)

// argoRepo is an Application that deploys the chart of fluxRepo.
func argoRepo(helm string) string {
	chart := fluxRepo[strings.Index(fluxRepo, "-- chart/Chart.yaml"):strings.Index(fluxRepo, "-- flux/app.yaml")]
	return chart + `
-- argo/app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app, namespace: argocd}
spec:
  destination: {namespace: shop, server: "https://kubernetes.default.svc"}
  source:
    repoURL: https://git.example.com/fleet
    path: chart
` + helm
}

func TestReleaseProblems(t *testing.T) {
	template := func(text string) string { return "\n-- chart/templates/broken.yaml --\n" + text + "\n" }
	for name, c := range map[string]struct{ more, want string }{
		"required value": {template("\n" + `a: {{ required "set the host" .Values.host }}`),
			"chart/templates/broken.yaml:2: the chart requires a value that is not set: set the host (deployed by APP:8)"},
		"call of fail": {template(`{{ fail "no" }}`),
			"chart/templates/broken.yaml:1: the chart rejects its values: no (deployed by APP:8)"},
		"value against the schema": {"  values:\n    image: 5\n-- chart/values.schema.json --\n" + `{"properties": {"image": {"type": "string"}}}`,
			"APP:11: the chart does not allow the values: image must be string and is number"},
		"field of a text": {"  values:\n    image: 5\n" + template(`{{ .Values.image.name }}`),
			"chart/templates/broken.yaml:1: a template of the chart fails: <.Values.image.name>: can't evaluate field name in type " +
				"interface {}; image is set at APP:11 (deployed by APP:8)"},
		"template syntax": {template(`{{ if }}`),
			"chart/templates/broken.yaml:1: a template of the chart cannot be parsed: missing value for if (deployed by APP:8)"},
		"output that has no form in JSON": {template("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ \"{{ x }}\" }}}"),
			"chart/templates/broken.yaml: a template of the chart prints what cannot be read: line 4 a key must be a " +
				"string: JSON has no other keys (a variable in {{ }} that starts a value needs quotes) (deployed by APP:8)"},
		"output that is not YAML": {template("a: b: c"), "chart/templates/broken.yaml: a template of the chart prints what is not YAML: mapping " +
			"values are not allowed in this context (deployed by APP:8)"},
		"library chart": {"\n-- chart/Chart.yaml --\n{apiVersion: v2, name: app, version: 1.0.0, type: library}\n",
			"chart/Chart.yaml:1: the chart is a library chart, which cannot be installed (deployed by APP:8)"},
		"look-up": {template(`{{ if not (lookup "v1" "Secret" "shop" "old") }}{{ fail "no" }}{{ end }}`),
			"chart/templates/broken.yaml:1: the chart rejects its values: no; before that, it looked up Secret " +
				"shop/old in the cluster (lookup), which nothing in this repository declares (deployed by APP:8)"},
		"missing dependency": {"\n-- chart/Chart.yaml --\napiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- name: db\n" +
			"  version: 1.x\n", "chart/Chart.yaml:5: the dependency db is not in charts/ and names no repository " +
			"(deployed by APP:8)"},
		"wrong alias": {"\n-- chart/Chart.yaml --\napiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- name: db\n" +
			"  version: 1.x\n  repository: \"@stable\"\n", `chart/Chart.yaml:5: the repository "@stable" of the ` +
			`dependency db is ` +
			"an alias of a local Helm configuration: write its URL, or put the chart into charts/ (deployed by APP:8)"},
		"chart without a version": {"\n-- chart/Chart.yaml --\napiVersion: v2\nname: app\n",
			"chart/Chart.yaml:1: the chart has no version, which Helm requires (deployed by APP:8)"},
		"chart version that is no version": {"\n-- chart/Chart.yaml --\napiVersion: v2\nname: app\nversion: new\n",
			`chart/Chart.yaml:3: the chart version "new" is invalid (deployed by APP:8)`},
		"packed dependency without a version": {"\n-- chart/charts/db/Chart.yaml --\napiVersion: v2\nname: db\n",
			"chart/charts/db/Chart.yaml:1: the chart has no version, which Helm requires (deployed by APP:8)"},
		"local dependency without a version": {"\n-- chart/Chart.yaml --\napiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- name: db\n" +
			"  version: 1.x\n  repository: file://../db\n-- db/Chart.yaml --\napiVersion: v2\nname: db\n",
			"db/Chart.yaml:1: the chart has no version, which Helm requires (deployed by APP:8)"},
		"not fetched": {"\n-- chart/Chart.yaml --\napiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n" +
			"- name: db\n  version: 1.0.0\n  repository: https://charts.example.com\n", "chart/Chart.yaml:5: chart db 1.0.0 of " +
			"https://charts.example.com has not been fetched (deployed by APP:8)"},
	} {
		for _, kind := range []string{"flux", "argo"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				base, more := fluxRepo, c.more
				if kind == "argo" {
					base = argoRepo("")
					more = strings.Replace(more, "  values:\n    image: 5\n", "    helm:\n      valuesObject:\n        image: 5\n", 1)
				}
				r := renderReleases(t, base+more, render.Config{})
				want, asks := strings.ReplaceAll(c.want, "APP", kind+"/app.yaml"), name == "look-up"
				if before, after, ok := strings.Cut(want, "; before that, it looked up"); ok && kind == "argo" { // runs without a cluster
					_, place, _ := strings.Cut(after, " (deployed by")
					want, asks = before+" (deployed by"+place, false
				}
				got := r.messages()
				if by := r.problems[0].By; by != "" {
					got += " (deployed by " + by + ")"
				}
				if got != want || r.problems[0].Unknown != (asks || name == "not fetched") {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		}
	}
}
