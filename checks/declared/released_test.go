package declared

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const releases = `
-- deploy/source.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: ops}
spec: {url: "https://git.example.com/fleet"}
-- deploy/web.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: ops}
spec: {chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: fleet}}}}
-- deploy/api.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: api, namespace: ops}
spec: {chart: {spec: {chart: charts/api, sourceRef: {kind: GitRepository, name: fleet}}}}
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/templates/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings"}
data: {mode: fast}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
-- charts/api/Chart.yaml --
{apiVersion: v2, name: api, version: 1.0.0}
-- charts/api/templates/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings", namespace: other}
-- apps/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, namespace: ops}
`

// Only releases that may have the looked-up object are rendered, each once; those of the tip of the base branch are not
// rendered again by the next check. Look-ups of the existing kinds search files only.
func TestOnlyReleasesThatMayHaveTheObjectAreRendered(t *testing.T) {
	r := treetest.New(t)
	at := r.Tree(r.Commit(releases))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	open := func() (*Objects, *render.Cache) {
		cache := &render.Cache{Disk: disk}
		set, err := deploy.Open(at, roots.Options{Repository: []string{"https://git.example.com/fleet"}}, &graph.Cache{Disk: disk},
			render.Config{Namespaced: kinds.HasNamespace, Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		d := New(set, nil)
		d.Since(New(set, nil), nil, nil)
		return d, cache
	}
	for round, kept := range []bool{false, true} {
		d, cache := open()
		ctx, lookups := For(t.Context(), roots.Root{Path: "apps", Kind: roots.Folder})
		for i, c := range []struct {
			kind, namespace, name string
			found                 bool
			built                 int // so far
		}{
			{"ConfigMap", "ops", "plain", true, 0},
			{"ConfigMap", "ops", "db-settings", false, 0},
			{"ConfigMap", "far", "web-settings", false, 0},
			{"CustomResourceDefinition", "", "x", false, 0},
			{"ConfigMap", "ops", "web-settings", true, 1},
			{"ConfigMap", "ops", "web-settings", true, 1},
			{"Namespace", "ops", "shop", true, 1},
			{"ConfigMap", "other", "api-settings", true, 2},
		} {
			_, ok := d.Get(ctx, "", c.kind, c.namespace, c.name)
			built, recalled := d.set.Renderer.Counts()
			if ok != c.found || !kept && built != c.built || kept && built+recalled > 0 {
				t.Errorf("round %d, %d %+v: %t, %d rendered, %d recalled", round, i, c, ok, built, recalled)
			}
		}
		if list := d.List(ctx, "", "ConfigMap", ""); len(list) != 3 {
			t.Errorf("%d ConfigMaps", len(list))
		}
		if list := d.List(ctx, "", "ConfigMap", "ops"); len(list) != 2 {
			t.Errorf("%d ConfigMaps in a namespace", len(list))
		}
		if list := d.List(t.Context(), "", "ConfigMap", ""); len(list) != 1 {
			t.Errorf("%d ConfigMaps for nobody", len(list))
		}
		if kind := kinds.In(ctx, d, "example.com", "configmaps"); kind != "" {
			t.Errorf("kind %s", kind)
		}
		if len(lookups.Altered()) > 0 || len(d.Blind()) > 0 {
			t.Errorf("%v %v", lookups.Altered(), d.Blind())
		}
		cache.Save()
	}
}

// If there is no time to render a release, its objects are unknown, and that is not cached.
func TestReleaseThatIsLateIsUnknown(t *testing.T) {
	r := treetest.New(t)
	at := r.Tree(r.Commit(releases))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, late := range []bool{true, false} {
		set, err := deploy.Open(at, roots.Options{Repository: []string{"https://git.example.com/fleet"}}, &graph.Cache{}, render.Config{Namespaced: kinds.HasNamespace, Cache: &render.Cache{Disk: disk}})
		if err != nil {
			t.Fatal(err)
		}
		tip := New(set, nil)
		if late {
			tip.spent = releaseTime
		}
		d := New(set, nil)
		d.Since(tip, nil, nil)
		ctx, lookups := For(t.Context(), roots.Root{Path: "apps", Kind: roots.Folder})
		_, ok := d.Get(ctx, "", "ConfigMap", "ops", "web-settings")
		list := d.List(ctx, "", "ConfigMap", "ops")
		why := lookups.Why("needs the cluster: ConfigMap ops/web-settings")
		said := len(why) == 1 && why[0].Path == "deploy/web.yaml" && why[0].Line == 3 &&
			strings.HasPrefix(why[0].Reason, "the time limit was reached before it was rendered")
		if ok == late || (list == nil) != late || said != late {
			t.Errorf("late %t: %t, %d, %+v", late, ok, len(list), why)
		}
		warned := len(d.Blind()) > 0 && strings.Contains(d.Blind()[0].Why.Message, "the time limit was reached")
		if warned != late {
			t.Errorf("late %t: %v", late, d.Blind())
		}
	}
}

// Objects of many releases that no look-up asked for are not kept in memory; a later look-up still finds them.
func TestOnlyLookedUpObjectsOfReleasesAreKept(t *testing.T) {
	r := treetest.New(t)
	archive := releases
	const many = 74
	for i := range many {
		archive += fmt.Sprintf("-- more/%d.yaml --\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r%d, "+
			"namespace: ops}\nspec: {chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: fleet}}}}\n", i, i)
	}
	set, err := deploy.Open(r.Tree(r.Commit(archive)), roots.Options{Repository: []string{"https://git.example.com/fleet"}},
		&graph.Cache{}, render.Config{Namespaced: kinds.HasNamespace})
	if err != nil {
		t.Fatal(err)
	}
	d := New(set, nil)
	ctx, _ := For(t.Context(), roots.Root{Path: "apps", Kind: roots.Folder})
	for range 2 {
		if list := d.List(ctx, "", "ConfigMap", "ops"); len(list) != many+2 {
			t.Errorf("%d ConfigMaps", len(list))
		}
		for i := range many {
			if _, ok := d.Get(ctx, "", "ConfigMap", "ops", fmt.Sprintf("r%d-settings", i)); !ok {
				t.Errorf("release %d has none", i)
			}
		}
	}
	if n := len(d.roots); n > 0 {
		t.Errorf("%d roots are kept", n)
	}
	if built, _ := set.Renderer.Counts(); built != many+2 {
		t.Errorf("%d releases were rendered", built)
	}
}

// A look-up of the existing kinds finds those of a chart that a kustomization includes, though no file mentions them.
func TestKindsOfAChartInAKustomizationAreFound(t *testing.T) {
	const definitions = `
-- app/kustomization.yaml --
resources: [crd.yaml]
helmGlobals: {chartHome: charts}
helmCharts: [{name: crds, releaseName: gizmo}]
-- app/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, scope: Cluster, names: {plural: widgets, kind: Widget}}
-- app/charts/crds/Chart.yaml --
{apiVersion: v2, name: crds, version: 1.0.0}
-- app/charts/crds/values.yaml --
{}
-- app/charts/crds/templates/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "{{ .Release.Name }}s.example.com"}
spec: {group: example.com, scope: Cluster, names: {plural: "{{ .Release.Name }}s", kind: "{{ title .Release.Name }}"}}
`
	r := treetest.New(t)
	set, err := deploy.Open(r.Tree(r.Commit(definitions)), roots.Options{}, &graph.Cache{}, render.Config{Namespaced: kinds.HasNamespace})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *Objects { return New(set, nil) }
	ctx, _ := For(t.Context(), roots.Root{Path: "other"})
	for plural, want := range map[string]string{"widgets": "Widget", "gizmos": "Gizmo", "gadgets": ""} {
		if kind := kinds.In(ctx, open(), "example.com", plural); kind != want {
			t.Errorf("%s: kind %q, want %q", plural, kind, want)
		}
	}
	for kind, want := range map[string]bool{"Widget": true, "Gizmo": true, "Gadget": false} {
		if got := kinds.DefinedClusterScoped(ctx, open(), "example.com", kind); got != want {
			t.Errorf("%s: for the cluster %t, want %t", kind, got, want)
		}
	}
}
