package checks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// An update that keeps a pre-existing violation passes, also when the list around it changes. A new violation blocks.
func TestPreExistingViolationsDoNotBlock(t *testing.T) {
	r := treetest.New(t)
	deployed := func(containers string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n" +
			"  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n" + containers
	}
	r.Write("apps/a.yaml", deployed("      - {name: old, image: 'x:latest'}\n"))
	base := r.Commit(pods)
	r.Write("apps/a.yaml", deployed("      - {name: first, image: 'y:latest'}\n      - {name: old, image: 'x:latest'}\n"))
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	want := []string{"fail UPDATE apps/a.yaml autogen-tag /spec/template/spec/containers/0/image",
		"fail UPDATE apps/a.yaml autogen-tag /spec/template/spec/containers/1/image old"}
	if got := lines(rep); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if rep.Conclusion != report.Failure || rep.Stats.PreExisting != 1 {
		t.Errorf("%s, %+v", rep.Conclusion, rep.Stats)
	}

	base = r.Rev("HEAD")
	r.Write(".lintel.yaml", "block: all\n")
	rules := r.Snapshot()
	r.Write("apps/a.yaml", deployed("      - {name: old, image: 'x:latest', tty: true}\n"))
	if rep := check(t, r, report.Change{Base: base, Rules: rules, Head: r.Snapshot()}); rep.Conclusion != report.Failure {
		t.Errorf("block: all concludes %s", rep.Conclusion)
	}
	if rep := check(t, r, report.Change{Base: base, Rules: base,
		Head: r.Rev("HEAD")}); rep.Conclusion != report.Success {
		t.Errorf("the head's settings count: %s", rep.Conclusion)
	}
}

// A move to another folder is a deletion and a creation. Violations of the moved object are pre-existing.
func TestMovedViolationsArePreExisting(t *testing.T) {
	r := treetest.New(t)
	r.Write("apps/a.yaml", pod("a", "  hostNetwork: true\n  containers: [{name: c, image: 'x:1'}]\n"))
	base := r.Commit(pods)
	r.Git("mv", "apps", "services")
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	if got := lines(rep); len(got) == 0 || rep.Conclusion != report.Success || rep.Stats.Resources != 2 {
		t.Errorf("got %s, %q, %+v", rep.Conclusion, got, rep.Stats)
	}
	r.Write("services/a.yaml", pod("a", "  hostNetwork: true\n  containers: [{name: c, image: 'x:latest'}]\n"))
	rep = check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	want := []string{"fail CREATE services/a.yaml net /spec/hostNetwork old",
		"fail CREATE services/a.yaml tag /spec/containers/0/image"}
	if got := lines(rep); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A look-up of a rule is answered with the rendered objects of the head; a missing object makes the result unknown.
func TestLookUpsAreAnsweredFromTheHead(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(`
-- policies/p.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: lookups}
spec:
  background: false
  rules:
  - name: allowed
    match: {any: [{resources: {kinds: [Service]}}]}
    context:
    - name: settings
      configMap: {name: p-settings, namespace: ops}
    validate:
      failureAction: Enforce
      message: Not allowed.
      deny:
        conditions:
          all:
          - {key: "{{ request.object.spec.type }}", operator: AnyNotIn, value: "{{ settings.data.types }}"}
  - name: labeled
    match: {any: [{resources: {kinds: [Service], namespaceSelector: {matchLabels: {tier: gold}}}}]}
    validate:
      failureAction: Enforce
      message: Gold needs an owner.
      pattern: {metadata: {labels: {owner: "?*"}}}
-- ops/kustomization.yaml --
namespace: ops
namePrefix: p-
configMapGenerator:
- name: settings
  options: {disableNameSuffixHash: true}
  literals: ["types=[\"ClusterIP\"]"]
-- apps/ns.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {tier: gold}}
`)
	service := func(ns, kind string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s-" + ns + ", namespace: " + ns + "}\nspec:\n  type: " +
			kind + "\n  ports: [{port: 80}]\n"
	}
	r.Write("apps/a.yaml", service("shop", "NodePort"))
	r.Write("apps/b.yaml", service("elsewhere", "ClusterIP"))
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	want := []string{
		"fail CREATE apps/a.yaml labeled /metadata/labels",
		"fail CREATE apps/a.yaml allowed /spec/type",
		"unknown CREATE apps/b.yaml labeled /metadata/labels",
	}
	got := lines(rep)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(rep.Warnings) > 0 {
		t.Errorf("got %s", problems(rep.Warnings))
	}

	// Policies cannot look up objects of a root that does not render, which is a warning.
	r.Write("broken/kustomization.yaml", "resources: [ns.yaml, gone.yaml]\n")
	r.Write("broken/ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: elsewhere}\n")
	base = r.Snapshot()
	r.Write("apps/b.yaml", service("elsewhere", "NodePort"))
	rep = check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	if got, want := problems(rep.Warnings), `broken/kustomization.yaml:1: policies cannot look up the objects of `+
		`this root, since it does not render: resources: "gone.yaml" does not exist`; !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// Mutate rules run first, as in a cluster. Fields that they set are traced to the rule, all others to their line, also
// if a mutation shifts a list.
func TestMutatedFieldsAreTracedToTheirRule(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(pods + `
-- policies/m.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: sidecar}
spec:
  rules:
  - name: add
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchesJson6902: |-
        - {op: add, path: /spec/containers/0, value: {name: side, image: "s:latest"}}
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchStrategicMerge: {metadata: {labels: {+(team): none}}}
`)
	r.Write("apps/a.yaml", pod("a", "  containers:\n  - name: app\n    image: x:latest\n"))
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	var got []string
	for _, f := range rep.Findings {
		got = append(got, fmt.Sprintf("%s:%d %s < %v", f.Origin.Path, f.Origin.StartLine, f.Field, f.Origin.Chain))
	}
	want := []string{
		"apps/a.yaml:7 /spec/containers/1/image < []",
		"policies/m.yaml:6 /spec/containers/0/image < [{apps/a.yaml 5 5 rendered}]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var written []string
	for _, m := range rep.Mutations {
		written = append(written, fmt.Sprint(m.Rule, m.Fields))
	}
	if want := []string{"add[/spec/containers/[name=side]]", "label[/metadata/labels]"}; !slices.Equal(written, want) ||
		rep.Stats.Mutated != 1 {
		t.Errorf("got %q, want %q; %+v", written, want, rep.Stats)
	}
}

// If the base does not render, the check does not pass for that reason, nor treats its objects as deleted.
func TestBaseThatDoesNotRenderDoesNotPass(t *testing.T) {
	r := treetest.New(t)
	r.Write("app/kustomization.yaml", "resources: [pod.yaml, gone.yaml]\n")
	r.Write("app/pod.yaml", pod("a", "  hostNetwork: true\n  containers: []\n"))
	broken := r.Commit(pods)
	r.Write("app/kustomization.yaml", "resources: [pod.yaml]\n")
	whole := r.Snapshot()
	rep := check(t, r, report.Change{Base: broken, Rules: broken, Head: whole})
	if got := lines(rep); len(got) > 0 || rep.Conclusion != report.Success {
		t.Errorf("mended: got %q, %s", got, rep.Title)
	}
	rep = check(t, r, report.Change{Base: whole, Rules: whole, Head: broken})
	if len(rep.Findings) != 0 || rep.Conclusion != report.Failure {
		t.Errorf("broken: %q, %s", lines(rep), rep.Conclusion)
	}
	if e := problems(rep.Errors); e != `app/kustomization.yaml:1: resources: "gone.yaml" does not exist` {
		t.Errorf("broken: errors %q", e)
	}
}

// A change that fixes one error of a root does not fail for another pre-existing error that the first one hid.
func TestFixingOneErrorDoesNotFailForAnotherPreExistingOne(t *testing.T) {
	const outside = "-- shared/a.yaml --\n{kind: A, apiVersion: e.com/v1, metadata: {name: a}}\n"
	const app = "-- app/kustomization.yaml --\n"
	const b = "{kind: B, apiVersion: e.com/v1, metadata: {name: b}}\n"
	for name, c := range map[string]struct{ base, head, want string }{
		"a file outside of the folder is left": {outside + app + "resources: [../shared/a.yaml, b.yaml]\n", "-- app/b.yaml --\n" + b,
			"neutral shared/a.yaml is outside the folder of this kustomization"},
		"a duplicate resource is left": {"-- app/a.yaml --\n" + b + "-- app/c.yaml --\n" + b + app +
			"resources: [a.yaml, c.yaml, b.yaml]\n", "-- app/b.yaml --\n" + outside[20:],
			`neutral B "b" is already part`},
		"the change introduces another error": {outside + app + "resources: [../shared/a.yaml, b.yaml]\n", "-- app/b.yaml --\n" + b +
			app + "resources: [../shared/a.yaml, b.yaml, gone.yaml]\n", `failure "gone.yaml" does not exist`},
		"the only error is fixed": {app + "resources: [b.yaml]\n", "-- app/b.yaml --\n" + b, "success "},
		"the change adds a file outside of the folder": {outside + app + "resources: [b.yaml]\n", "-- app/b.yaml --\n" + b + app +
			"resources: [../shared/a.yaml, b.yaml]\n", "failure shared/a.yaml is outside the folder of this kustomization"},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(pods + c.base)
			rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Commit(c.head)})
			got := string(rep.Conclusion) + " " + problems(rep.Errors)
			for _, n := range rep.NotChecked {
				got += " " + n.Reason
			}
			conclusion, message, _ := strings.Cut(c.want, " ")
			if !strings.HasPrefix(got, conclusion+" ") || !strings.Contains(got, message) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestUncheckedFilesAreReported(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(pods + "-- app/kustomization.yaml --\nresources: []\n-- charts/web/Chart.yaml --\n" +
		"apiVersion: v2\nname: web\nversion: 1.0.0\ntype: library\n")
	head := r.Commit("-- app/loose.yaml --\nkind: Pod\napiVersion: v1\n-- app/notes.yaml --\nhello: world\n-- " +
		"charts/web/templates/a.yaml --\n{{ x }}\n")
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: head})
	all := problems(rep.Warnings)
	for i := range rep.NotChecked {
		if n := &rep.NotChecked[i]; !slices.ContainsFunc(rep.Causes, func(c report.Cause) bool {
			return c.ID == n.Cause && c.Sentence == n.Reason && c.Changed && c.Roots == 1
		}) {
			t.Errorf("no cause of %+v: %+v", n, rep.Causes)
		}
		rep.NotChecked[i].Cause = ""
	}
	if want := []report.NotChecked{{Root: "app", Path: "app/loose.yaml", Changed: true, Reason: "no kustomization includes " +
		"this file: list it under resources, or remove it"}, {Root: "charts/web", Path: "charts/web/templates/a.yaml", Changed: true,
		Reason: "this Helm chart changes, and no object in this repository deploys it: name its release under charts in .lintel.yaml"}}; !slices.Equal(rep.NotChecked, want) {
		t.Errorf("not checked: %+v", rep.NotChecked)
	}
	if strings.Contains(all, "notes.yaml") || rep.Conclusion != report.Neutral {
		t.Errorf("%s\n%s", rep.Conclusion, all)
	}
}

// A misspelled folder of policies is an error, not an empty list of policies.
func TestSettingsThatNameNoPolicyFail(t *testing.T) {
	r := treetest.New(t)
	r.Write("apps/a.yaml", pod("a", "  hostNetwork: true\n  containers: [{name: c, image: 'x:1'}]\n"))
	head := r.Commit(pods + "-- .lintel.yaml --\npolicies: [polices/]\n")
	rep := check(t, r, report.Change{Rules: head, Head: head, All: true})
	if rep.Conclusion != report.Neutral || len(rep.NotChecked) != 1 || !strings.HasPrefix(rep.NotChecked[0].Reason,
		`policies: "polices/" does not exist in the repository: did you mean "policies"?`) {
		t.Errorf("%s: %+v", rep.Conclusion, rep)
	}
}

// All kinds of policies that Lintel evaluates are found by kind.
func TestAdmissionPoliciesAreFound(t *testing.T) {
	for _, kind := range []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"} {
		r := treetest.New(t)
		head := r.Commit("-- p.yaml --\napiVersion: admissionregistration.k8s.io/v1beta1\nkind: " + kind +
			"\nmetadata: {name: p}\nspec: {unknown: 1}\n")
		rep := check(t, r, report.Change{Rules: head, Head: head, All: true})
		if e := problems(rep.Errors); !strings.Contains(e, "unknown") {
			t.Errorf("%s was not read: %q", kind, e)
		}
	}
}

// The same change gives byte-identical reports, also from a checker that ran before.
func TestDeterministic(t *testing.T) {
	r, base, head := sample(t)
	var checker checks.Checker
	first := ""
	for range 3 {
		rep, err := checker.Run(t.Context(), report.Change{GitDir: r.GitDir, Base: base, Rules: base, Head: head, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(data)
		}
		if string(data) != first {
			t.Fatalf("got\n%s\nthen\n%s", first, data)
		}
	}
	if !strings.Contains(first, `"conclusion":"failure"`) {
		t.Errorf("the sample's change does not fail: %s", first)
	}
}

func BenchmarkCheckSample(b *testing.B) {
	r, base, head := sample(b)
	for _, c := range []struct {
		name   string
		change report.Change
	}{
		{"change", report.Change{Base: base, Rules: base, Head: head}},
		{"all", report.Change{Rules: base, Head: head, All: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var checker checks.Checker
			c.change.GitDir, c.change.Now = r.GitDir, now
			b.ReportAllocs()
			for b.Loop() {
				if _, err := checker.Run(b.Context(), c.change); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
