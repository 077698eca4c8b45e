package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const deployed = `
-- argo/apps.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all}
spec:
  generators:
  - git: {repoURL: x, directories: [{path: 'teams/*'}]}
  template:
    metadata: {name: '{{path.basename}}'}
    spec:
      destination: {namespace: '{{path.basename}}'}
      source: {repoURL: x, path: '{{path}}'}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: recursive}
spec:
  destination: {namespace: all}
  source: {repoURL: x, path: manifests, directory: {recurse: true}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: bare}
spec:
  destination: {server: https://kubernetes.default.svc}
  source: {repoURL: x, path: base}
-- teams/red/kustomization.yaml --
resources: [../../base]
-- teams/blue/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- base/kustomization.yaml --
resources: [c.yaml]
-- base/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- manifests/a/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- manifests/b.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
-- other/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- flux/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./cluster
  sourceRef: {kind: GitRepository, name: flux-system}
  commonMetadata: {labels: {team: x}}
-- cluster/one/kustomization.yaml --
resources: [c.yaml]
-- cluster/one/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
-- cluster/two/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
`

func rendererOf(t *testing.T, at *tree.Tree) *render.Renderer {
	t.Helper()
	g, err := graph.Build(at, graph.Options{}, &graph.Cache{})
	if err != nil {
		t.Fatal(err)
	}
	return render.New(at, g, render.Limits{})
}

func TestDeployedRoots(t *testing.T) {
	repo := treetest.New(t)
	at := repo.Tree(repo.Commit(deployed))
	r := rendererOf(t, at)
	var got []string
	for _, root := range r.Roots() {
		out, problems, err := r.Render(t.Context(), root)
		if err != nil || len(problems) > 0 {
			t.Fatal(root, err, problems)
		}
		text := root.Path
		if root.Deploy != "" {
			text += " deployed"
		}
		for _, res := range out.Resources {
			metadata := res.Object["metadata"].(map[string]any)
			if kind := res.Object["kind"]; kind != "ConfigMap" {
				continue
			}
			namespace, _ := metadata["namespace"].(string)
			text += " " + namespace + "/" + metadata["name"].(string)
			if labels, ok := metadata["labels"].(map[string]any); ok {
				text += " team=" + labels["team"].(string)
				if at := res.Origin("/metadata/labels/team"); at.Path != "flux/ks.yaml" || at.StartLine != 7 {
					t.Errorf("the label stands at %s:%d", at.Path, at.StartLine)
				}
			}
		}
		got = append(got, text)
	}
	want := []string{
		"argo",
		"base /c",
		"cluster deployed /one team=x /two team=x",
		"flux",
		"manifests deployed all/c all/b",
		"other /c",
		"teams/blue deployed blue/c",
		"teams/red deployed red/c",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	agree(t, at)
}

// agree holds the ways of asking for roots against each other: what is listed is there, and a change of a file
// reaches nothing that is not.
func agree(t *testing.T, at *tree.Tree) {
	t.Helper()
	roots := rendererOf(t, at).Roots()
	asked := rendererOf(t, at)
	for _, root := range roots {
		if !asked.Has(root) {
			t.Errorf("%v is listed, but is no root", root)
		}
	}
	read := map[graph.Root]bool{}
	if err := at.Walk(func(p string, e tree.Entry) error {
		if e.Kind != tree.File {
			return nil
		}
		for _, root := range rendererOf(t, at).Reach([]string{p}, nil) {
			read[root] = true
			if !slices.Contains(roots, root) {
				t.Errorf("%s reaches %v, which is not listed", p, root)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		if !read[root] {
			t.Errorf("no file reaches %v", root)
		}
	}
}
