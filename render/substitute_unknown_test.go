package render_test

import (
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

// A field with a variable that only the cluster knows has an unknown value, so that no policy is decided by it.
func TestUnknownVariable(t *testing.T) {
	out := renderReleases(t, fluxRepo+"-- app/kustomization.yaml --\nresources: [c.yaml]\n-- app/c.yaml --\napiVersion: v1\n"+
		"kind: ConfigMap\nmetadata: {name: c}\ndata: {a: \"${HOST}\"}\n-- fleet/ks.yaml --\n"+
		"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app, namespace: flux-system}\n"+
		"spec:\n  path: app\n  postBuild: {substituteFrom: [{kind: Secret, name: s}]}\n  sourceRef: {kind: GitRepository, "+
		"name: flux-system}\n", render.Config{})
	for _, root := range out.set.All() {
		if root.Kind != roots.FluxKustomization {
			continue
		}
		one, problems, err := out.set.Render(t.Context(), root)
		if err != nil {
			t.Fatal(problems, err)
		}
		for _, issue := range one.Resources[0].Issues {
			if issue.Pointer == "/data/a" && issue.Check == render.ControllerUnknown && issue.Value {
				return
			}
		}
		t.Fatalf("%+v", one.Resources[0].Issues)
	}
	t.Fatal("the Kustomization is no root")
}
