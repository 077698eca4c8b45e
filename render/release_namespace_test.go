package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
)

// The namespace of a release, and its place, are those of the HelmRelease as it is deployed.
func TestNamespaceOfRelease(t *testing.T) {
	bare := strings.Replace(fluxRepo, "metadata: {name: app, namespace: shop}", "metadata: {name: app}", 1)
	for name, test := range map[string]struct{ archive, want string }{
		"set by the HelmRelease": {fluxRepo, "shop shop flux/app.yaml:3"},
		"set by the kustomization": {bare + "-- flux/kustomization.yaml --\nresources: [app.yaml, source.yaml]\n" +
			"namespace: tools\n", "tools tools flux/kustomization.yaml:2"},
		"set by a kustomization that includes it": {bare + "-- flux/kustomization.yaml --\nresources: [app.yaml]\n" +
			"-- top/kustomization.yaml --\nresources: [../flux]\nnamespace: tools\n",
			"tools tools top/kustomization.yaml:2"},
		"set by the Kustomization of Flux": {bare + "-- flux/kustomization.yaml --\nresources: [app.yaml, source.yaml]\n" +
			"-- fleet/ks.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux, " +
			"namespace: flux-system}\nspec:\n  path: flux\n  targetNamespace: media\n  sourceRef: {kind: GitRepository, " +
			"name: flux-system}\n", "media media fleet/ks.yaml:6"},
		"set by nothing": {bare, "<nil> <nil>"},
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
