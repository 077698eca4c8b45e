package checks_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// An Application is found however it is written and however it reaches the cluster: here its patches break a policy in
// the folder that it deploys. An Application that does not reach the cluster has no effect.
func TestDeployersAreFound(t *testing.T) {
	const patches = `    kustomize: {patches: [{target: {kind: Pod}, patch: '[{"op": "add", ` +
		`"path": "/spec/hostNetwork", "value": V}]'}]}` + "\n"
	object := func(value string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: argocd}\nspec:\n" +
			"  source:\n    repoURL: https://x.example/r.git\n    path: apps\n" +
			strings.ReplaceAll(patches, "V", value) + "  destination: {server: x}\n"
	}
	breaks, mends := object("true"), object("false")
	apps := "-- apps/kustomization.yaml --\nresources: [a.yaml]\n-- apps/a.yaml --\n" + goodPod
	good := apps + "-- apps/b.yaml --\n" + strings.ReplaceAll(goodPod, "name: a", "name: b") +
		"-- apps/kustomization.yaml --\nresources: [a.yaml, b.yaml]\n"
	bad := strings.ReplaceAll(good, "spec: {containers", "spec: {hostNetwork: true, containers")
	local := strings.ReplaceAll(mends, "namespace: argocd", "namespace: argocd, "+
		`annotations: {config.kubernetes.io/local-config: "no"}`)
	replace := func(old, new string) string { return strings.ReplaceAll(breaks, old, new) }
	for _, c := range []struct{ name, base, links, head string }{
		{"in a file without a suffix", "-- argo/kustomization.yaml --\nresources: [app]\n-- argo/app --\n" + breaks, "",
			good},
		{"in a file of another name", "-- argo/kustomization.yaml --\nresources: [app.txt]\n-- argo/app.txt --\n" +
			breaks, "", good},
		{"escaped group", "-- argo/a.yaml --\n" + replace("argoproj.io/v1alpha1", `"argoproj\u002eio/v1alpha1"`), "", good},
		{"group on two lines", "-- argo/a.yaml --\n" + replace("argoproj.io/v1alpha1", "\"argo\\\n  proj.io/v1alpha1\""), "",
			good},
		{"group in base64", "-- argo/a.yaml --\n" + replace("argoproj.io/v1alpha1", "!!binary YXJnb3Byb2ouaW8vdjFhbHBoYTE="),
			"", good},
		{"path in base64", "-- argo/a.yaml --\n" + replace("path: apps\n", "path: !!binary YXBwcw==\n"), "", good},
		{"path behind an alias as a key", "-- argo/a.yaml --\n" + strings.ReplaceAll(
			replace("path: apps\n", "*p : apps\n"), "{name: apps,", "{name: &p path, labels: {path: x},"), "", good},
		{"kind of a patch", "-- argo/kustomization.yaml --\nresources: [a.yaml]\npatches:\n- target: {kind: Foo}\n" +
			"  options: {allowKindChange: true}\n  patch: " +
			`'[{"op": "replace", "path": "/kind", "value": "Application"}]'` + "\n" +
			"-- argo/a.yaml --\n" + replace("kind: Application", "kind: Foo"), "", good},
		{"linked", "-- docs/app.txt --\n" + breaks, "argo/a.yaml ../docs/app.txt", good},
		{"in a linked folder", "-- .docs/app.yaml --\n" + breaks, "argo .docs", good},
		{"of a linked folder", "-- argo/a.yaml --\n" + replace("path: apps\n", "path: live\n"), "live apps", good},

		{"left out by kustomize", "-- argo/kustomization.yaml --\nresources: [a.yaml]\n-- argo/a.yaml --\n" + local, "", bad},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			if name, target, ok := strings.Cut(c.links, " "); ok {
				r.Symlink(target, name)
			}
			base := r.Commit(bare(pods + apps + c.base))
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: r.Commit(c.head)})
			if rep.Conclusion != report.Failure || len(rep.Errors) > 0 {
				t.Errorf("%s, %s:\n%s", rep.Conclusion, rep.Title, toldOf(rep))
			}
		})
	}
}
