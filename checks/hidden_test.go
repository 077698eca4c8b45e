package checks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const (
	goodPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x:1}]}\n"
	badPod  = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: true, containers: [{name: c, image: " +
		"x:1}]}\n"
	// badDeployment creates Pods like badPod.
	badDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: b}}, " +
		"template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: c, image: x:1}]}}}\n"
	// otherPod is another good Pod.
	otherPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: c, image: x:1}]}\n"
	// repair is a kustomization's patch that makes badPod a good Pod.
	repair = `patches: [{patch: '[{"op": "remove", "path": "/spec/hostNetwork"}]', target: {kind: Pod}}]
`
	harden = "patches: [{patch: '{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwork: null}}'}]\n"
)

// A change that breaks a policy cannot hide the violation. However the file is written, and whatever else names it, the
// check does not pass.
func TestViolationsCannotBeHidden(t *testing.T) {
	plain := "-- apps/a.yaml --\n" + goodPod
	built := "-- apps/a.yaml --\n" + goodPod + "-- apps/kustomization.yaml --\nresources: [a.yaml]\n"
	for _, c := range []struct{ name, base, head string }{
		{"plain", plain, "-- apps/a.yaml --\n" + badPod},
		{"built", built, "-- apps/a.yaml --\n" + badPod},

		// What was a root at the base stays a root.
		{"included and repaired elsewhere", built,
			"-- apps/a.yaml --\n" + badPod + "-- x/kustomization.yaml --\nresources: [../apps]\n" + harden},
		{"made a component", built, "-- apps/a.yaml --\n" + badPod + "-- apps/kustomization.yaml --\napiVersion: " +
			"kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [a.yaml]\n"},
		{"component and kustomization", built, "-- apps/a.yaml --\n" + badPod +
			"-- apps/kustomization.yaml --\nkind: Component\nkind: Kustomization\nresources: [a.yaml]\n"},
		{"a file made data", plain + "-- apps/b.yaml --\n" + strings.ReplaceAll(goodPod, "name: a", "name: b"),
			"-- apps/a.yaml --\n" + badPod +
				"-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [apps/a.yaml]}]\n"},
		{"a folder made data", plain, "-- apps/a.yaml --\n" + badPod +
			"-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [apps/a.yaml]}]\n"},
		{"a file included and repaired above", plain,
			"-- apps/a.yaml --\n" + badPod + "-- kustomization.yaml --\nresources: [apps/a.yaml]\n" + repair},
		{"the repairing patch is removed", "-- apps/a.yaml --\n" + badPod + "-- apps/kustomization.yaml --\nresources: [a.yaml]\n" +
			"-- x/b.yaml --\n" + otherPod + "-- x/kustomization.yaml --\nresources: [../apps, b.yaml]\n" + harden,
			"-- x/kustomization.yaml --\nresources: [b.yaml]\n"},
		{"the repairing patch is removed, and another kustomization includes it", "-- apps/a.yaml --\n" + badPod +
			"-- apps/kustomization.yaml --\nresources: [a.yaml]\n-- x/kustomization.yaml --\nresources: [../apps]\n" + harden,
			"-- all/kustomization.yaml --\nresources: [../x]\npatches: [{patch: '{apiVersion: v1, kind: Pod, metadata: " +
				"{name: a}, spec: {hostNetwork: true}}'}]\n"},
		{"declared a chart", plain, "-- apps/a.yaml --\n" + badPod + "-- apps/Chart.yaml --\nname: x\n"},
		{"everything declared a chart", plain, "-- apps/a.yaml --\n" + badPod + "-- Chart.yaml --\nname: x\n"},

		// Manifests are read as Kubernetes reads them.
		{"list in a list", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, " +
			"items: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwork: true}}]}]\n"},
		{"items without a kind", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}, " +
			"spec: {hostNetwork: true, containers: []}}]\n"},
		{"items of an object that is no list", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Odd\nmetadata: {name: o}\nitems: " +
			"[{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwork: true}}]\n"},
		{"items of an object that is no list, built", built, "-- apps/a.yaml --\napiVersion: v1\nkind: Odd\nmetadata: {name: " +
			"o}\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwork: true}}]\n"},
		{"alias as a key", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: &n " +
			"hostNetwork}}\nspec: {*n : true, containers: [{name: c, image: x:1}]}\n"},
		{"alias as a key, built", built, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: &n " +
			"hostNetwork}}\nspec: {*n : true, containers: [{name: c, image: x:1}]}\n"},
		{"base64 as a key", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {!!binary " +
			"aG9zdE5ldHdvcms=: true, containers: [{name: c, image: x:1}]}\n"},
		{"base64 as a value", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: " +
			"{containers: [{name: c, image: !!binary eDpsYXRlc3Q=}]}\n"},
		{"base64 as a value, built", built, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: " +
			"{containers: [{name: c, image: !!binary eDpsYXRlc3Q=}]}\n"},
		{"base64 as the kind", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: !!binary UG9k\nmetadata: {name: a}\nspec: " +
			"{hostNetwork: true}\n"},
		{"merge over a field", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a, x: &m " +
			"{hostNetwork: true}}\nspec: {hostNetwork: false, <<: *m, containers: [{name: c, image: x:1}]}\n"},
		{"tagged as a merge", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n!!merge spec: " +
			"{hostNetwork: true, containers: [{name: c, image: x:1}]}\n"},
		{"YAML 1.1 words for true", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: " +
			"{hostNetwork: on, containers: [{name: c, image: x:1}]}\n"},
		{"duplicate field", plain, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: false, " +
			"hostNetwork: true, containers: [{name: c, image: x:1}]}\n"},
		{"the second of the same name", plain, "-- apps/a.yaml --\n" + goodPod + "---\n" + badPod},
		{"the first of the same name", plain, "-- apps/a.yaml --\n" + badPod + "---\n" + goodPod},
		{"after a comment that ends in a carriage return", plain, "-- apps/a.yaml --\n" + goodPod + "---\n# c\r" +
			strings.ReplaceAll(strings.ReplaceAll(badPod, "name: a", "name: b"), "\n", "\r") + "\n"},
		{"after a comment that ends in a line separator", plain, "-- apps/a.yaml --\n" + goodPod + "--- # c\u2028" +
			strings.ReplaceAll(strings.ReplaceAll(badPod, "name: a", "name: b"), "\n", "\u0085") + "\n"},
		{"after a byte order mark in a document", plain, "-- apps/a.yaml --\n" + goodPod + "---\n\ufeff" +
			strings.ReplaceAll(badPod, "name: a", "name: b")},
		{"after a byte order mark, and not valid", plain, "-- apps/a.yaml --\n\ufeff" + badPod + "x: [\n"},
		{"after a tag, and not valid", plain, "-- apps/a.yaml --\n!!str " + badPod + "x: [\n"},
		{"JSON after JSON", plain + "-- apps/b.json --\n{}\n", "-- apps/b.json --\n" +
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}` +
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"hostNetwork":true}}` + "\n"},

		// Fields of a kustomization are read as kustomize reads them.
		{"resources in capitals", built, "-- apps/b.yaml --\n" + strings.ReplaceAll(badPod, "name: a", "name: b") +
			"-- apps/kustomization.yaml --\nRESOURCES: [b.yaml]\n"},
		{"resources twice", built, "-- apps/b.yaml --\n" + strings.ReplaceAll(badPod, "name: a", "name: b") +
			"-- apps/kustomization.yaml --\nresources: [a.yaml]\nresources: [b.yaml]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(bare(pods + c.base))
			head := r.Commit(c.head)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
			if rep.Conclusion != report.Failure {
				t.Errorf("%s, %s: %q\nerrors: %s\nwarnings: %s", rep.Conclusion, rep.Title, lines(rep), problems(rep.Errors),
					problems(rep.Warnings))
			}
		})
	}
}

// Moving objects without changing them neither creates findings nor duplicates them.
func TestRestructuringCreatesNoFindings(t *testing.T) {
	const many = "-- apps/a.yaml --\n" + badPod + "-- apps/kustomization.yaml --\nresources: [a.yaml]\n" +
		"-- other/kustomization.yaml --\nresources: [p.yaml]\n-- other/p.yaml --\n" + otherPod +
		"-- all/kustomization.yaml --\nresources: [../other]\n"
	for _, c := range []struct{ name, base, head string }{
		{"included elsewhere", "-- apps/a.yaml --\n" + badPod + "-- apps/kustomization.yaml --\nresources: [a.yaml]\n",
			"-- apps/a.yaml --\n" + strings.ReplaceAll(badPod, "x:1", "x:2") +
				"-- all/kustomization.yaml --\nresources: [../apps]\n"},
		{"included unchanged", many, "-- all/kustomization.yaml --\nresources: [../other, ../apps]\n"},
		{"included by a base of another root", many + "-- top/kustomization.yaml --\nresources: [../all]\n",
			"-- all/kustomization.yaml --\nresources: [../other, ../apps]\n"},
		{"included and changed", many, "-- all/kustomization.yaml --\nresources: [../other, ../apps]\n" +
			"commonLabels: {a: b}\n"},
		{"included twice", many + "-- more/kustomization.yaml --\nresources: [../other]\n",
			"-- all/kustomization.yaml --\nresources: [../other, ../apps]\n" +
				"-- more/kustomization.yaml --\nresources: [../other, ../apps]\n"},
		{"no longer included", many + "-- all/kustomization.yaml --\nresources: [../other, ../apps]\n",
			"-- all/kustomization.yaml --\nresources: [../other]\n"},
		{"replaced by another kustomization", many + "-- all/kustomization.yaml --\nresources: [../apps]\n-- new/a.yaml --\n" +
			badPod + "-- new/kustomization.yaml --\nresources: [a.yaml]\ncommonLabels: {a: b}\n",
			"-- all/kustomization.yaml --\nresources: [../new]\n"},
		{"replaced by the same content", many + "-- all/kustomization.yaml --\nresources: [../apps]\n-- new/a.yaml --\n" +
			badPod + "-- new/kustomization.yaml --\nresources: [a.yaml]\n",
			"-- all/kustomization.yaml --\nresources: [../new]\n"},
		{"a file of a subfolder", "-- apps/b.yaml --\n" + otherPod + "-- apps/more/a.yaml --\n" + badPod +
			"-- apps/kustomization.yaml --\nresources: [b.yaml]\n",
			"-- apps/kustomization.yaml --\nresources: [b.yaml, more/a.yaml]\n"},
		{"a file of a subfolder that keeps others", "-- apps/b.yaml --\n" + otherPod + "-- apps/more/a.yaml --\n" +
			badPod + "-- apps/more/c.yaml --\n" + otherPod + "-- apps/kustomization.yaml --\nresources: [b.yaml]\n",
			"-- apps/kustomization.yaml --\nresources: [b.yaml, more/a.yaml]\n"},
		{"given a kustomization", "-- apps/a.yaml --\n" + badPod, "-- apps/kustomization.yaml --\nresources: [a.yaml]\n"},
		{"given a kustomization that repairs", "-- apps/a.yaml --\n" + badDeployment,
			"-- apps/kustomization.yaml --\nresources: [a.yaml]\npatches: [{patch: '[{\"op\": \"remove\", \"path\": " +
				"\"/spec/template/spec/hostNetwork\"}]', target: {kind: Deployment}}]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(pods + c.base)
			head := r.Commit(c.head)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
			if rep.Conclusion != report.Success ||
				slices.ContainsFunc(rep.Findings, func(f report.Finding) bool { return f.New }) {
				t.Errorf("%s, %s: %q\nerrors: %s", rep.Conclusion, rep.Title, lines(rep), problems(rep.Errors))
			}
		})
	}
}

// Policies are found by kind, however the file spells the kind and whatever name a kustomization's resource has.
func TestPoliciesAreFoundByKind(t *testing.T) {
	policy := strings.TrimPrefix(pods, "\n-- policies/p.yaml --\n")
	for name, base := range map[string]string{
		"escaped":          "-- p.yaml --\n" + strings.NewReplacer("kyverno.io/v1", `"kyv\x65rno.\u0069o/v1"`).Replace(policy),
		"escaped kind":     "-- p.yaml --\n" + strings.NewReplacer("ClusterPolicy", `"ClusterP\u006flicy"`).Replace(policy),
		"continued line":   "-- p.yaml --\n" + strings.NewReplacer("kyverno.io/v1", "\"kyver\\\n  no.io/v1\"").Replace(policy),
		"without a suffix": "-- p/kustomization.yaml --\nresources: [rules]\n-- p/rules --\n" + policy,
		"hidden":           "-- p/kustomization.yaml --\nresources: [.rules.yaml]\n-- p/.rules.yaml --\n" + policy,
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(bare("\n" + base + "-- app/a.yaml --\n" + goodPod))
			head := r.Commit("-- app/a.yaml --\n" + badPod)
			if rep := check(t, r, report.Change{Rules: base, Base: base, Head: head}); rep.Conclusion != report.Failure {
				t.Errorf("%s: %s: %q", rep.Conclusion, rep.Title, lines(rep))
			}
		})
	}
}

// Renaming a folder of several overlays changes none of them.
func TestRenamedFolderOfOverlaysHasNoNewFindings(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(pods + "-- apps/base/a.yaml --\n" + badPod + "-- apps/base/kustomization.yaml --\nresources: " +
		"[a.yaml]\n-- apps/dev/kustomization.yaml --\nresources: [../base]\nlabels: [{pairs: {a: dev}}]\n" +
		"-- apps/prod/kustomization.yaml --\nresources: [../base]\n")
	r.Git("mv", "apps", "applications")
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	if rep.Conclusion != report.Success || rep.Stats.PreExisting == 0 {
		t.Errorf("%s, %s: %q", rep.Conclusion, rep.Title, lines(rep))
	}
	r.Write("applications/prod/kustomization.yaml", "resources: [../base]\nimages: [{name: x, newTag: latest}]\n")
	rep = check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	got := strings.Join(lines(rep), ", ")
	if rep.Conclusion != report.Failure || strings.Count(got, " old") != len(rep.Findings)-1 || len(rep.Errors) > 0 {
		t.Errorf("%s, %s: %s", rep.Conclusion, rep.Title, got)
	}
	// Two copies replace one folder. The additional copy is new, even though both folders end like the old one.
	r.Git("checkout", "--quiet", "--force", base)
	for _, to := range []string{"east", "west"} {
		for _, f := range []string{"base/a.yaml", "base/kustomization.yaml", "dev/kustomization.yaml", "prod/kustomization.yaml"} {
			r.Write(to+"/"+f, r.Git("show", base+":apps/"+f))
		}
	}
	r.Git("rm", "-r", "--quiet", "apps")
	rep = check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	if rep.Conclusion != report.Failure {
		t.Errorf("copied: %s, %s: %q", rep.Conclusion, rep.Title, lines(rep))
	}
}
