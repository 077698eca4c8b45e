package render_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const soughtRepo = `
-- flux/source.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: shop}
spec: {url: "https://git.example.com/fleet"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: shop}
spec: {url: "https://charts.example.com"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: other, namespace: shop}
spec: {url: "https://git.example.com/other"}
-- flux/here.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: here, namespace: shop}
spec:
  chart: {spec: {chart: charts/app, sourceRef: {kind: GitRepository, name: fleet}}}
  values: {extra: [{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1}], team: red}
  postRenderers:
  - kustomize: {patches: [{patch: "[{op: replace, path: /metadata/name, value: patched}]", target: {kind: Role}}]}
-- flux/fetched.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: fetched, namespace: shop}
spec:
  chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}
-- flux/elsewhere.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: elsewhere, namespace: shop}
spec: {path: apps, sourceRef: {kind: GitRepository, name: other}}
-- remote/kustomization.yaml --
namespace: far
resources: ["https://git.example.com/base.git?ref=v1"]
-- charts/app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
dependencies: [{name: sub, version: 1.0.0, repository: "file://../sub"}]
-- charts/app/README.md --
This chart has no CronJob.
-- charts/app/templates/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings", namespace: {{ .Release.Namespace }}}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: vault}
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0}
-- charts/sub/templates/role.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
`

// MayDeploy finds objects by the text of the chart and its values, without rendering. A chart that was not fetched may
// deploy anything that the deploying object does not rule out. The search requests nothing.
func TestMayDeployFindsObjectsByText(t *testing.T) {
	const here, fetched, elsewhere = "HelmRelease/shop/here", "HelmRelease/shop/fetched", "FluxKustomization/shop/elsewhere"
	const rbac, networking, storage = "rbac.authorization.k8s.io", "networking.k8s.io", "storage.k8s.io"
	every, absent := []string{here, fetched, elsewhere}, []string{fetched, elsewhere}
	store := treetest.New(t)
	store.Write("Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}\n")
	store.Write("templates/web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
	web := store.Rev(store.Snapshot() + "^{tree}")
	store.Git("rm", "-rq", ".")
	store.Write("apps/ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: vault}\n")
	apps := store.Rev(store.Snapshot() + "^{tree}")
	lock := remote.Lock{{Want: remote.Want{Kind: remote.Chart, URL: "https://charts.example.com", Name: "web", Ref: "1.0.0"},
		Tree: web}, {Want: remote.Want{Kind: remote.Git, URL: "https://git.example.com/other"}, Tree: apps}}
	objects := store.Objects()
	repo := treetest.New(t)
	at := repo.Tree(repo.Commit(soughtRepo))
	open := func(lock remote.Lock) (*deploy.Set, *remote.Sources) {
		sources := remote.New(lock, func(id string) (*tree.Tree, error) { return objects.Tree(id) })
		set, err := deploy.Open(at, roots.Options{Repository: []string{"https://git.example.com/fleet"}}, &graph.Cache{}, render.Config{Sources: sources})
		if err != nil {
			t.Fatal(err)
		}
		return set, sources
	}
	for _, c := range []struct {
		render.ObjectQuery
		there, absent []string // with and without the fetched sources
	}{
		{render.ObjectQuery{Kind: "ConfigMap", Namespace: "shop", Name: "here-settings"}, []string{here}, every},
		{render.ObjectQuery{Kind: "ConfigMap", Namespace: "shop"}, []string{here}, every},
		{render.ObjectQuery{Kind: "ConfigMap"}, []string{here, "remote"}, append(every, "remote")},
		{render.ObjectQuery{Kind: "ConfigMap", Namespace: "far", Name: "x"}, []string{"remote"}, []string{elsewhere, "remote"}},
		{render.ObjectQuery{Kind: "ConfigMap", Namespace: "far"}, []string{"remote"}, []string{elsewhere, "remote"}},
		{render.ObjectQuery{Kind: "ConfigMap", Namespace: "shop", Name: "there-settings"}, nil, absent},
		{render.ObjectQuery{Kind: "ConfigMap", Namespace: "nowhere", Name: "here-settings"}, nil, []string{elsewhere}},
		{render.ObjectQuery{Kind: "Secret", Namespace: "vault", Name: "key"}, []string{here}, []string{here, elsewhere}},
		{render.ObjectQuery{Kind: "CronJob", Group: "batch", Namespace: "shop"}, nil, absent},
		{render.ObjectQuery{Kind: "NetworkPolicy", Group: networking, Namespace: "shop"}, []string{here}, every},
		{render.ObjectQuery{Kind: "NetworkPolicy", Group: "other.example.com", Namespace: "shop"}, nil, absent},
		{render.ObjectQuery{Kind: "Role", Group: rbac, Namespace: "shop", Name: "reader"}, []string{here}, every},
		{render.ObjectQuery{Kind: "Role", Group: rbac, Namespace: "shop", Name: "patched"}, []string{here}, every},
		{render.ObjectQuery{Kind: "Service", Namespace: "shop", Name: "web"}, []string{fetched}, absent},
		{render.ObjectQuery{Kind: "Namespace", Name: "vault"}, []string{elsewhere}, nil},
		{render.ObjectQuery{Kind: "Namespace", Name: "shop"}, nil, []string{fetched}},
		{render.ObjectQuery{Kind: "StorageClass", Group: storage, Name: "fast"}, nil, nil},
		{render.ObjectQuery{Kind: "StorageClass", Group: storage, Name: "web-fast"}, nil, []string{fetched}},
		{render.ObjectQuery{Kind: "StorageClass", Group: storage}, []string{"remote"}, append(absent, "remote")},
	} {
		for i, want := range [][]string{c.there, c.absent} {
			have := lock
			if i > 0 {
				have = nil
			}
			set, sources := open(have)
			brought := set.External()
			if len(brought) != 4 || !set.IsExternal(brought[0]) || set.IsExternal(roots.Root{Path: "flux", Kind: roots.Folder}) {
				t.Fatalf("%v", brought)
			}
			var got []string
			for range 2 { // the second time from the cache
				got = nil
				for _, root := range brought {
					if set.Renderer.MayDeploy(set.Target(root), c.ObjectQuery) {
						got = append(got, root.Name())
					}
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%+v, without what is fetched %t: got %q, want %q", c.ObjectQuery, i > 0, got, want)
			}
			if len(sources.Wanted()) > 0 {
				t.Errorf("wants %v", sources.Wanted())
			}
		}
	}
}
