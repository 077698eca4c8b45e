package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// chartOf is a chart in a folder with one template.
func chartOf(dir, template string) string {
	return "\n-- " + dir + "/Chart.yaml --\napiVersion: v2\nname: " + dir + "\nversion: 1.0.0\n-- " + dir +
		"/templates/all.yaml --\n" + template
}

const fluxSource = `
-- flux/source.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {url: "https://git.example.com/fleet"}
`

const fluxApps = `
-- FILE --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps
  targetNamespace: prod
  sourceRef: {kind: GitRepository, name: fleet}
  postBuild: {substitute: {REPLICAS: "3"}}
-- apps/kustomization.yaml --
resources: [web.yaml]
-- apps/web.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  chart: {spec: {chart: web, sourceRef: {kind: GitRepository, name: fleet, namespace: flux-system}}}
  values: {replicas: "${REPLICAS:=1}"}
`

const cluster = `
-- flux/cluster.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: cluster, namespace: flux-system}
spec:
  path: ./flux
  sourceRef: {kind: GitRepository, name: fleet}
  postBuild: {substitute: {SITE: home}}
`

const webChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: {{ .Release.Namespace }}}
data: {replicas: {{ .Values.replicas | quote }}}
`

// app is a template of an Application of a chart in this repository.
func app(name, path, helm string) string {
	return `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: ` + name + `, namespace: argocd}
spec:
  destination: {server: "https://kubernetes.default.svc", namespace: ` + name + `}
  source: {repoURL: "https://git.example.com/fleet", path: ` + path + `, helm: {` + helm + `}}
---
`
}

// Objects that deploy others are read as they are in the cluster: with the namespace and variables that Flux sets,
// whether a folder or a chart declares them.
func TestDeployingObjectsHaveWhatFluxSets(t *testing.T) {
	for name, c := range map[string]struct {
		archive string
		options roots.Options
		want    string // the roots by name with the data of their ConfigMaps
	}{
		"Flux' variables and namespace": {archive: fluxSource + strings.Replace(fluxApps, "FILE", "flux/apps.yaml", 1) +
			chartOf("web", webChart),
			want: "FluxKustomization/flux-system/apps; HelmRelease/prod/web web prod 3; flux"},
		"an object that nobody deploys takes nothing over": {archive: fluxSource +
			strings.Replace(fluxApps, "FILE", "old/apps.yaml", 1) + chartOf("web", webChart),
			options: roots.Options{Exclude: []string{"old", "old/**"}},
			want: "FluxKustomization/flux-system/apps; HelmRelease/prod/web web prod 3; HelmRelease/web web default " +
				"${REPLICAS:=1}; apps; flux"},
		"the first object is among what it deploys": {archive: fluxSource + cluster + strings.Replace(fluxApps, "FILE",
			"flux/apps.yaml", 1) + chartOf("web", webChart),
			want: "FluxKustomization/flux-system/apps; FluxKustomization/flux-system/cluster; HelmRelease/prod/web web prod 3"},
		"the first object is among what it deploys, and patched": {archive: fluxSource + cluster + `  patches: [{target: {kind: Kustomization},
    patch: '[{"op": "add", "path": "/spec/postBuild", "value": {"substitute": {"REPLICAS": "5"}}}]'}]` +
			strings.Replace(fluxApps, "FILE", "flux/apps.yaml", 1) + chartOf("web", webChart),
			want: "FluxKustomization/flux-system/apps; FluxKustomization/flux-system/cluster; HelmRelease/prod/web web prod 5"},
		"a source that comes along into another namespace": {archive: fluxSource + strings.NewReplacer("FILE", "flux/apps.yaml",
			"[web.yaml]", "[web.yaml, own.yaml]", "name: fleet, namespace: flux-system}}}", "name: own}}}").Replace(fluxApps) +
			strings.NewReplacer("flux/source.yaml", "apps/own.yaml", "name: fleet", "name: own", "com/fleet", "com/other").Replace(fluxSource) +
			chartOf("web", webChart),
			want: "FluxKustomization/flux-system/apps; HelmRelease/prod/web: https://git.example.com/other has not been fetched; " +
				"flux; web web default <nil>"},
		"two that deploy each other": {archive: fluxSource + cluster + "-- flux/b.yaml --" +
			strings.NewReplacer("-- flux/cluster.yaml --", "", "name: cluster", "name: b", "./flux", "./b").Replace(cluster) +
			strings.Replace(cluster, "flux/cluster.yaml", "b/a.yaml", 1),
			want: "FluxKustomization/flux-system/b; FluxKustomization/flux-system/cluster"},
		"applications of applications": {archive: "-- root.yaml --\n" + app("one", "one", "") +
			chartOf("one", app("two", "two", `valuesObject: {next: three}`)) +
			chartOf("two", app("{{ .Values.next }}", "web", `parameters: [{name: replicas, value: "7"}]`)) + chartOf("web", webChart),
			want: ".; Application/argocd/one; Application/argocd/three web three 7; Application/argocd/two"},
		"a chart that puts the names of groups together": {archive: "-- root.yaml --\n" + app("one", "one", "") +
			chartOf("one", strings.NewReplacer("argoproj.io/", `{{ "argoproj" }}.{{ "io" }}/`).Replace(app("web", "web",
				`parameters: [{name: replicas, value: "7"}]`))) + chartOf("web", webChart),
			want: ".; Application/argocd/one; Application/argocd/web web web 7"},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			for _, f := range txtar.Parse([]byte(c.archive)).Files {
				r.Write(f.Name, string(f.Data))
			}
			c.options.Repository = []string{"https://git.example.com/fleet"}
			set, err := deploy.Open(r.Tree(r.Snapshot()), c.options, &graph.Cache{}, render.Config{})
			if err != nil {
				t.Fatal(err)
			}
			renderer := set
			var got []string
			for _, root := range set.List() {
				line := root.Name
				out, problems, err := renderer.Render(t.Context(), root.Root)
				if err != nil {
					t.Fatal(root.Name, err)
				}
				for _, p := range problems {
					line += ": " + p.Message
				}
				for _, res := range out.Resources {
					if res.Object["kind"] == "ConfigMap" {
						metadata, data := res.Object["metadata"].(map[string]any), res.Object["data"].(map[string]any)
						line += fmt.Sprint(" ", metadata["name"], " ", metadata["namespace"], " ", data["replicas"])
					}
				}
				got = append(got, line)
			}
			if got := strings.Join(got, "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
