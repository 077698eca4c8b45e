package render_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// The blank lines that tell the lines of files apart change neither what kustomize builds, nor whether it builds, nor what
// is said about that.
func TestBlankLinesChangeNothing(t *testing.T) {
	const mark = "\ufeff"
	const manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1}\n"
	inline := func(text string) string {
		return "-- app/kustomization.yaml --\nresources: [d.yaml]\npatches:\n- target: {kind: Deployment}\n  patch: |2-\n" + text +
			"-- app/d.yaml --\n" + manifest
	}
	operation := func(first, indent string) string {
		return "    " + first + "- op: replace\n    " + indent + "  path: /spec/replicas\n    " + indent + "  value: 4\n"
	}
	const builds, fails = true, false
	for name, c := range map[string]struct {
		archive string
		builds  bool
	}{
		"a resource that is data": {"-- app/kustomization.yaml --\nresources: [d.yaml]\nconfigMapGenerator: [{name: g, files: [d.yaml]}]\n" +
			"-- app/d.yaml --\n" + manifest, builds},
		"a patch that is data in a secret": {"-- app/kustomization.yaml --\nresources: [d.yaml]\npatches: [{path: p.yaml}]\n" +
			"secretGenerator: [{name: g, files: [x=p.yaml]}]\n-- app/d.yaml --\n" + manifest + "-- app/p.yaml --\n" + manifest, builds},
		"a kustomization that is data": {"-- app/kustomization.yaml --\nresources: [d.yaml]\npatches:\n- patch: |-\n    kind: Deployment\n" +
			"    apiVersion: apps/v1\n    metadata: {name: d}\nconfigMapGenerator: [{name: g, files: [kustomization.yaml]}]\n-- app/d.yaml --\n" +
			manifest, builds},
		"data of a plugin": {"-- app/kustomization.yaml --\nresources: [d.yaml]\ngenerators: [g.yaml]\n-- app/d.yaml --\n" + manifest +
			"-- app/g.yaml --\napiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: [d.yaml]\n", builds},
		"data of a plugin in a secret": {"-- app/kustomization.yaml --\nresources: [d.yaml]\ngenerators: [g.yaml]\n-- app/d.yaml --\n" + manifest +
			"-- app/g.yaml --\napiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: g}\nfiles: [d.yaml]\n", builds},
		"a byte order mark in a second document": {"-- app/kustomization.yaml --\nresources: [d.yaml]\n-- app/d.yaml --\n" + manifest + "---\n" +
			mark + strings.ReplaceAll(manifest, "name: d", "name: e"), builds},
		"a byte order mark after a first marker": {"-- app/kustomization.yaml --\nresources: [d.yaml]\n-- app/d.yaml --\n---\n" + mark +
			manifest, builds},
		"a patch":                        {inline(operation("", "")), builds},
		"a patch that is indented":       {inline(operation("  ", "  ")), fails},
		"a patch after a blank line":     {inline("\n" + operation("", "")), builds},
		"one that is indented after it":  {inline("\n" + operation("  ", "  ")), fails},
		"a patch with a byte order mark": {inline(operation(mark, "")), builds},
		"a patch after a tab":            {inline("    \t\n" + operation("", "")), builds},
		"a patch after a no-break space": {inline("    \u00a0\n" + operation("", "")), builds},
		"a byte order mark in the second document of a patch": {"-- app/kustomization.yaml --\nresources: [d.yaml]\npatches:\n- patch: |-\n    " +
			strings.ReplaceAll(manifest+"---\n"+mark+manifest, "\n", "\n    ") + "\n-- app/d.yaml --\n" + manifest, builds},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			set, err := deploy.Open(r.Tree(r.Commit(c.archive)), roots.Options{}, &graph.Cache{}, render.Config{})
			if err != nil {
				t.Fatal(err)
			}
			want, refused := set.Renderer.Unmarked(t.Context(), roots.Root{Path: "app"})
			if (refused == nil) != c.builds {
				t.Fatal(refused)
			}
			out, problems, err := set.Render(t.Context(), roots.Root{Path: "app"})
			if err != nil {
				t.Fatal(err)
			}
			if !c.builds {
				if len(problems) != 1 || strings.Contains(problems[0].Message, `\n\n`) {
					t.Error(problems)
				}
				return
			}
			got, err := out.YAML()
			if err != nil || len(problems) > 0 || string(got) != string(want) {
				t.Errorf("%v, %v, renders\n%s\nwant\n%s", err, problems, got, want)
			}
		})
	}
}

// What kustomize gets from a file that is a resource and data, or from other files than their names say, has its lines.
func TestOriginOfOddFiles(t *testing.T) {
	const object = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template: {metadata: {labels: {a: b}}}\n"
	const labelled = "-- base/kustomization.yaml --\nresources: [d.yaml]\nlabels:\n- pairs: {tier: web}\n  includeTemplates: true\n" +
		"-- base/d.yaml --\n" + object
	const template = "/spec/template/metadata/labels/tier"
	for name, c := range map[string]struct{ archive, resource, pointer, want string }{
		"a resource that is data": {"-- app/kustomization.yaml --\nresources: [d.yaml]\nconfigMapGenerator: [{name: g, files: [d.yaml]}]\n" +
			"-- app/d.yaml --\n" + object, "Deployment d", "/spec/template/metadata/labels/a", "app/d.yaml:5:37-38 search"},
		"a second document with a byte order mark": {"-- app/kustomization.yaml --\nresources: [d.yaml]\n-- app/d.yaml --\n# c\n---\n\ufeff" +
			object, "Deployment d", "/spec/template/metadata/labels/a", "app/d.yaml:7:37-38 identity"},
		"a patch of a transformer in a folder": {"-- app/kustomization.yaml --\nresources: [d.yaml]\ntransformers: [in/t.yaml]\n-- app/d.yaml --\n" +
			object + "-- app/p.yaml --\n- {op: add, path: /spec/paused, value: true}\n-- app/in/t.yaml --\napiVersion: builtin\n" +
			"kind: PatchTransformer\nmetadata: {name: p}\npath: p.yaml\ntarget: {kind: Deployment}\n",
			"Deployment d", "/spec/paused", "app/p.yaml:1:40-44 writer"},
		"files of a generator in a folder": {"-- app/kustomization.yaml --\ngenerators: [in]\n-- app/f --\nx\n-- app/in/kustomization.yaml --\n" +
			"resources: [g.yaml]\n-- app/in/g.yaml --\napiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: [f]\n",
			"ConfigMap g", "/data/f", "app/f:1 writer"},
		"a label that another layer writes again": {labelled + "-- app/kustomization.yaml --\nresources: [../base]\nlabels:\n- pairs: {tier: db}\n",
			"Deployment d", template, "app/kustomization.yaml:3:17-19 writer < base/kustomization.yaml:3"},
		"a label that a strategic merge writes": {labelled + "-- app/kustomization.yaml --\nresources: [../base]\npatches: [{path: p.yaml}]\n" +
			"-- app/p.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, labels: {tier: db}}\n",
			"Deployment d", template, "app/p.yaml:3:36-38 identity < base/kustomization.yaml:3"},
		"a label that a replacement writes": {labelled + "-- app/kustomization.yaml --\nresources: [../base]\nreplacements:\n" +
			"- sourceValue: db\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.labels.tier]}]\n",
			"Deployment d", template, "app/kustomization.yaml:3:16-18 writer < base/kustomization.yaml:3"},
		"a label that a JSON patch writes": {labelled + "-- app/kustomization.yaml --\nresources: [../base]\npatches:\n- target: {kind: Deployment}\n" +
			"  patch: '[{\"op\": \"replace\", \"path\": \"/metadata/labels/tier\", \"value\": \"db\"}]'\n",
			"Deployment d", template, "base/kustomization.yaml:3:17-20 writer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			rendering := renderRoot(t, r, r.Commit(c.archive), "app")
			if got := describe(find(t, rendering, c.resource).Origin(c.pointer)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
