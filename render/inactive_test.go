package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Entries of kustomizations that match nothing are reported.
func TestInactiveEntries(t *testing.T) {
	const base = `
-- base/kustomization.yaml --
resources: [web.yaml]
namePrefix: my-
BASE
-- base/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  template:
    spec:
      containers: [{name: c, image: "example.com/web:1"}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {a: b}
-- over/kustomization.yaml --
bases: [../base]
OVER
`
	label := func(target string) string {
		return "\n- target: {" + target + "}\n  patch: '- {op: add, path: /metadata/annotations, value: {a: b}}'"
	}
	transformer := func(file, kind string) string {
		return "-- over/" + file + ".yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: " + file +
			"}\ntarget: {kind: " + kind + "}\npatch: '- {op: add, path: /metadata/labels, value: {a: b}}'\n"
	}
	const what = " matches nothing that the kustomization has: "
	for _, c := range []struct{ name, base, over, more, want string }{
		{"every entry matches", "patches:" + label("kind: Deployment"), "patches:" + label("name: my-web") + label("name: web") +
			label("labelSelector: app=web"), "", ""},
		{"target of a kind that does not exist", "", "patches:" + label("kind: Deployment") + label("kind: StatefulSet"), "",
			"over/kustomization.yaml:5: the target of this patch" + what + "kind: StatefulSet"},
		{"target of a version that does not exist", "", "patches:" + label("kind: Deployment, group: apps, version: v1") +
			label("kind: ConfigMap, version: v1") + label("kind: Deployment, group: apps, version: v1beta1") +
			label("kind: ConfigMap, group: apps"), "", "over/kustomization.yaml:7: the target of this patch" + what +
			"kind: Deployment, group: apps, version: v1beta1\nover/kustomization.yaml:9: the target of this patch" + what +
			"kind: ConfigMap, group: apps"},
		{"patch in the base", "patches:" + label("kind: Job, name: x"), "", "",
			"base/kustomization.yaml:4: the target of this patch" + what + "kind: Job, name: x"},
		{"target deleted by an earlier patch", "", "patches:\n- target: {kind: ConfigMap}\n  patch: |\n    $patch: delete\n    " +
			"apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: conf}" + label("kind: ConfigMap"), "",
			"over/kustomization.yaml:9: the target of this patch" + what + "kind: ConfigMap"},
		{"target deleted by an earlier patch file", "", "patches:\n- target: {kind: ConfigMap}\n  path: gone.yaml" + label("kind: ConfigMap"),
			"-- over/gone.yaml --\n$patch: delete\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\n",
			"over/kustomization.yaml:5: the target of this patch" + what + "kind: ConfigMap"},
		{"target replaced by an earlier patch", "", "patches:\n- target: {kind: ConfigMap}\n  patch: '- {op: replace, path: \"\", value: " +
			"{apiVersion: v1, kind: Secret, metadata: {name: conf}}}'" + label("kind: ConfigMap"), "",
			"over/kustomization.yaml:5: the target of this patch" + what + "kind: ConfigMap"},
		{"target deleted by a later patch", "", "patches:" + label("kind: ConfigMap") + "\n- target: {kind: ConfigMap}\n  patch: " +
			"|\n    $patch: delete\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: conf}", "", ""},
		{"target made by an earlier patch", "", "patches:\n- target: {kind: ConfigMap}\n  patch: '- {op: add, path: " +
			"/metadata/labels, value: {new: x}}'" + label("labelSelector: new=x"), "", ""},
		{"images", "images:\n- {name: example.com/web, newTag: '2'}", "images:\n- {name: example.com/web, newTag: '3'}\n" +
			"- {name: example.com/wbe, newTag: '3'}", "",
			`over/kustomization.yaml:4: nothing that the kustomization has uses the image "example.com/wbe"`},
		{"image renamed by an earlier entry", "", "images:\n- {name: example.com/web, newName: other}\n" +
			"- {name: example.com/web, newTag: '3'}\n- {name: other, newTag: '4'}", "",
			`over/kustomization.yaml:4: nothing that the kustomization has uses the image "example.com/web"`},
		{"replacements", "", `replacements:
- source: {kind: ConfigMap, fieldPath: data.a}
  targets:
  - {select: {kind: Deployment}, fieldPaths: [metadata.labels.app]}
  - {select: {kind: Job}, fieldPaths: [metadata.labels.app]}
  - {select: {kind: Deployment, name: my-web}, reject: [{name: my-web}], fieldPaths: [metadata.labels.app]}`, "",
			"over/kustomization.yaml:6: this target of the replacement" + what + "kind: Job\n" +
				"over/kustomization.yaml:7: this target of the replacement" + what + "kind: Deployment, name: my-web"},
		{"old JSON patches", "", "patchesJson6902:\n- target: {version: v1, kind: Service, name: a}\n  patch: '- {op: remove, path: /a}'", "",
			"over/kustomization.yaml:3: the target of this patch" + what + "version: v1, kind: Service, name: a"},
		{"transformers", "", "transformers:\n- fits.yaml\n- other.yaml\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n" +
			"  metadata: {name: x}\n  target: {kind: Role}\n  patch: '- {op: add, path: /a, value: b}'", transformer("fits",
			"ConfigMap") + transformer("other", "Job"), "over/kustomization.yaml:5: the target of this transformer" + what +
			"kind: Role\nover/other.yaml:4: the target of this transformer" + what + "kind: Job"},
		{"component included by one root", "", "components: [../part]", `-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:` + label("kind: Job") + label("kind: Deployment"),
			"part/kustomization.yaml:4: the target of this patch" + what + "kind: Job"},
		{"component included by two roots", "", "components: [../part]", "-- part/kustomization.yaml --\nkind: Component\napiVersion: " +
			"kustomize.config.k8s.io/v1alpha1\npatches:" + label("kind: Job") +
			"\n-- other/kustomization.yaml --\ncomponents: [../part]\nresources: [job.yaml]\n-- other/job.yaml --\n" +
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n", ""},
		{"empty file that is filled later", "", "patches:" + label("kind: Job") + "\nresources: [empty.yaml]",
			"-- over/empty.yaml --\n# is generated\n", ""},
		{"missing component", "", "patches:" + label("kind: Job") + "\ncomponents: [../nowhere]", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := treetest.New(t)
			files := strings.NewReplacer("BASE", c.base, "OVER", c.over).Replace(base) + c.more
			set, err := deploy.Open(repo.Tree(repo.Commit(files)), roots.Options{}, &graph.Cache{}, render.Config{})
			if err != nil {
				t.Fatal(err)
			}
			r := set
			root := roots.Root{Path: "over", Kind: roots.Kustomization}
			out, problems, err := r.Render(t.Context(), root)
			if err != nil || (len(problems) > 0) != (c.name == "missing component") {
				t.Fatal(err, problems)
			}
			lines := strings.Split(inactive(t, r.Renderer, out), "\n")
			slices.Sort(lines)
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
