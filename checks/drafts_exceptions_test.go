package checks_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// draftPolicies are one policy of each kind that supports exceptions, and one of a kind that does not.
const draftPolicies = pods + `
-- policies/standard.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: standard}
spec:
  rules:
  - name: baseline
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      podSecurity: {level: baseline, version: latest}
-- policies/namespaced.yaml --
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: team, namespace: a}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod, ConfigMap]}}]}
    validate:
      failureAction: Enforce
      message: Say which team.
      pattern: {metadata: {labels: {team: "?*"}}}
-- policies/images.yaml --
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: privileged}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
  validations:
  - expression: >-
      object.spec.containers.all(c, c.image in exceptions.allowedImages || !(has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged))
-- policies/values.yaml --
apiVersion: policies.kyverno.io/v1beta1
kind: ValidatingPolicy
metadata: {name: volumes}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
  validations:
  - expression: >-
      !has(object.spec.volumes) || object.spec.volumes.all(v, kyverno.allowedValues.volumeTypes.exists(t, has(v[t])) || has(v.emptyDir))
-- policies/plain.yaml --
apiVersion: policies.kyverno.io/v1alpha1
kind: ValidatingPolicy
metadata: {name: owner}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods, configmaps, namespaces]}]
  validations:
  - expression: has(object.metadata.annotations) && 'owner' in object.metadata.annotations
-- policies/removal.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: removal}
spec:
  background: false
  rules:
  - name: keep
    match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
    validate:
      failureAction: Enforce
      message: Keep it.
      deny: {conditions: {all: [{key: "{{ request.operation }}", operator: Equals, value: DELETE}]}}
-- apps/old.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: b, annotations: {owner: x}}
`

// draftObjects are random objects that break the policies in many ways.
func draftObjects(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	var b strings.Builder
	seen := map[string]bool{}
	for range 1 + random.IntN(4) {
		name, namespace := pick("web", "job", "web-2"), pick("a", "b")
		if seen[name+namespace] {
			continue
		}
		seen[name+namespace] = true
		spec := fmt.Sprintf("{hostNetwork: %s, containers: [{name: c, image: %q, securityContext: {privileged: %s}}, "+
			"{name: d, image: %q}], volumes: [{name: v, %s}]}",
			pick("true", "false"), pick("r/a:latest", "r/a:1"), pick("true", "false"), pick("r/b:latest", "r/b:2"),
			pick("emptyDir: {}", "hostPath: {path: /x}", "nfs: {server: s, path: /p}"))
		if random.IntN(2) == 0 {
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s, %s}\nspec: %s\n", name,
				namespace, pick("labels: {team: x}", "annotations: {owner: x}"), spec)
		} else {
			fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: %s}\nspec: "+
				"{selector: {matchLabels: {team: x}}, template: {metadata: {labels: {team: x}, annotations: {owner: x}}, spec: %s}}\n", name, namespace, spec)
		}
	}
	if random.IntN(2) == 0 {
		b.WriteString("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n")
	}
	return b.String()
}

// about names the rule and resource of a finding.
func about(f report.Finding) string {
	return strings.Join([]string{f.Policy, f.Rule, f.Resource.Kind, f.Resource.Namespace, f.Resource.Name}, " ")
}

// Each draft, added to the repository and approved, makes exactly its findings exempt and no other; all of them
// together end the check with success.
func TestDraftsLetThroughExactlyWhatTheyAreFor(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	random := rand.New(rand.NewPCG(1, 2))
	narrowed := map[string]bool{}
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(draftPolicies)
			r.Write("apps/new.yaml", draftObjects(random))
			if i%3 == 0 {
				r.Git("rm", "-q", "apps/old.yaml")
			}
			change := report.Change{Base: base, Rules: base, Head: r.Snapshot(), Drafts: true}
			before := check(t, r, change)
			change.Drafts = false
			blocks := 0
			for _, f := range before.Findings {
				if f.Blocks {
					blocks++
				}
			}
			if blocks > 0 && len(before.Drafts) == 0 || len(before.Errors) > 0 {
				t.Fatalf("%d findings block and there are no drafts; errors %v", blocks, before.Errors)
			}
			for _, d := range before.Drafts {
				if d.YAML == "" {
					t.Errorf("no draft for %s on %v: %s", d.Policies(), d.Resource, d.Why)
					continue
				}
				for _, part := range []string{"podSecurity:", "images:", "allowedValues:"} {
					narrowed[part] = narrowed[part] || strings.Contains(d.YAML, part)
				}
				r.Write(d.Path, d.YAML)
				one := change
				one.Head, one.Approve = r.Snapshot(), []string{d.Path}
				after := check(t, r, one)
				for _, f := range after.Findings {
					mine := f.Resource == d.Resource && slices.ContainsFunc(d.Covers, func(c report.Covered) bool {
						return f.Policy == c.Policy &&
							(f.Rule == "exception" || len(c.Rules) == 0 || slices.Contains(c.Rules, f.Rule))
					})
					if exempt := f.Result == report.Skip; exempt != mine {
						t.Errorf("with %s: %s is exempt: %v, want %v\n%s", d.Path, about(f), exempt, mine, d.YAML)
					}
				}
				if len(after.Errors) > 0 || len(after.Exceptions) != len(d.Covers) || after.Exceptions[0].State != "approved" {
					t.Errorf("%s: errors %v, exceptions %+v\n%s", d.Path, after.Errors, after.Exceptions, d.YAML)
				}
				for _, e := range after.Exceptions {
					if b := e.Beyond; b == nil || b.Fails+b.Complying > 0 || len(e.Broad) > 0 {
						t.Errorf("%s is too broad: %+v %q\n%s", d.Path, e.Beyond, e.Broad, d.YAML)
					}
				}
				r.Git("rm", "-qf", d.Path)
			}
			all := change
			for _, d := range before.Drafts {
				r.Write(d.Path, d.YAML)
				all.Approve = append(all.Approve, d.Path)
			}
			all.Head = r.Snapshot()
			if after := check(t, r, all); after.Conclusion != report.Success {
				t.Errorf("with all drafts: %s %q", after.Conclusion, lines(after))
			}
		})
	}
	for _, part := range []string{"podSecurity:", "images:", "allowedValues:"} {
		if !narrowed[part] {
			t.Errorf("no draft was narrowed to %s", part)
		}
	}
}
