package render_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
)

func TestNotesOfValuesAndVersions(t *testing.T) {
	monitor := func(name, version string) string {
		return "\n-- chart/templates/" + name + ".yaml --\n{{- if .Capabilities.APIVersions.Has \"" + version + "\" }}\napiVersion: x\n" +
			"kind: ServiceMonitor\nmetadata: {name: " + name + "}\n{{- end }}\n"
	}
	for name, c := range map[string]struct{ more, want string }{
		"nothing to note":             {"", ""},
		"version that adds no object": {asking, ""},
		"one missing version": {monitor("a", "monitoring.coreos.com/v1"), "flux/app.yaml:8: the chart leaves out ServiceMonitor a, " +
			"because nothing in this repository says that the cluster has monitoring.coreos.com/v1: if it does, list " +
			"that under " +
			"clusters.home.apiVersions in .lintel.yaml"},
		"two missing versions": {monitor("a", "one/v1") + monitor("b", "two/v1"), "flux/app.yaml:8: the chart leaves out " +
			"ServiceMonitor a, because nothing in this repository says that the cluster has one/v1: if it does, list " +
			"that under " +
			"clusters.home.apiVersions in .lintel.yaml\n" +
			"flux/app.yaml:8: the chart leaves out ServiceMonitor b, because nothing in this repository says that " +
			"the cluster has two/v1: if it does, list that under clusters.home.apiVersions in .lintel.yaml"},
		"look-ups that are not answered": {`
-- chart/templates/secret.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: {{ (lookup "v1" "Secret" "shop" "old").data | default "new" | quote }} }
`, "flux/app.yaml:8: the chart looks up Secret shop/old in the cluster (lookup), which nothing in this repository " +
			"declares: it is checked as if that did not exist"},
		"other output on upgrade": {"\n-- chart/templates/more.yaml --\n{{ if .Release.IsUpgrade }}{apiVersion: v1, kind: Pod, metadata: " +
			"{name: more}}{{ end }}\n", "flux/app.yaml:8: the chart renders differently on upgrade than on " +
			"installation (.Release.IsUpgrade, .Release.Revision): only the installation is checked"},
		"other output in a later revision": {"\n-- chart/templates/more.yaml --\n{{ if gt (int .Release.Revision) 1 }}{apiVersion: v1, kind: " +
			"Pod, metadata: {name: more}}{{ end }}\n", "flux/app.yaml:8: the chart renders differently on upgrade " +
			"than on installation (.Release.IsUpgrade, .Release.Revision): only the installation is checked"},
		"same output on upgrade": {"\n-- chart/templates/more.yaml --\n{{ if .Release.IsInstall }}{{ end }}\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {a: b}\n", ""},
		"schema in another document": {`
-- chart/values.schema.json --
{"$ref": "https://schemas.example.com/values.json"}
`, "flux/app.yaml:8: the values were not validated against the schema of the chart app: the schema refers to other " +
			"documents, which Lintel does not fetch"},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+c.more, render.Config{}, render.Cluster{Name: "home"})
			var list []string
			for _, e := range r.one.Notes(t.Context()) {
				list = append(list, e.Error())
			}
			if got := strings.Join(list, "\n"); got != c.want || len(r.problems) > 0 {
				t.Errorf("got  %s\nwant %s\n%s", got, c.want, r.messages())
			}
		})
	}
}
