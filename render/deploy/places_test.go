package deploy

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Cached places of fields follow the lines that they name, in whatever file these are: here of a variable of Flux, and of
// a field that a patch sets.
func TestCachedPlacesFollowLines(t *testing.T) {
	const vars = "{apiVersion: v1, kind: ConfigMap, metadata: {name: vars, namespace: ops}, data: {team: red}}\n"
	const patch = "- {op: add, path: /spec/targetNamespace, value: shop}\n"
	repo := treetest.New(t)
	commits := []string{repo.Commit(`
-- ops/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: ks, namespace: ops}
spec:
  path: ./app
  sourceRef: {kind: GitRepository, name: ops}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}
-- ops/kustomization.yaml --
resources: [ks.yaml]
patches: [{path: patch.yaml, target: {kind: Kustomization}}]
-- ops/patch.yaml --
` + patch + `
-- vars/vars.yaml --
` + vars + `
-- app/kustomization.yaml --
resources: [cm.yaml]
-- app/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: '${team}'}}
`), repo.Commit("-- vars/vars.yaml --\n\n\n" + vars), repo.Commit("-- ops/patch.yaml --\n\n\n" + patch)}
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]int{{1, 1}, {3, 1}, {3, 3}} {
		cache, found := &render.Cache{Disk: disk}, false
		s, err := Open(repo.Tree(commits[i]), roots.Options{}, &graph.Cache{}, render.Config{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		for _, root := range s.All() {
			if !strings.Contains(root.Object, "/ks/") {
				continue
			}
			out, problems, err := s.Render(t.Context(), root)
			if err != nil || len(problems) > 0 || len(out.Resources) != 1 {
				t.Fatal(out, problems, err)
			}
			variable, namespace := out.Resources[0].Origin("/metadata/name").Chain, out.Resources[0].Origin("/metadata/namespace")
			if len(variable) != 1 || [2]int{variable[0].StartLine, namespace.StartLine} != want || variable[0].Path != "vars/vars.yaml" ||
				namespace.Path != "ops/patch.yaml" {
				t.Errorf("commit %d: the name is of %+v, the namespace of %+v, want lines %v", i, variable, namespace, want)
			}
			found = true
		}
		if !found {
			t.Error("nothing is deployed")
		}
		s.Renderer.SavePlaces(t.Context())
		cache.Save()
	}
}
