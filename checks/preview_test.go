package checks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// previewed is a repository whose rules the tests edit. It has three Pods, of which "host" uses the network of its
// node, and two Deployments that share a base.
const previewed = pods + `
-- apps/pods.yaml --
apiVersion: v1
kind: Pod
metadata: {name: host, namespace: ops}
spec:
  hostNetwork: true
  containers: [{name: c, image: "i:1"}]
---
apiVersion: v1
kind: Pod
metadata: {name: tool, namespace: ops}
spec:
  containers: [{name: c, image: "i:1"}]
---
apiVersion: v1
kind: Pod
metadata: {name: old}
spec:
  containers: [{name: c, image: "i:latest"}]
-- shop/base/kustomization.yaml --
resources: [deployment.yaml]
-- shop/base/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
spec:
  template:
    spec:
      containers: [{name: c, image: "i:1"}]
    metadata: {labels: {app: shop}}
  selector: {matchLabels: {app: shop}}
-- shop/dev/kustomization.yaml --
namespace: dev
resources: [../base]
-- shop/prod/kustomization.yaml --
namespace: prod
resources: [../base]
`

const teamPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod, Deployment]}}]}
    validate:
      failureAction: Enforce
      message: Say whose it is.
      pattern: {metadata: {labels: {team: "?*"}}}
`

const hostException = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: %s, namespace: ops}
spec:
  exceptions: [{policyName: pods, ruleNames: ["*"]}]
  match: {any: [{resources: {kinds: [Pod], namespaces: [ops]}}]}
`

func podsPolicy(old, new string) string {
	_, text, _ := strings.Cut(strings.TrimPrefix(pods, "\n"), "\n")
	return "-- policies/p.yaml --\n" + strings.ReplaceAll(text, old, new)
}

func commit(r *treetest.Repo, archive string, remove []string) string {
	for _, p := range remove {
		r.Git("rm", "--quiet", p)
	}
	return r.Commit(archive)
}

// words describes a preview in short: its sentences, and its differences.
func words(p *report.Preview) []string {
	if p == nil {
		return nil
	}
	var list []string
	add := func(s string) {
		if s != "" {
			list = append(list, s)
		}
	}
	add(p.SettingsWords())
	for _, x := range p.Policies {
		add(x.Words())
	}
	for _, x := range p.Exceptions {
		add(x.Words())
	}
	add(p.TestWords())
	for _, f := range p.Findings {
		add(fmt.Sprintf("%s %s %s:%d %s>%s %d", f.Effect, f.Rule, f.Origin.Path, f.Origin.StartLine, f.Before, f.After,
			len(f.Roots)))
	}
	for _, w := range p.Warnings {
		add("warning " + w.String())
	}
	return list
}

func TestPreview(t *testing.T) {
	for _, c := range []struct {
		name         string
		base, change string
		remove       []string
		want         []string
		errors       string // of the report
	}{
		{name: "no rules change", change: "-- apps/more.yaml --\n" + pod("more",
			"  hostNetwork: true\n  containers: [{name: c, image: 'i:1'}]\n")},
		{name: "a file that only looks like rules", change: "-- apps/more.yaml --\n" + strings.Replace(
			pod("more", "  containers: [{name: c, image: 'i:1'}]\n"), "{name: more}",
			"{name: more, annotations: {policies.kyverno.io/x: y}}", 1)},
		{name: "comments and order", change: podsPolicy("spec:\n  rules", "# why\nspec:\n  rules")},
		{name: "a renamed file", change: strings.Replace(podsPolicy("", ""), "policies/p.yaml", "policies/pods.yaml", 1),
			remove: []string{"policies/p.yaml"}},
		{name: "new policy", change: "-- policies/team.yaml --\n" + teamPolicy, want: []string{
			"new policy team (Enforce) would newly fail for 5 resources in 3 roots",
			"fails label apps/pods.yaml:3 >fail 1", "fails label apps/pods.yaml:10 >fail 1",
			"fails label apps/pods.yaml:16 >fail 1",
			"fails label shop/base/deployment.yaml:3 >fail 2",
		}},
		{name: "new policy without violations", change: "-- policies/team.yaml --\n" +
			strings.Replace(teamPolicy, `labels: {team: "?*"}`, `name: "?*"`, 1), want: []string{
			"new policy team (Enforce) holds for all it applies to: 5 resources",
		}},
		{name: "new policy that matches nothing",
			change: "-- policies/team.yaml --\n" + strings.Replace(teamPolicy, "[Pod, Deployment]", "[Job]", 1), want: []string{
				"new policy team applies to nothing in this repository",
			}},
		{name: "loosened", change: podsPolicy("Enforce", "Audit"), want: []string{
			"policy pods (Audit, now Enforce) would only warn for 2 resources that fail now in 1 root",
			"relaxed net apps/pods.yaml:5 fail>warn 1", "relaxed tag apps/pods.yaml:18 fail>warn 1",
		}},
		{name: "tightened", base: podsPolicy("Enforce", "Audit"), change: podsPolicy("", ""), want: []string{
			"policy pods (Enforce, now Audit) would newly fail for 2 resources of 5 in 1 root",
			"fails net apps/pods.yaml:5 warn>fail 1", "fails tag apps/pods.yaml:18 warn>fail 1",
		}},
		{name: "another pattern", change: podsPolicy("!*:latest", "!*:1"), want: []string{
			"policy pods (Enforce) would newly fail for 4 resources of 5 and no longer report 1 resource in 3 roots",
			"fails tag apps/pods.yaml:6 pass>fail 1", "fails tag apps/pods.yaml:12 pass>fail 1",
			"fails autogen-tag shop/base/deployment.yaml:8 pass>fail 2",
			"passes tag apps/pods.yaml:18 fail>pass 1",
		}},
		{name: "a rule by another name", change: podsPolicy("name: net", "name: network"), want: []string{
			"policy pods (Enforce) would have the same results as now for 5 resources",
		}},
		{name: "the same as another kind", change: "-- policies/p.yaml --\n" + `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: pods}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}
  validations:
  - expression: "!has(object.spec.hostNetwork) || !object.spec.hostNetwork"
  - expression: "object.spec.containers.all(c, !c.image.endsWith(':latest'))"
`, want: []string{"policy pods (Enforce) would have the same results as now for 5 resources"}},
		{name: "deleted", remove: []string{"policies/p.yaml"},
			change: "-- policies/team.yaml --\n" + strings.Replace(teamPolicy, "[Pod, Deployment]", "[Job]", 1), want: []string{
				"policy pods (Enforce) is removed: 2 resources that violate it in 1 root would no longer be reported",
				"new policy team applies to nothing in this repository",
				"passes net apps/pods.yaml:5 fail> 1", "passes tag apps/pods.yaml:18 fail> 1",
			}},
		{name: "broken", change: podsPolicy("validate:", "validat:"), want: []string{
			"policy pods has errors, so what it would do is not known",
		}, errors: "policies/p.yaml:8"},
		{name: "unreadable", change: "-- policies/p.yaml --\napiVersion: kyverno.io/v1\na: [\n", want: []string{
			"policy pods has errors, so what it would do is not known",
		}, errors: "policies/p.yaml:"},
		{name: "an invalid policy that would mutate", change: "-- policies/m.yaml --\n" + `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-host}
spec:
  rules:
  - name: leave-host
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patch: {spec: {hostNetwork: false}}}
` + podsPolicy("Enforce", "Audit") + "-- e.yaml --\n" + fmt.Sprintf(hostException, "host"),
			errors: "policies/m.yaml:8", want: []string{
				"new policy no-host has errors, so what it would do is not known",
				"what policy pods would do is not known, because another policy has errors",
				"warning policies/m.yaml: the effect on resources is not known: a mutating policy has errors, so the " +
					"input of the other policies is not known",
			}},
		{name: "of a kind that only clusters evaluate", change: "-- policies/p2.yaml --\napiVersion: kyverno.io/v2\nkind: " +
			"CleanupPolicy\nmetadata: {name: tidy, namespace: a}\nspec: {schedule: '0 0 * * *', match: {any: [{resources: " +
			"{kinds: [Pod]}}]}}\n", want: []string{
			"new policy a/tidy is of a kind that is not evaluated before merge",
			"warning policies/p2.yaml:2: CleanupPolicy tidy is not evaluated before merge",
		}},
		{name: "settings leave policies out", change: "-- .lintel.yaml --\npolicies: [rules/]\n-- rules/team.yaml --\n" +
			strings.Replace(teamPolicy, "[Pod, Deployment]", "[Job]", 1), want: []string{
			"the settings change (policies)",
			"policy pods (Enforce) is removed: 2 resources that violate it in 1 root would no longer be reported",
			"new policy team applies to nothing in this repository",
			"passes net apps/pods.yaml:5 fail> 1", "passes tag apps/pods.yaml:18 fail> 1",
		}},
		{name: "settings that name nothing", change: "-- .lintel.yaml --\npolicies: [polices/]\n",
			errors: `policies: "polices/" does not exist`, want: []string{
				"the settings change (policies)",
				"policy pods (Enforce) is removed: 2 resources that violate it in 1 root would no longer be reported",
				"passes net apps/pods.yaml:5 fail> 1", "passes tag apps/pods.yaml:18 fail> 1",
			}},
		{name: "settings leave roots out", change: "-- .lintel.yaml --\nroots: {exclude: [apps]}\n", want: []string{
			"the settings change (roots): 1 root is no longer checked: apps",
			"policy pods (Enforce) would no longer report 2 resources in 1 root, and no longer apply to 1 resource that passes it",
			"passes net apps/pods.yaml:5 fail> 1", "passes tag apps/pods.yaml:18 fail> 1",
		}},
		{name: "settings without an effect on resources", change: "-- .lintel.yaml --\napprovers: {count: 2}\n",
			want: []string{"the settings change (approvers)"}},
		{name: "broken settings", change: "-- .lintel.yaml --\nroots: 3\n", errors: ".lintel.yaml:1"},
		{name: "new exception", change: "-- e.yaml --\n" + fmt.Sprintf(hostException, "host"), want: []string{
			"policy pods (Enforce) would no longer report 1 resource in 1 root",
			"new exception ops/host would let through 1 resource that violates a rule in 1 root, and covers 1 resource that " +
				"needs none",
			"passes net apps/pods.yaml:5 fail>skip 1",
		}},
		{name: "removed exception", base: "-- e.yaml --\n" + fmt.Sprintf(hostException, "host"), remove: []string{"e.yaml"},
			want: []string{
				"policy pods (Enforce) would newly fail for 1 resource of 5 in 1 root",
				"exception ops/host is removed: it lets through 1 resource in 1 root now",
				"fails net apps/pods.yaml:5 skip>fail 1",
			}},
		{name: "an exception another covers", base: "-- e.yaml --\n" + fmt.Sprintf(hostException, "host"),
			change: "-- f.yaml --\n" + fmt.Sprintf(hostException, "again"), want: []string{
				"new exception ops/again would let through nothing that violates a rule, and covers 2 resources that need none",
			}},
		{name: "expired exception", change: "-- e.yaml --\n" + strings.Replace(fmt.Sprintf(hostException, "host"),
			"namespace: ops}", "namespace: ops, labels: {cleanup.kyverno.io/ttl: '2020-01-01'}}", 1), want: []string{
			"new exception ops/host has expired: it lets nothing through",
		}},
		{name: "broken exception", base: "-- e.yaml --\n" + fmt.Sprintf(hostException, "host"), change: "-- e.yaml --\n" +
			strings.Replace(fmt.Sprintf(hostException, "host"), "policyName", "policName", 1), errors: "e.yaml:5"},
		{name: "exception from a policy in CEL", base: "-- policies/v.yaml --\n" + `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: host}
spec:
  validationActions: [Audit]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "!has(object.spec.hostNetwork)", message: no host}]
`, change: "-- e.yaml --\n" + `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: host, namespace: ops}
spec:
  policyRefs: [{name: host, kind: ValidatingPolicy}]
  matchConditions: [{name: ops, expression: "object.metadata.?namespace.orValue('') == 'ops'"}]
`, want: []string{
			"policy host (Audit) would no longer report 1 resource in 1 root",
			"new exception ops/host would let through 1 resource that violates a rule in 1 root, and covers 1 resource that " +
				"needs none",
			"passes  apps/pods.yaml:5 warn>skip 1",
		}},
		{name: "a policy of the API server and its binding", change: "-- policies/v.yaml --" + `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: host}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "!has(object.spec.hostNetwork)", message: no host}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: host-everywhere}
spec: {policyName: host, validationActions: [Deny]}
`, want: []string{
			"new policy host (Enforce) would newly fail for 1 resource of 3 in 1 root",
			"fails host apps/pods.yaml:5 >fail 1",
		}},
		{name: "a removed binding leaves an audit", base: "-- policies/v.yaml --" + `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: host}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "!has(object.spec.hostNetwork)", message: no host}]
-- policies/b.yaml --
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: host-everywhere}
spec: {policyName: host, validationActions: [Deny]}
`, remove: []string{"policies/b.yaml"}, want: []string{
			"policy host (Audit, now Enforce) would only warn for 1 resource that fails now in 1 root",
			"relaxed host apps/pods.yaml:5 fail>warn 1",
		}},
		{name: "a mutation changes what other policies see", change: "-- policies/m.yaml --\n" + `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-host}
spec:
  rules:
  - name: leave-host
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {hostNetwork: false}}}
`, want: []string{
			"new policy no-host would change 5 resources before the other policies are evaluated",
			"policy pods (Enforce) would no longer report 1 resource in 1 root",
			"passes net apps/pods.yaml:5 fail>pass 1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(previewed)
			if c.base != "" {
				base = r.Commit(c.base)
			}
			head := commit(r, c.change, c.remove)
			rep := check(t, r, report.Change{Base: base, Rules: base, Head: head})
			if diff := cmp.Diff(c.want, words(rep.Preview)); diff != "" {
				t.Errorf("preview (-want +got):\n%s", diff)
			}
			if got := problems(rep.Errors); (c.errors == "") != (got == "") || !strings.Contains(got, c.errors) {
				t.Errorf("errors %q, want %q", got, c.errors)
			}
			if c.errors == "" && rep.Preview != nil {
				compareWithChecks(t, r, base, head, rep.Preview)
			}
		})
	}
}

// compareWithChecks runs checks with the rules before and after. What only one of them reports must be in the preview,
// but rules of one policy are not told apart.
func compareWithChecks(t *testing.T, r *treetest.Repo, before, after string, p *report.Preview) {
	t.Helper()
	places := func(rules string) map[string]report.Result {
		out := map[string]report.Result{}
		for _, f := range check(t, r, report.Change{Rules: rules, Head: after, All: true}).Findings {
			if f.Result == report.Fail || f.Result == report.Warn {
				out[fmt.Sprint(f.Policy, f.Origin.Path, f.Origin.StartLine, f.Roots)] = f.Result
			}
		}
		return out
	}
	old, now := places(before), places(after)
	want, got := []string{}, []string{}
	for at, result := range now {
		if old[at] != result {
			want = append(want, fmt.Sprint(at, " ", old[at], ">", result))
		}
	}
	for at, result := range old {
		if now[at] == "" {
			want = append(want, fmt.Sprint(at, " ", result, ">"))
		}
	}
	plain := func(r report.Result) report.Result {
		if r != report.Fail && r != report.Warn {
			return ""
		}
		return r
	}
	for _, f := range p.Findings {
		got = append(got, fmt.Sprint(f.Policy, f.Origin.Path, f.Origin.StartLine, f.Roots, " ", plain(f.Before), ">",
			plain(f.After)))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the checks of the branch before and after (-) and the preview (+):\n%s", diff)
	}
}

// What the base branch changed after the head left it is neither added nor removed in the preview.
func TestPreviewOfAnOldHead(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(previewed)
	tip := r.Commit("-- policies/team.yaml --\n" + teamPolicy)
	r.Git("checkout", "--quiet", base)
	head := r.Commit("-- policies/empty.yaml --\n" +
		strings.Replace(strings.Replace(teamPolicy, "[Pod, Deployment]", "[Job]", 1), "{name: team}", "{name: jobs}", 1))
	rep := check(t, r, report.Change{Base: base, Rules: tip, Head: head})
	if diff := cmp.Diff([]string{"new policy jobs applies to nothing in this repository"},
		words(rep.Preview)); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
}

const teamTest = `apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: team}
policies: [../team.yaml]
resources: [pod.yaml]
results:
- policy: team
  rule: label
  kind: Pod
  resources: [bare]
  result: fail
- policy: team
  rule: label
  kind: Pod
  resources: [bare]
  result: pass
`

// Policy tests beside a policy, and tests that name it, are run. A failing row is an error at its line.
func TestPreviewRunsPolicyTests(t *testing.T) {
	rules := "-- policies/team.yaml --\n" + teamPolicy + "-- policies/.kyverno-test/pod.yaml --\n" +
		pod("bare", "  containers: []\n")
	failing := "policies/.kyverno-test/kyverno-test.yaml:12: the policy test fails: team / label should be \"pass\" for " +
		"Pod default/bare, got fail: " +
		"validation error: Say whose it is. rule label failed at path /metadata/labels/"
	good := teamTest[:strings.LastIndex(teamTest, "- policy")]
	for _, c := range []struct {
		name, base, change string
		remove             []string
		want               string // in short: the files, and the errors
	}{
		{name: "tests beside a new policy", change: rules + "-- policies/.kyverno-test/kyverno-test.yaml --\n" + teamTest,
			want: failing},
		{name: "passing tests", change: rules + "-- policies/.kyverno-test/kyverno-test.yaml --\n" + good},
		{name: "unchanged tests of an edited policy",
			base:   rules + "-- policies/.kyverno-test/kyverno-test.yaml --\n" + teamTest,
			change: "-- policies/team.yaml --\n# edited\n" + teamPolicy, want: failing},
		{name: "tests in another folder that name the policy", base: rules + "-- tests/kyverno-test.yaml --\n" + strings.NewReplacer(
			"../team", "../policies/team", "pod.yaml", "../policies/.kyverno-test/pod.yaml").Replace(teamTest),
			change: "-- policies/team.yaml --\n# edited\n" + teamPolicy,
			want:   strings.Replace(failing, "policies/.kyverno-test/", "tests/", 1)},
		{name: "tests whose objects are edited", base: rules + "-- policies/.kyverno-test/kyverno-test.yaml --\n" + teamTest,
			change: "-- policies/.kyverno-test/pod.yaml --\n# edited\n" + pod("bare", "  containers: []\n"), want: failing},
		{name: "tests whose policy is removed", base: rules + "-- policies/.kyverno-test/kyverno-test.yaml --\n" + good,
			remove: []string{"policies/team.yaml"},
			want:   "policies/.kyverno-test/kyverno-test.yaml:4: ../team.yaml: the file does not exist"},
		{name: "tests that cannot be read", change: rules + "-- policies/.kyverno-test/kyverno-test.yaml --\nkind: " +
			"Test\napiVersion: cli.kyverno.io/v1alpha1\npolicy: [a]\n", want: "policies/.kyverno-test/kyverno-test.yaml:3:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(previewed)
			if c.base != "" {
				base = r.Commit(c.base)
			}
			head := commit(r, c.change, c.remove)
			checker := checks.Checker{}
			rep, err := checker.Run(t.Context(), report.Change{GitDir: r.GitDir, Now: now, Base: base, Rules: base, Head: head})
			if err != nil {
				t.Fatal(err)
			}
			got := problems(rep.Errors)
			if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("errors:\n%s\nwant:\n%s", got, c.want)
			}
			if (rep.Conclusion == report.Failure) != (c.want != "") {
				t.Errorf("conclusion %s", rep.Conclusion)
			}
			if rep.Preview == nil || rep.Preview.Tests == nil || len(rep.Preview.Tests.Files) != 1 {
				t.Fatalf("preview: %+v", rep.Preview)
			}
		})
	}
}

// The list of differences is bounded. Omitted differences are counted, and the counts per policy are complete.
func TestPreviewIsBounded(t *testing.T) {
	r := treetest.New(t)
	var many strings.Builder
	many.WriteString("-- base/kustomization.yaml --\nresources: [pod.yaml]\n-- base/pod.yaml --\n" +
		pod("c", "  containers: [{name: c, image: 'i:1'}]\n"))
	for i := range 60 {
		fmt.Fprintf(&many, "-- shared/%02d/kustomization.yaml --\nnamespace: n%d\nresources: [../../base]\n", i, i)
	}
	for i := range 130 {
		fmt.Fprintf(&many, "-- apps/%03d/pod.yaml --\n%s---\n%s", i, pod("a", "  containers: [{name: c, image: 'i:1'}]\n"),
			pod("b", "  containers: [{name: c, image: 'i:1'}]\n"))
	}
	base := r.Commit(many.String())
	head := r.Commit("-- policies/team.yaml --\n" + teamPolicy)
	p := check(t, r, report.Change{Base: base, Rules: base, Head: head}).Preview
	if p == nil || len(p.Findings) != 200 || p.LeftOut != 61 || p.Policies[0].Fails != 320 || p.Stats.Roots != 191 {
		t.Fatalf("%d findings, %d left out, policies %+v, stats %+v", len(p.Findings), p.LeftOut, p.Policies, p.Stats)
	}
	r.Git("rm", "--quiet", "-r", "apps")
	base = r.Snapshot()
	head = r.Commit("-- policies/team.yaml --\n" + strings.Replace(teamPolicy, "name: team", "name: owner", 1))
	p = check(t, r, report.Change{Base: base, Rules: base, Head: head}).Preview
	if len(p.Findings) != 2 { // the old policy and the one that replaces it
		t.Fatalf("%d findings", len(p.Findings))
	}
	for _, f := range p.Findings {
		if len(f.Roots) != 50 || f.More.Roots != 10 || len(f.Resources) != 50 || f.More.Resources != 9 {
			t.Errorf("%d roots and %d more, %d resources and %d more", len(f.Roots), f.More.Roots, len(f.Resources),
				f.More.Resources)
		}
	}
}

// Roots for which there was no time are counted, and do not change the conclusion.
func TestPreviewOutOfTime(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(previewed)
	head := r.Commit("-- policies/team.yaml --\n" + teamPolicy)
	checker := checks.Checker{PreviewTime: -1}
	rep, err := checker.Run(t.Context(), report.Change{GitDir: r.GitDir, Now: now, Base: base, Rules: base, Head: head})
	if err != nil {
		t.Fatal(err)
	}
	p := rep.Preview
	if p == nil || p.Stats.Unseen != 4 || p.Stats.Roots != 4 || p.Stats.Resources != 0 ||
		rep.Conclusion != report.Success {
		t.Fatalf("%s, preview %+v", rep.Title, p)
	}
	want := "0 resources in 0 roots; the time limit was reached before 4 more roots, where there may be other differences"
	if got := p.Scope(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := p.Policies[0].Words(),
		"new policy team applies to nothing in this repository, as far as the time limit allowed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
