package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// asking is a chart that prints the API versions that it sees.
const asking = `
-- chart/templates/seen.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: seen}
data:
  kubernetes: {{ .Capabilities.KubeVersion.Version | quote }}
  thing: {{ .Capabilities.APIVersions.Has "example.com/v1/Thing" | quote }}
  pod: {{ .Capabilities.APIVersions.Has "v1/Pod" | quote }}
  monitor: {{ .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" | quote }}
  old: {{ .Capabilities.APIVersions.Has "policy/v1beta1/PodDisruptionBudget" | quote }}
`

const serviceMonitors = `
-- crds/monitors.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names:
    kind: ServiceMonitor
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        description: "a text
          over two lines"
        type: object
`

// saw returns what the chart printed about the API versions.
func saw(t *testing.T, out *render.Rendering) map[string]any {
	t.Helper()
	data, _ := find(t, out, "ConfigMap seen").Object["data"].(map[string]any)
	return data
}

// thingsOfSubchart is a subchart that has custom resource definitions; the release's values are to follow.
var thingsOfSubchart = `
-- chart/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
dependencies: [{name: sub, version: 1.0.0, condition: sub.enabled}]
-- chart/charts/sub/Chart.yaml --
apiVersion: v2
name: sub
version: 1.0.0
` + strings.Replace(serviceMonitors, "-- crds/", "-- chart/charts/sub/crds/", 1) + `
-- flux/app.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: app, namespace: shop}
spec:
  interval: 1h
  chart:
    spec:
      chart: chart
      sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
  `

func TestCapabilities(t *testing.T) {
	crd := strings.Replace(fluxRepo, "{group: example.com, names: {kind: Thing}}",
		"{group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}, {name: v2, served: false}]}", 1)
	cluster := func(list ...render.Cluster) []render.Cluster { return list }
	for name, c := range map[string]struct {
		archive  string
		clusters []render.Cluster
		want     string
	}{
		"no capabilities configured": {fluxRepo + asking, nil, "v1.37.0 thing false pod true monitor false old false"},
		"definitions in the chart and in the repository": {crd + asking + serviceMonitors, nil,
			"v1.37.0 thing true pod true monitor true old false"},
		"definition in a subchart": {crd + asking + thingsOfSubchart + "values: {sub: {enabled: true}}\n", nil,
			"v1.37.0 thing true pod true monitor true old false"},
		"definition in a disabled subchart": {crd + asking + thingsOfSubchart + "values: {sub: {enabled: false}}\n", nil,
			"v1.37.0 thing true pod true monitor false old false"},
		"capabilities of one cluster": {fluxRepo + asking, cluster(render.Cluster{Kubernetes: "1.24",
			APIVersions: []string{"monitoring.coreos.com/v1/ServiceMonitor"}}),
			"v1.24 thing false pod true monitor true old true"},
		"two clusters that render differently": {fluxRepo + asking, cluster(render.Cluster{Name: "a", Kubernetes: "1.30"}, render.Cluster{Name: "b",
			Kubernetes: "1.33"}), "v1.30 thing false pod true monitor false old false\n" +
			`flux/app.yaml:8: the chart renders differently for the clusters "b" and "a", as their Kubernetes ` +
			`versions or API versions differ: only the latter is checked`},
		"two clusters that render alike": {fluxRepo, cluster(render.Cluster{Name: "a", Kubernetes: "1.30"},
			render.Cluster{Name: "b", Kubernetes: "1.33"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderReleases(t, c.archive, render.Config{}, c.clusters...)
			got := ""
			if strings.Contains(c.archive, asking) {
				data := saw(t, r.one)
				got = data["kubernetes"].(string)
				for _, key := range []string{"thing", "pod", "monitor", "old"} {
					got += " " + key + " " + data[key].(string)
				}
			}
			for _, p := range r.problems {
				if got += "\n" + p.Error(); !p.Unknown {
					t.Errorf("%s: fails", p.Error())
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A rendering that was cached for other capabilities is not used.
func TestCachedCapabilitiesEqualRendered(t *testing.T) {
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	repo := treetest.New(t)
	write := func(archive string) {
		for _, f := range txtar.Parse([]byte(archive)).Files {
			repo.Write(f.Name, string(f.Data))
		}
	}
	write(fluxRepo + asking)
	once := func(kubernetes string) (version any, recalled int) {
		set, err := deploy.Open(repo.Tree(repo.Snapshot()), roots.Options{Repository: []string{"https://git.example.com/fleet"}},
			&graph.Cache{}, render.Config{Cache: &render.Cache{Disk: disk}})
		if err != nil {
			t.Fatal(err)
		}
		set.ForClusters(func(roots.Root) []render.Cluster { return []render.Cluster{{Kubernetes: kubernetes}} })
		r := set
		root, err := set.Find("HelmRelease/shop/app")
		if err != nil {
			t.Fatal(err)
		}
		out, problems, err := r.Render(t.Context(), root)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		_, recalled = r.Renderer.Counts()
		return saw(t, out)["monitor"].(string) + saw(t, out)["kubernetes"].(string), recalled
	}
	for _, c := range []struct {
		kubernetes, want string
		recalled         int
	}{{"1.30", "falsev1.30", 0}, {"1.30", "falsev1.30", 1}, {"1.31", "falsev1.31", 0}, {"1.30", "falsev1.30", 1}} {
		if version, recalled := once(c.kubernetes); version != c.want || recalled != c.recalled {
			t.Errorf("%s: %s, recalled %d", c.kubernetes, version, recalled)
		}
	}
	write(serviceMonitors)
	if version, recalled := once("1.30"); version != "truev1.30" || recalled != 0 {
		t.Errorf("with a definition more: %s, recalled %d", version, recalled)
	}
}

// A change that declares another API version renders the releases whose charts ask for it again. All others come from
// the cache.
func TestNewAPIVersionReachesChartsThatAskForIt(t *testing.T) {
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	repo := treetest.New(t)
	write := func(archive string) {
		for _, f := range txtar.Parse([]byte(archive)).Files {
			repo.Write(f.Name, string(f.Data))
		}
	}
	at := func() *deploy.Set {
		set, err := deploy.Open(repo.Tree(repo.Snapshot()), roots.Options{Repository: []string{"https://git.example.com/fleet"}},
			&graph.Cache{}, render.Config{Cache: &render.Cache{Disk: disk}})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	write(fluxRepo + asking + `
-- flux/other.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: other, namespace: shop}
spec:
  chart: {spec: {chart: other, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
-- other/Chart.yaml --
{apiVersion: v2, name: other, version: 1.0.0}
-- other/templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
`)
	base := at()
	for _, step := range []struct{ file, data, reached, thing string }{
		{"crds/other.yaml", serviceMonitors[strings.Index(serviceMonitors, "apiVersion"):], "app other", "false"},
		{"crds/other.yaml", serviceMonitors[strings.Index(serviceMonitors, "apiVersion"):] + "# a word\n", "", "false"},
		{"crds/things.yaml", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: t}, spec:
  {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}]}}`, "app other", "true"},
		{"readme.txt", "a word", "", "true"},
	} {
		repo.Write(step.file, step.data)
		head := at()
		var reached []string
		for _, root := range deploy.Between(base, head, []string{step.file}, nil) {
			if _, name, is := strings.Cut(root.Name(), "shop/"); is && !slices.Contains(reached, name) {
				reached = append(reached, name)
			}
		}
		slices.Sort(reached)
		if got := strings.Join(reached, " "); got != step.reached {
			t.Errorf("%s reaches %q, want %q", step.file, got, step.reached)
		}
		for _, name := range []string{"app", "other"} {
			root, err := head.Find("HelmRelease/shop/" + name)
			if err != nil {
				t.Fatal(err)
			}
			before, _ := head.Renderer.Counts()
			out, problems, err := head.Render(t.Context(), root)
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			if name == "app" && saw(t, out)["thing"] != step.thing {
				t.Errorf("%s: the chart saw %v, want %s", step.file, saw(t, out)["thing"], step.thing)
			}
			if built, _ := head.Renderer.Counts(); name == "other" && step.file != "crds/other.yaml" && built > before {
				t.Errorf("%s: what asks for nothing was rendered again", step.file)
			}
		}
		base = head
	}
}
