package checks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Of several variables in one text, the finding is at the one that the rule is about, else at the one that the change
// edits, though one file sets them all.
func TestFindingsAreAtTheVariableThatTheRuleIsAbout(t *testing.T) {
	policy := func(name, pattern string) string {
		return `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: ` + name + `}
spec:
  rules:
  - name: ` + name + `
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {failureAction: Enforce, message: refused, pattern: {spec: {containers: [{image: '` + pattern + `'}]}}}
`
	}
	kustomization := func(registry, tag string) string {
		return strings.Replace(fluxKustomization("./apps", "one"), " {substitute: {team: one}}",
			"\n    substitute:\n      A_REGISTRY: "+registry+"\n      B_TAG: "+tag+"\n      Z_REGISTRY: "+registry, 1)
	}
	for name, tc := range map[string]struct {
		image, before, after, want string
	}{
		"the tag changes":           {"${A_REGISTRY}/web:${B_TAG}", kustomization("own", "x1"), kustomization("own", "latest"), "B_TAG: latest"},
		"the registry changes":      {"${Z_REGISTRY}/web:${B_TAG}", kustomization("own", "x1"), kustomization("foreign", "x1"), "Z_REGISTRY: foreign"},
		"all is new":                {"${A_REGISTRY}/web:${B_TAG}", "", kustomization("own", "latest"), "B_TAG: latest"},
		"a default that is not set": {"'${A_REGISTRY}/web:${C:-${B_TAG}}'", kustomization("own", "x1"), kustomization("own", "latest"), "B_TAG: latest"},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			base := sources{".lintel.yaml": "policies: [policies]\n", "policies/tag.yaml": policy("tag", "!*:latest"),
				"policies/registry.yaml": policy("registry", "own/*"), "apps/pod.yaml": "apiVersion: v1\nkind: Pod\n" +
					"metadata: {name: web, namespace: web}\nspec:\n  containers:\n  - name: web\n    image: " + tc.image + "\n"}
			if tc.before != "" {
				base["flux.yaml"] = tc.before
			}
			before := r.Commit(base.archive())
			after := r.Commit(base.with(sources{"flux.yaml": tc.after}).archive())
			got := ""
			for _, f := range check(t, r, report.Change{Base: before, Rules: before, Head: after, Repository: []string{ownURL}, Branches: []string{"main"}}).Findings {
				got += fmt.Sprintf("%s:%d", f.Origin.Path, f.Origin.StartLine)
			}
			line := strings.Count(tc.after[:strings.Index(tc.after, tc.want)], "\n") + 1
			if want := fmt.Sprintf("flux.yaml:%d", line); got != want {
				t.Errorf("the findings are at %q, want %s", got, want)
			}
		})
	}
}
