package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// DeployedBy lists the objects that deploy a root, and those that deploy these in turn.
func TestDeployedBy(t *testing.T) {
	app := func(name, path, more string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\n" +
			"spec:\n  source: {repoURL: https://example.com/r.git, path: " + path + more + "}\n  destination: {server: x}\n"
	}
	r := treetest.New(t)
	for p, text := range map[string]string{
		"clusters/a/apps.yaml":       app("apps", "argo/a", ""),
		"clusters/b/web.yaml":        app("web-b", "apps/web", ", directory: {recurse: true}"),
		"argo/a/web.yaml":            app("web", "apps/web", ""),
		"argo/a/self.yaml":           app("self", "argo/a", ""), // a circle
		"argo/loose/db.yaml":         app("db", "apps/db", ""),
		"apps/web/pod.yaml":          "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n",
		"apps/db/kustomization.yaml": "resources: [pod.yaml]\n",
		"apps/db/pod.yaml":           "apiVersion: v1\nkind: Pod\nmetadata: {name: db}\n",
		"apps/own/pod.yaml":          "apiVersion: v1\nkind: Pod\nmetadata: {name: own}\n",
	} {
		r.Write(p, text)
	}
	set := open(t, r.Tree(r.Snapshot()))
	want := map[string]string{
		"apps/web":   "argo/a/self.yaml argo/a/web.yaml clusters/a/apps.yaml; clusters/b/web.yaml",
		"apps/db":    "argo/loose/db.yaml",
		"apps/own":   "",
		"argo/a":     "argo/a/self.yaml clusters/a/apps.yaml; clusters/a/apps.yaml", // self, and apps
		"argo/loose": "",
	}
	got := map[string][]string{}
	for _, root := range set.All() {
		got[root.Path] = append(got[root.Path], strings.Join(set.DeployedBy(root), " "))
	}
	for path, w := range want {
		slices.Sort(got[path])
		if g := strings.Join(got[path], "; "); g != w {
			t.Errorf("%s is deployed by %q, want %q", path, g, w)
		}
	}
	if by := set.DeployedBy(roots.Root{Path: "apps/own", Kind: roots.Folder}); len(by) != 0 {
		t.Errorf("apps/own is deployed by %q", by)
	}
}
