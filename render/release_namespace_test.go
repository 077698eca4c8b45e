package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
)

// The namespace of a release is that of its HelmRelease as it is deployed, and so is where it is written.
func TestNamespaceOfRelease(t *testing.T) {
	bare := strings.Replace(fluxRepo, "metadata: {name: app, namespace: shop}", "metadata: {name: app}", 1)
	for name, test := range map[string]struct{ archive, want string }{
		"of the HelmRelease": {fluxRepo, "shop shop flux/app.yaml:3"},
		"of the kustomization": {bare + "-- flux/kustomization.yaml --\nresources: [app.yaml, source.yaml]\n" +
			"namespace: tools\n", "tools tools flux/kustomization.yaml:2"},
		"of a kustomization that has it": {bare + "-- flux/kustomization.yaml --\nresources: [app.yaml]\n" +
			"-- top/kustomization.yaml --\nresources: [../flux]\nnamespace: tools\n",
			"tools tools top/kustomization.yaml:2"},
		"of the Kustomization of Flux": {bare + "-- flux/kustomization.yaml --\nresources: [app.yaml, source.yaml]\n" +
			"-- fleet/ks.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux, " +
			"namespace: flux-system}\nspec:\n  path: flux\n  targetNamespace: media\n  sourceRef: {kind: GitRepository, " +
			"name: flux-system}\n", "media media fleet/ks.yaml:6"},
		"of nothing": {bare, "<nil> <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			out := renderReleases(t, test.archive, render.Config{})
			if len(out.problems) > 0 || len(out.one.Resources) == 0 {
				t.Fatal(out.problems)
			}
			res := out.one.Resources[slices.IndexFunc(out.one.Resources, func(r *render.Resource) bool {
				return r.Object["kind"] == "Service"
			})]
			const label = "helm.toolkit.fluxcd.io/namespace"
			metadata := res.Object["metadata"].(map[string]any)
			labels, _ := metadata["labels"].(map[string]any)
			got := fmt.Sprint(metadata["namespace"], " ", labels[label])
			if labels[label] != nil {
				at := res.Origin("/metadata/labels/" + strings.ReplaceAll(label, "/", "~1"))
				got += fmt.Sprintf(" %s:%d", at.Path, at.StartLine)
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
