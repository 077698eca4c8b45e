package checks_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// An object that Argo CD cannot keep in an annotation of itself is refused, unless it is sent in another way.
func TestObjectsTooLargeForAnAnnotation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		option, annotation string
		size               int
		want               report.Conclusion
	}{
		"too large":                   {size: 262_144, want: report.Failure},
		"small enough":                {size: 261_000, want: report.Success},
		"too large when it is quoted": {size: 45_000, annotation: "<", want: report.Failure},
		"applied by the server":       {size: 300_000, option: "ServerSideApply=true", want: report.Success},
		"replaced":                    {size: 300_000, option: "Replace=true", want: report.Success},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := treetest.New(t)
			base := r.Commit("-- policies/p.yaml --\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n" +
				"  rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {kind: Pod}}}]\n" +
				"-- argocd/a.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\n" +
				"spec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n" +
				"  source: {repoURL: https://github.com/acme/fleet.git, path: app}\n" +
				"  syncPolicy: {syncOptions: [" + test.option + "]}\n-- app/small.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\n")
			text := "x"
			if test.annotation != "" {
				text = test.annotation
			}
			r.Write("app/large.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: \""+strings.Repeat(text, test.size)+"\"}\n")
			head := r.Snapshot()
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head, Repository: []string{"https://github.com/acme/fleet.git"},
				Branches: []string{"main"}})
			if rep.Conclusion != test.want {
				t.Errorf("%s, want %s: %+v", rep.Conclusion, test.want, rep.Findings)
			}
		})
	}
}
