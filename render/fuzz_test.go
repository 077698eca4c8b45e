package render_test

import (
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// For any kustomization and its files, a root that renders has a place in the repository for each field.
func FuzzOrigin(f *testing.F) {
	const base = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n" +
		"spec: {template: {spec: {containers: [{name: c, image: i}]}}}\n"
	for _, kustomization := range []string{
		"resources: [a.yaml]\n",
		"resources: [a.yaml]\nnamePrefix: p-\nimages: [{name: i, newTag: v}]\nreplicas: [{name: a, count: 2}]\n",
		"resources: [a.yaml]\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n" +
			"    metadata: {name: a}\n    spec: {paused: true}\n",
		"resources: [a.yaml]\npatches:\n- target: {kind: Deployment}\n" +
			"  patch: '[{\"op\": \"copy\", \"from\": \"/spec\", \"path\": \"/spec/x\"}]'\n",
		"resources: [a.yaml]\nreplacements:\n- source: {kind: Deployment, fieldPath: spec}\n  targets:\n" +
			"  - select: {kind: Deployment}\n    fieldPaths: [spec.copy]\n    options: {create: true}\n",
		"resources: [a.yaml]\ntransformers:\n- \"apiVersion: builtin\\nkind: LabelTransformer\\nmetadata: {name: " +
			"l}\\nlabels: {a: b}\\nfieldSpecs: [{path: metadata/labels, create: true}]\"\n",
		"resources: [a.yaml]\nvars:\n- name: X\n  objref: {kind: Deployment, name: a, apiVersion: apps/v1}\n",
		"configMapGenerator:\n- name: g\n  literals: [a=b]\n  files: [a.yaml]\n" +
			"labels: [{pairs: {a: b}, includeSelectors: true}]\n",
		"labels: 1\nimages: {a: b}\npatches: [x]\nresources: [a.yaml]\n",
	} {
		f.Add(kustomization, base)
	}
	f.Add("resources: [a.yaml]\n",
		"apiVersion: v1\nkind: List\nitems: [&a {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}, *a]\n")
	r := treetest.New(f)
	t := r.Tree(r.Commit("-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\n" + base))
	g, err := deploy.Open(t, roots.Options{}, &graph.Cache{}, render.Config{Limits: render.Limits{Resources: 100}})
	if err != nil {
		f.Fatal(err)
	}
	renderer := g
	f.Fuzz(func(t *testing.T, kustomization, manifest string) {
		files := map[string][]byte{"app/kustomization.yaml": []byte(kustomization), "app/a.yaml": []byte(manifest)}
		rendering, _, err := renderer.Renderer.With(files).Render(t.Context(), render.Target{Root: roots.Root{Path: "app"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range rendering.Resources {
			for _, field := range append(res.Fields(), render.Field{Pointer: "/none/at/all"}) {
				p := res.Origin(field.Pointer)
				if files[p.Path] == nil || p.StartLine < 1 || p.EndLine < p.StartLine {
					t.Fatalf("%s is at %+v", field.Pointer, p)
				}
			}
		}
	})
}
