package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const withIssues = `
-- built/kustomization.yaml --
resources: [fine.yaml, twice.yaml, items.yaml, list.yaml, ok.yaml, long.yaml]
patches: [{path: patch.yaml}, {path: patch.yaml, target: {name: ok}}]
-- built/fine.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}
-- built/twice.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: twice}
data: {1: a}
-- built/items.yaml --
apiVersion: example.org/v1
kind: Basket
metadata: {name: items}
items:
- {apiVersion: v1, kind: Pod, metadata: {name: p}}
-- built/list.yaml --
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "list"}, "spec": {"containers": []}}
-- built/ok.yaml --
apiVersion: v1
kind: Pod
metadata: {name: ok} # not in the brackets
spec:
  containers:
  - {name: a}
-- built/patch.yaml --
apiVersion: v1
kind: Pod
metadata: {name: list}
spec:
  containers:
  - name: b
    resources: # in the brackets
      limits: {cpu: 1}
-- plain/items.yaml --
apiVersion: example.org/v1
kind: Basket
metadata: {name: items}
items:
- {apiVersion: v1, kind: Pod, metadata: {name: p}}
-- flux/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec:
  path: ./app
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substitute: {WORD: "a: b"}, substituteFrom: [{kind: Secret, name: s}]}
-- app/kustomization.yaml --
resources: [c.yaml]
-- app/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: ${WORD}
  b: ${UNKNOWN}
`

// Something wrong with one resource is an issue of that resource and its field, also in a rendering from the cache. The
// other resources of the root are still rendered.
func TestIssues(t *testing.T) {
	r := treetest.New(t)
	at := r.Tree(r.Commit(withIssues + "-- built/long.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: long}\ndata:\n  ? " +
		strings.Repeat("<", 200) + "\n  : x\n"))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"app c controller-rejects /data/a at app/c.yaml:5",
		"app c controller-unknown /data/b at app/c.yaml:6",
		"built twice unprintable  at built/twice.yaml:1",
		"built items embedded-items /items at built/items.yaml:4",
		"built list unprintable /spec/containers/0/resources at built/patch.yaml:7",
		"built long unprintable /data/" + strings.Repeat("<", 200) + " at built/long.yaml:6",
		"plain items embedded-items /items at plain/items.yaml:4",
	}
	for round, recalled := range []int{0, 2} {
		set, err := deploy.Open(at, roots.Options{}, &graph.Cache{}, render.Config{Cache: &render.Cache{Disk: disk}})
		if err != nil {
			t.Fatal(err)
		}
		renderer := set
		var got []string
		count := 0
		for _, root := range set.All() {
			out, problems, err := renderer.Render(t.Context(), root)
			if err != nil || len(problems) > 0 {
				t.Fatal(root, err, problems)
			}
			count += len(out.Resources)
			for _, res := range out.Resources {
				for _, issue := range res.Issues {
					place := res.Origin(issue.Pointer)
					name := res.Object["metadata"].(map[string]any)["name"]
					got = append(got, fmt.Sprintf("%s %s %s %s at %s:%d", root.Path, name, issue.Check, issue.Pointer, place.Path,
						place.StartLine))
				}
			}
		}
		if _, n := renderer.Renderer.Counts(); n != recalled {
			t.Errorf("round %d: %d recalled", round, n)
		}
		if count != 9 || !slices.Equal(got, want) {
			t.Errorf("round %d: %d resources, issues\n%q\nwant\n%q", round, count, got, want)
		}
	}
}
