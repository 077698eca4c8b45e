package checks_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Files that name a manifest of the base do not change whether it is checked, unless they deploy it. They are part of
// the base here.
func TestManifestNamedByAnotherFileIsStillChecked(t *testing.T) {
	const (
		good  = "-- apps/a.yaml --\n" + goodPod
		bad   = "-- apps/a.yaml --\n" + badPod
		built = good + "-- apps/kustomization.yaml --\nresources: [a.yaml]\n"
		other = "-- x/b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
		wrap  = "-- wrap/kustomization.yaml --\nresources: [../apps]\n" + harden
		// app is an Application that deploys a folder with a patch that fixes its Pods.
		app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps}\nspec:\n  destination: {namespace: " +
			"n}\n  source: {repoURL: https://example.com/r, path: apps, kustomize: {patches: [{target: {kind: Pod}, patch: '[{\"op\": " +
			"\"remove\", \"path\": \"/spec/hostNetwork\"}]'}]}}\n"
		flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: f}\nspec:\n" +
			"  path: ./apps\n  sourceRef: {kind: GitRepository, name: f}\n"
		mend    = "  patches: [{target: {kind: Pod}, patch: '[{\"op\": \"remove\", \"path\": \"/spec/hostNetwork\"}]'}]\n"
		exclude = "-- .lintel.yaml --\nroots: {exclude: [x/**]}\n"
	)
	for _, c := range []struct {
		name, base, head string
		want             report.Conclusion
	}{
		// Named as data of a generator.
		{"file as data", good + "-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [apps/a.yaml]}]\n", bad,
			report.Failure},
		{"file as a Secret's data", good + "-- kustomization.yaml --\nsecretGenerator: [{name: g, files: [k=apps/a.yaml]}]\n",
			bad, report.Failure},
		{"file as an environment", good + "-- kustomization.yaml --\nconfigMapGenerator: [{name: g, envs: [apps/a.yaml]}]\n",
			bad, report.Failure},
		{"folder as data", built + "-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [apps]}]\n", bad,
			report.Failure},
		{"kustomization as data", built +
			"-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [apps/kustomization.yaml]}]\n", bad, report.Failure},
		{"file as configuration", good + "-- kustomization.yaml --\nconfigurations: [apps/a.yaml]\n" +
			"configMapGenerator: [{name: g}]\n", bad, report.Failure},
		{"file as crds", good + "-- kustomization.yaml --\ncrds: [apps/a.yaml]\nconfigMapGenerator: [{name: g}]\n", bad,
			report.Failure},
		{"data beside a kustomization that has no use for it", "-- apps/kustomization.yaml --\nconfigMapGenerator: [{name: g, " +
			"files: [a.yaml]}]\n" + good, bad, report.Success},

		// Named as a patch.
		{"patch without a target", good + "-- kustomization.yaml --\nresources: [x/b.yaml]\n" +
			"patches: [{path: apps/a.yaml, target: {kind: Nothing}}]\n" + other, bad, report.Failure},
		{"patch of another name", good + "-- kustomization.yaml --\nresources: [x/b.yaml]\n" +
			"patches: [{path: apps/a.yaml, target: {kind: ConfigMap, name: none}}]\n" + other, bad, report.Failure},
		{"patch of another group", good + "-- kustomization.yaml --\nresources: [x/b.yaml]\n" +
			"patches: [{path: apps/a.yaml, target: {group: none.io, kind: ConfigMap}}]\n" + other, bad, report.Failure},
		{"patch of other labels", good + "-- kustomization.yaml --\nresources: [x/b.yaml]\n" +
			"patches: [{path: apps/a.yaml, target: {labelSelector: none=x}}]\n" + other, bad, report.Failure},
		{"patch of an excluded root", good + "-- kustomization.yaml --\nresources: [x/b.yaml]\n" +
			"patches: [{path: apps/a.yaml, target: {kind: ConfigMap}}]\n" + other + "-- .lintel.yaml --\nroots: {exclude: [.]}\n",
			bad, report.Failure},
		{"patch of a component that nobody uses", good + "-- kustomization.yaml --\nkind: Component\n" +
			"patches: [{path: apps/a.yaml}]\n", bad, report.Failure},

		// Named as a resource of a kustomization that nobody deploys.
		{"resource of an excluded root", good + "-- kustomization.yaml --\nresources: [apps/a.yaml]\n" + repair +
			"-- .lintel.yaml --\nroots: {exclude: [.]}\n", bad, report.Failure},
		{"resource of a component that nobody uses", good + "-- kustomization.yaml --\nkind: Component\n" +
			"resources: [apps/a.yaml]\n" + repair, bad, report.Failure},
		{"base of an excluded root", built + "-- x/kustomization.yaml --\nresources: [../apps]\n" + harden + exclude, bad,
			report.Failure},
		{"base of a component that nobody uses", built + "-- x/kustomization.yaml --\nkind: Component\n" +
			"resources: [../apps]\n", bad, report.Failure},
		{"base of a base of an excluded root", built + "-- x/a/kustomization.yaml --\nresources: [../../apps]\n" +
			"-- x/b/kustomization.yaml --\nresources: [../a]\n" + harden + exclude, bad, report.Failure},
		{"not included", built + wrap + "-- .lintel.yaml --\nroots: {include: [apps]}\n", bad, report.Failure},

		// Included by a kustomization that fixes the violation.
		{"wrapped by one with a missing part", built + "-- x/kustomization.yaml --\nresources: [../apps, none.yaml]\n" + harden, bad,
			report.Neutral},
		{"wrapped by one that does not build", built + "-- x/kustomization.yaml --\nresources: [../apps]\npatches: [{target: " +
			"{kind: Pod}, patch: '[{op: add, path: /none/none, value: 1}]'}]\n", bad, report.Neutral},
		{"wrapped", built + wrap, bad, report.Neutral},
		{"wrapped twice", built + wrap + "-- wrap2/kustomization.yaml --\nresources: [../wrap]\n", bad, report.Neutral},
		{"wrapped, and mended in one of two", built + wrap + "-- wrap2/kustomization.yaml --\nresources: [../apps]\n", bad,
			report.Failure},
		{"wrapped, and the change is in a component", built + wrap + "-- comp/kustomization.yaml --\nkind: Component\n" +
			"patches: [{path: p.yaml}]\n-- comp/p.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {dnsPolicy: " +
			"None}\n-- apps/kustomization.yaml --\nresources: [a.yaml]\ncomponents: [../comp]\n",
			"-- comp/p.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: true}\n", report.Neutral},
		{"wrapped, and good by itself", built + wrap, "-- apps/a.yaml --\n" + strings.ReplaceAll(goodPod, "x:1", "x:2"),
			report.Success},
		{"wrapped, and bad already", bad + "-- apps/kustomization.yaml --\nresources: [a.yaml]\n" + wrap,
			"-- apps/a.yaml --\n" + strings.ReplaceAll(badPod, "x:1", "x:2"), report.Success},
		{"wrapped, and an object deploys the wrapper", built + wrap + "-- flux/apps.yaml --\n" +
			strings.Replace(flux, "./apps", "./wrap", 1), bad, report.Success},
		{"wrapped, and a suspended object deploys the wrapper", built + wrap + "-- flux/apps.yaml --\n" +
			strings.Replace(flux, "./apps", "./wrap", 1) + "  suspend: true\n", bad, report.Neutral},
		{"wrapped, and the options have the wrapper only", built + wrap + "-- .lintel.yaml --\nroots: {include: [wrap]}\n", bad,
			report.Success},
		{"wrapped, and an object deploys the base", built + wrap + "-- flux/apps.yaml --\n" + flux, bad, report.Failure},

		// Part of a chart, or of a policy test.
		{"below a chart", good + "-- Chart.yaml --\nname: x\n", bad, report.Failure},
		{"beside a chart", good + "-- apps/Chart.yaml --\nname: x\n", bad, report.Failure},
		{"kustomization below a chart", built + "-- Chart.yaml --\nname: x\n", bad, report.Failure},
		{"resource of a policy test, and of a kustomization", good + "-- kyverno-test.yaml --\nkind: Test\nresources: " +
			"[apps/a.yaml]\n-- kustomization.yaml --\nresources: [apps/a.yaml]\n", bad, report.Failure},
		{"resource of a policy test, and of an object", good + "-- kyverno-test.yaml --\nkind: Test\nresources: " +
			"[apps/a.yaml]\n-- flux/apps.yaml --\n" + flux + "  targetNamespace: team\n", bad, report.Failure},
		{"resource of a policy test among what is deployed", good + "-- apps/b.yaml --\n" +
			strings.ReplaceAll(goodPod, "name: a", "name: b") + "-- kyverno-test.yaml --\nkind: Test\nresources: [apps/a.yaml]\n",
			bad, report.Failure},
		{"folder of a policy test", good + "-- kyverno-test.yaml --\nkind: Test\nresources: [apps]\n", bad, report.Failure},
		{"resource of a policy test", "-- tests/kyverno-test.yaml --\napiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\nresources: [a.yaml]\n-- tests/a.yaml --\n" +
			goodPod, "-- tests/a.yaml --\n" + badPod, report.Success},

		// Deployed by objects of Argo CD and Flux.
		{"object that mends", built + "-- argo/apps.yaml --\n" + app, bad, report.Success},
		{"object in an excluded folder", built + "-- x/apps.yaml --\n" + app + exclude, bad, report.Failure},
		{"object that its folder's kustomization leaves out", built + "-- argo/apps.yaml --\n" + app +
			"-- argo/kustomization.yaml --\nconfigMapGenerator: [{name: g}]\n", bad, report.Failure},
		{"object of a component that nobody uses", built + "-- argo/apps.yaml --\n" + app +
			"-- argo/kustomization.yaml --\nkind: Component\nresources: [apps.yaml]\n", bad, report.Failure},
		{"object of a kustomization", built + "-- argo/apps.yaml --\n" + app +
			"-- argo/kustomization.yaml --\nresources: [apps.yaml]\n", bad, report.Success},
		{"object that mends, of Flux", built + "-- flux/apps.yaml --\n" + flux + mend, bad, report.Success},
		{"suspended object", built + "-- flux/apps.yaml --\n" + flux + mend + "  suspend: true\n", bad, report.Failure},
		{"object that is data", built + "-- argo/apps.yaml --\n" + app +
			"-- argo/kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [apps.yaml]}]\n", bad, report.Failure},
		{"object that deploys itself only", built + "-- x/apps.yaml --\n" + app + "-- x/self.yaml --\n" +
			strings.NewReplacer("./apps", "./x", "name: apps", "name: self").Replace(flux) + "  targetNamespace: team\n" + exclude,
			bad, report.Failure},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(bare(pods + c.base))
			head := r.Commit(c.head)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
			if rep.Conclusion != c.want {
				t.Errorf("%s, want %s: %s: %q\nerrors: %s\nwarnings: %s\nnot checked: %v", rep.Conclusion, c.want, rep.Title,
					lines(rep), problems(rep.Errors), problems(rep.Warnings), rep.NotChecked)
			}
			relies := false
			for _, f := range rep.Findings {
				if _, says, ok := strings.Cut(f.Message, "relies on its overlay"); ok {
					relies = true
					if unbuilt := strings.Contains(c.name, "does not build"); strings.Contains(says, "fixes this") == unbuilt {
						t.Error(f.Message)
					}
				}
			}
			if wrapped := strings.HasPrefix(c.name, "wrapped"); wrapped && relies != (c.want == report.Neutral) {
				t.Errorf("relies on its overlay: %v", relies)
			}
		})
	}
}

// No file that names a policy disables it.
func TestPolicyNamedByAnotherFileStaysInEffect(t *testing.T) {
	const named = "-- .lintel.yaml --\npolicies: [policies]\n"
	const plain = "-- apps/a.yaml --\n" + goodPod
	for _, c := range []struct{ name, base string }{
		{"data", "-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [policies/p.yaml]}]\n"},
		{"data, settings name the folder",
			named + "-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [policies/p.yaml]}]\n"},
		{"data, settings name the file", "-- .lintel.yaml --\npolicies: [policies/p.yaml]\n" +
			"-- kustomization.yaml --\nconfigMapGenerator: [{name: g, files: [policies/p.yaml]}]\n"},
		{"patch of nothing", named + "-- kustomization.yaml --\nconfigMapGenerator: [{name: g}]\n" +
			"patches: [{path: policies/p.yaml, target: {kind: Nothing}}]\n"},
		{"patch of another", named + "-- kustomization.yaml --\nresources: [q.yaml]\npatches: [{path: policies/p.yaml, " +
			"target: {name: none}}]\n-- q.yaml --\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: q}\n" +
			"spec: {rules: []}\n"},
		{"patch of nothing, excluded", named + "roots: {exclude: [.]}\n-- kustomization.yaml --\npatches: [{path: " +
			"policies/p.yaml}]\nconfigMapGenerator: [{name: g}]\n"},
		{"patch, by kind", "-- kustomization.yaml --\nconfigMapGenerator: [{name: g}]\n" +
			"patches: [{path: policies/p.yaml, target: {kind: Nothing}}]\n"},
		{"chart beside", "-- policies/Chart.yaml --\nname: x\n"},
		{"chart above", "-- Chart.yaml --\nname: x\n"},
		{"chart above, named", named + "-- Chart.yaml --\nname: x\n"},
		{"resource of a policy test", "-- policies/kyverno-test.yaml --\napiVersion: cli.kyverno.io/v1alpha1\nkind: " +
			"Test\nmetadata: {name: t}\nresources: [p.yaml]\n"},
		{"in an excluded folder", "-- .lintel.yaml --\nroots: {exclude: [policies/**]}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(bare(pods + plain + c.base))
			head := r.Commit("-- apps/a.yaml --\n" + badPod)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
			violated := false
			for _, f := range rep.Findings {
				violated = violated || f.Blocks && f.Policy == "pods"
			}
			if !violated {
				t.Errorf("%s: %s: %q\nerrors: %s", rep.Conclusion, rep.Title, lines(rep), problems(rep.Errors))
			}
		})
	}
}

// A document that cannot be read does not hide the other documents of its file.
func TestUnreadableDocumentHidesNoOthers(t *testing.T) {
	const twice = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: t}\nspec: &s {a: *s}\n"
	deep := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata: " + strings.Repeat("[", 200) +
		strings.Repeat("]", 200) + "\n"
	for _, c := range []struct {
		name, head string
		want       report.Conclusion
	}{
		{"an alias that only Lintel rejects", "# {{\n" + badPod + twice, report.Failure},
		{"a document that is nested too deep", "# {{\n" + badPod + deep, report.Failure},
		{"a template in a comment", "# {{\n" + badPod + "---\napiVersion: v1\nkind: Pod\nx: [\n", report.Failure},
		{"a template at the end of a line", badPod + "---\napiVersion: v1\nkind: Pod # {{\nx: [\n", report.Failure},
		{"a template in another document", badPod + "---\napiVersion: v1\nkind: Pod\nx: '{{'\n---\nkind: Pod\nx: [\n",
			report.Failure},
		{"a template beside a manifest", badPod + "---\napiVersion: v1\nkind: Pod\n{{ if x }}\n", report.Failure},
		{"a template before a manifest", "apiVersion: v1\nkind: Pod\n{% if x %}\n---\n" + badPod, report.Neutral},
		{"a template", "apiVersion: v1\nkind: Pod\n{{ if x }}\n", report.Success},
		{"no manifest", "x: [\n", report.Success},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(bare(pods + "-- apps/b.yaml --\nx: 1\n"))
			head := r.Commit("-- apps/b.yaml --\n" + c.head)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
			if rep.Conclusion != c.want {
				t.Errorf("%s, want %s: %s: %q\nerrors: %s\nnot checked: %v", rep.Conclusion, c.want, rep.Title, lines(rep),
					problems(rep.Errors), rep.NotChecked)
			}
			if c.want == report.Neutral && (len(rep.NotChecked) != 1 || rep.NotChecked[0].Line < 2) {
				t.Errorf("not checked: %v", rep.NotChecked)
			}
		})
	}
}

// A manifest that is deployed only through a symlink is checked.
func TestSymlinks(t *testing.T) {
	const quiet = "-- .lintel.yaml --\nroots: {exclude: [hidden/**]}\n"
	for _, c := range []struct {
		name, base   string
		link, target string
		head         string
		want         report.Conclusion
	}{
		{"to a file that is no manifest by its name", "-- apps/b.yaml --\nx: 1\n-- data/a.txt --\n" + goodPod,
			"apps/a.yaml", "../data/a.txt", "-- data/a.txt --\n" + badPod, report.Failure},
		{"to a file in a hidden folder", "-- .data/a.yaml --\n" + goodPod, "apps/a.yaml", "../.data/a.yaml",
			"-- .data/a.yaml --\n" + badPod, report.Failure},
		{"to a hidden folder", "-- .data/a.yaml --\n" + goodPod, "apps/link", "../.data", "-- .data/a.yaml --\n" + badPod,
			report.Failure},
		{"to a folder in a hidden folder", "-- .data/x/y/a.yaml --\n" + goodPod, "apps", ".data/x",
			"-- .data/x/y/a.yaml --\n" + badPod, report.Failure},
		{"to an excluded folder", quiet + "-- hidden/a.yaml --\n" + goodPod, "apps/link", "../hidden",
			"-- hidden/a.yaml --\n" + badPod, report.Failure},
		{"to a folder that a kustomization mends", "-- k/kustomization.yaml --\nresources: [m/a.yaml]\n" + repair +
			"-- k/m/a.yaml --\n" + goodPod, "apps", "k/m", "-- k/m/a.yaml --\n" + badPod, report.Failure},
		{"to a folder that is checked anyway", "-- other/a.yaml --\n" + goodPod, "apps", "other", "-- other/a.yaml --\n" +
			badPod, report.Failure},
		{"to the top", "-- apps/a.yaml --\n" + goodPod, "apps/link", "..", "-- apps/a.yaml --\n" + badPod, report.Failure},
		{"to what is no manifest", "-- .data/a.yaml --\nx: 1\n", "apps/link", "../.data", "-- .data/a.yaml --\nx: 2\n",
			report.Success},
	} {
		for _, late := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				r := treetest.New(t)
				if !late {
					r.Symlink(c.target, c.link)
				}
				base := r.Commit(bare(pods + c.base))
				if late {
					r.Symlink(c.target, c.link)
				}
				head := r.Commit(c.head)
				rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
				if rep.Conclusion != c.want {
					t.Errorf("%s, want %s: %s: %q\nerrors: %s\nnot checked: %v", rep.Conclusion, c.want, rep.Title, lines(rep),
						problems(rep.Errors), rep.NotChecked)
				}
				for _, f := range rep.Findings {
					if f.Origin.Path == c.link || strings.HasPrefix(f.Origin.Path, c.link+"/") && c.link != "apps/link" {
						t.Errorf("the place is the link %s", f.Origin.Path)
					}
				}
			})
		}
	}
	for _, c := range []struct {
		link, target string
		want         report.Conclusion
	}{
		{"apps/a.yaml", "/etc/a.yaml", report.Neutral}, {"apps/a.yaml", "../../out.yaml", report.Neutral},
		{"apps/more", "../../out", report.Neutral}, {"apps/a.yaml", "gone.yaml", report.Neutral},
		{"apps/a.yaml", "a.yaml", report.Neutral}, {".tool/a.yaml", "/etc/a.yaml", report.Success},
		{"docs/README.md", "/etc/x", report.Success},
	} {
		r := treetest.New(t)
		base := r.Commit(pods + "-- apps/b.yaml --\n" + goodPod)
		r.Symlink(c.target, c.link)
		head := r.Snapshot()
		rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
		if rep.Conclusion != c.want || (c.want == report.Neutral) != (len(rep.NotChecked) == 1) {
			t.Errorf("%s -> %s: %s: %s %v", c.link, c.target, rep.Conclusion, rep.Title, rep.NotChecked)
		}
	}
}

// A kustomization below a folder of policies counts as rendered; files that it does not read count as they are.
func TestPoliciesInAKustomizationCountAsRendered(t *testing.T) {
	audit := strings.ReplaceAll(strings.TrimPrefix(pods, "\n-- policies/p.yaml --\n"), "Enforce", "Audit")
	const enforce = `patches:
- target: {kind: ClusterPolicy}
  patch: |-
    [{"op": "replace", "path": "/spec/rules/0/validate/failureAction", "value": "Enforce"}]
`
	const sub = "-- policies/sub/kustomization.yaml --\n"
	for _, c := range []struct {
		name, base string
		blocks     bool
	}{
		{"raw", "policies: [policies]\n", false},
		{"rendered", "policies: [policies]\n" + sub + "resources: [p.yaml]\n" + enforce, true},
		{"rendered, by a glob of folders", "policies: [policies/**]\n" + sub + "resources: [p.yaml]\n" + enforce, true},
		{"a glob of files", "policies: [policies/**/*.yaml]\n" + sub + "resources: [p.yaml]\n" + enforce, false},
		{"rendered twice over", "policies: [policies]\n" + sub + "resources: [p.yaml]\n" +
			"-- policies/over/kustomization.yaml --\nresources: [../sub]\n" + enforce, true},
		{"an overlay elsewhere", "policies: [policies]\n" + sub + "resources: [p.yaml]\n" +
			"-- clusters/kustomization.yaml --\nresources: [../policies/sub]\n" + enforce, false},
		{"does not render", "policies: [policies]\n" + sub + "resources: [p.yaml, gone.yaml]\n" + enforce, false},
		{"taken out", "policies: [policies]\n" + sub + "configMapGenerator: [{name: g}]\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit("-- policies/sub/p.yaml --\n" + audit + "-- apps/a.yaml --\n" +
				strings.Replace(badDeployment, "hostNetwork: true, ", "", 1) + "-- .lintel.yaml --\n" + c.base)
			head := r.Commit("-- apps/a.yaml --\n" + badDeployment)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
			if len(rep.Findings) != 1 || rep.Findings[0].Blocks != c.blocks || len(rep.Errors) > 0 ||
				(c.name == "does not render") != (len(rep.Warnings) == 1) {
				t.Errorf("%s: %q\nerrors: %s\nwarnings: %s", rep.Title, lines(rep), problems(rep.Errors), problems(rep.Warnings))
			}
		})
	}
}
