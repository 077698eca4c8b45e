package checks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Objects of Argo CD and Flux are taken as kustomizations render them, not as their files contain them.
func TestRenderedObjects(t *testing.T) {
	const (
		app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: n}\n" +
			"  source: {repoURL: https://example.com/r, path: PATH}\n"
		flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web, namespace: f}\nspec:\n" +
			"  path: ./apps\n  sourceRef: {kind: GitRepository, name: f}\n"
		apps    = "-- apps/kustomization.yaml --\nresources: [a.yaml]\n-- apps/a.yaml --\n" + goodPod
		base    = "-- argo/base/kustomization.yaml --\nresources: [web.yaml]\n-- argo/base/web.yaml --\n"
		overlay = "-- argo/prod/kustomization.yaml --\nresources: [../base]\n"
		latest  = `patches: [{target: {kind: Application}, patch: '[{"op": "add", "path": "/spec/source/kustomize", "value": ` +
			`{"images": ["x=x:latest"]}}]'}]` + "\n"
		older = `patches: [{target: {kind: Application}, patch: '[{"op": "add", "path": "/spec/source/kustomize", "value": ` +
			`{"images": ["x=x:0"]}}]'}]` + "\n"
		variables = "  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}\n"
		generator = "-- flux/kustomization.yaml --\nresources: [web.yaml]\ngeneratorOptions: {disableNameSuffixHash: " +
			"true}\nconfigMapGenerator: [{name: vars, namespace: f, envs: [vars.env]}]\n"
		tagged = "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: " +
			"\"x:${TAG}\"}]}\n"
	)
	web, moved := strings.ReplaceAll(app, "PATH", "apps"), strings.Replace(goodPod, "x:1", "x:latest", 1)
	bad := strings.Replace(web, "path: apps", "path: apps, kustomize: {images: [\"x=x:latest\"]}", 1)
	escape := strings.NewReplacer("argoproj.io/v1alpha1", `"argoproj\u002eio\x2fv1alpha1"`, "kind: App", `"k\u0069nd": App`)
	hashed := "-- flux/kustomization.yaml --\nresources: [web.yaml]\nconfigMapGenerator: [{name: vars, namespace: f, envs: " +
		"[vars.env]}]\nconfigurations: [names.yaml]\n-- flux/names.yaml --\nnameReference:\n- kind: ConfigMap\n  " +
		"fieldSpecs:\n  - {kind: Kustomization, group: kustomize.toolkit.fluxcd.io, path: spec/postBuild/substituteFrom/name}\n"
	for _, c := range []struct {
		name, base, head string
		want             report.Conclusion
		place            string
	}{
		{"an image that an overlay patches in", apps + base + web + overlay + older, overlay + latest, report.Failure,
			"argo/prod/kustomization.yaml"},
		{"a first patch", apps + base + web + overlay, overlay + latest, report.Failure, "argo/prod/kustomization.yaml"},
		{"a patch of a base", apps + base + web + "-- argo/mid/kustomization.yaml --\nresources: [../base]\n" + older +
			"-- argo/prod/kustomization.yaml --\nresources: [../mid]\n", "-- argo/mid/kustomization.yaml --\nresources: " +
			"[../base]\n" + latest, report.Failure, "argo/mid/kustomization.yaml"},
		{"a folder that an overlay patches in", apps + "-- old/kustomization.yaml --\nresources: []\n" + base +
			strings.ReplaceAll(app, "PATH", "old") + overlay + `patches: [{target: {kind: Application}, patch: '[{"op": ` +
			`"replace", "path": "/spec/source/path", "value": "apps"}]'}]` + "\n", "-- apps/a.yaml --\n" + moved,
			report.Failure, "apps/a.yaml"},
		{"two overlays, one of which is bad", apps + base + web + overlay + older +
			"-- argo/dev/kustomization.yaml --\nresources: [../base]\n" + older,
			"-- argo/dev/kustomization.yaml --\nresources: [../base]\n" + latest, report.Failure, "argo/dev/kustomization.yaml"},
		{"an overlay that is left alone", apps + base + web + overlay + latest, "-- apps/a.yaml --\n" +
			strings.Replace(goodPod, "{name: a}", "{name: a, labels: {x: y}}", 1), report.Success, ""},
		{"changed variables of a generated ConfigMap", tagged + generator + "-- flux/vars.env --\nTAG=1\n-- flux/web.yaml --\n" + flux +
			variables, "-- flux/vars.env --\nTAG=latest\n", report.Failure, "flux/vars.env"},
		{"unchanged variables of a generated ConfigMap", tagged + generator + "-- flux/vars.env --\nTAG=1\n-- flux/web.yaml " +
			"--\n" + flux + variables, "-- apps/a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: y}}\nspec: " +
			"{containers: [{name: c, image: \"x:${TAG}\"}]}\n", report.Success, ""},
		{"two objects of one name, the last bad", apps + "-- argo/web.yaml --\n" + web + "---\n" + web,
			"-- argo/web.yaml --\n" + web + "---\n" + strings.TrimSuffix(web, "}\n") + ", kustomize: {images: [\"x=x:latest\"]}}\n",
			report.Failure, "argo/web.yaml"},
		{"two objects of one name, the first bad", apps + "-- argo/web.yaml --\n" + web + "---\n" + web,
			"-- argo/web.yaml --\n" + strings.TrimSuffix(web, "}\n") + ", kustomize: {images: [\"x=x:latest\"]}}\n---\n" + web,
			report.Failure, "argo/web.yaml"},
		{"a resource without a suffix", apps + "-- argo/kustomization.yaml --\nresources: [web]\n-- argo/web --\n" + web,
			"-- argo/web --\n" + bad, report.Failure, "argo/web"},
		{"a resource of a hidden name", apps + "-- argo/kustomization.yaml --\nresources: [.web.yaml]\n-- argo/.web.yaml --\n" +
			web, "-- argo/.web.yaml --\n" + bad, report.Failure, "argo/.web.yaml"},
		{"a newly listed resource without a suffix", apps + "-- argo/kustomization.yaml --\nresources: []\n-- argo/web --\n" + bad,
			"-- argo/kustomization.yaml --\nresources: [web]\n", report.Failure, "argo/web"},
		{"an escaped group", apps + "-- argo/web.yaml --\n" + escape.Replace(web), "-- argo/web.yaml --\n" + escape.Replace(bad),
			report.Failure, "argo/web.yaml"},
		{"a folder and an image that only a patch names", apps + base + strings.ReplaceAll(app, "PATH", "elsewhere") + overlay +
			`patches: [{target: {kind: Application}, patch: '[{"op": "replace", "path": "/spec/source", "value": {"repoURL": "r", ` +
			`"path": "apps", "kustomize": {"images": ["x=x:latest"]}}}]'}]` + "\n", "-- apps/kustomization.yaml --\n" +
			"resources: [a.yaml, b.yaml]\n-- apps/b.yaml --\n" + strings.ReplaceAll(goodPod, "name: a", "name: b"), report.Failure,
			"argo/prod/kustomization.yaml"},
		{"variables from a ConfigMap of a hashed name", tagged + hashed + "-- flux/vars.env --\nTAG=1\n-- flux/web.yaml --\n" +
			flux + variables, "-- flux/vars.env --\nTAG=latest\n", report.Failure, "flux/vars.env"},
		{"variables from a ConfigMap whose name is escaped", tagged + "-- flux/web.yaml --\n" + flux + variables +
			"-- flux/vars.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"v\\x61rs\", namespace: f}\ndata: {TAG: \"1\"}\n",
			"-- flux/vars.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"v\\x61rs\", namespace: f}\ndata: {TAG: latest}\n",
			report.Failure, "flux/vars.yaml"},
		{"below an excluded folder", apps + "-- .lintel.yaml --\nroots: {exclude: [apps/**]}\n-- argo/web.yaml --\n" + web,
			"-- apps/a.yaml --\n" + moved, report.Failure, "apps/a.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(pods + c.base)
			head := r.Commit(c.head)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: head})
			place := ""
			for _, f := range rep.Findings {
				if f.Blocks {
					place = f.Origin.Path
				}
			}
			if rep.Conclusion != c.want || place != c.place {
				t.Errorf("%s, want %s: %s: %q\nerrors: %s\nwarnings: %s\nnot checked: %v", rep.Conclusion, c.want, rep.Title,
					lines(rep), problems(rep.Errors), problems(rep.Warnings), rep.NotChecked)
			}
		})
	}
}

// A check of a whole branch also takes objects as overlays render them.
func TestRenderedObjectsOfABranch(t *testing.T) {
	r := treetest.New(t)
	head := r.Commit(pods + "-- apps/kustomization.yaml --\nresources: [a.yaml]\n-- apps/a.yaml --\n" + goodPod +
		"-- argo/base/kustomization.yaml --\nresources: [web.yaml]\n-- argo/base/web.yaml --\n" +
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n" +
		"  project: default\n  destination: {name: in-cluster, namespace: n}\n  source: {repoURL: https://example.com/r, path: apps}\n" +
		"-- argo/prod/kustomization.yaml --\nresources: [../base]\npatches: [{target: {kind: Application}, patch: '[{\"op\": " +
		`"add", "path": "/spec/source/kustomize", "value": {"images": ["x=x:latest"]}}]'}]` + "\n")
	rep := check(t, r, report.Change{Rules: head, Head: head, All: true})
	if len(rep.Findings) != 1 || !rep.Findings[0].Blocks || rep.Findings[0].Origin.Path != "argo/prod/kustomization.yaml" {
		t.Errorf("%s: %q", rep.Conclusion, lines(rep))
	}
}

// What Applications newly deploy is created in their cluster, even if the folder existed before, by one Application or
// by several.
func TestObjectsThatDeployAFolderCreateAllOfIt(t *testing.T) {
	application := func(name, kustomize string) string {
		return "-- argo/" + name + ".yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name +
			"}\nspec:\n  project: default\n  destination: {name: in-cluster, namespace: shop}\n  source: {repoURL: https://example.com/r, path: apps" + kustomize + "}\n"
	}
	const latest = `, kustomize: {images: ["x=x:latest"]}`
	r := treetest.New(t)
	base := r.Commit(pods + "-- apps/kustomization.yaml --\nnamespace: shop\nresources: [a.yaml]\n-- apps/a.yaml --\n" +
		pod("a", "  hostNetwork: true\n  containers: [{name: c, image: 'x:1'}]\n"))
	for _, c := range []struct {
		name, head string
		blocking   []string
	}{
		{"one", application("one", ""), []string{"apps/a.yaml net"}},
		{"two", application("one", "") + application("two", ""), []string{"apps/a.yaml net"}},
		{"two, one of which changes an image", application("one", "") + application("two", latest),
			[]string{"apps/a.yaml net", "argo/two.yaml tag"}},
		{"two that change it", application("one", latest) + application("two", latest),
			[]string{"apps/a.yaml net", "argo/one.yaml tag", "argo/two.yaml tag"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.Git("checkout", "--quiet", "--force", base)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: r.Commit(c.head)})
			var blocking []string
			for _, f := range rep.Findings {
				if f.Blocks {
					blocking = append(blocking, f.Origin.Path+" "+f.Rule)
				}
			}
			slices.Sort(blocking)
			if !slices.Equal(slices.Compact(blocking), c.blocking) {
				t.Errorf("got %q, want %q: %s: %q", blocking, c.blocking, rep.Title, lines(rep))
			}
		})
	}
}
