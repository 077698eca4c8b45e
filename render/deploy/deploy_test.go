package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const deployed = `
-- argo/apps.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all}
spec:
  generators:
  - git: {repoURL: x, directories: [{path: 'teams/*'}]}
  template:
    metadata: {name: '{{path.basename}}'}
    spec:
      destination: {namespace: '{{path.basename}}'}
      source: {repoURL: x, path: '{{path}}'}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: recursive}
spec:
  destination: {namespace: all}
  source: {repoURL: x, path: manifests, directory: {recurse: true}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: bare}
spec:
  destination: {server: https://kubernetes.default.svc}
  source: {repoURL: x, path: base}
-- teams/red/kustomization.yaml --
resources: [../../base]
-- teams/blue/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- base/kustomization.yaml --
resources: [c.yaml]
-- base/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- manifests/a/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- manifests/b.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
-- other/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- flux/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./cluster
  sourceRef: {kind: GitRepository, name: flux-system}
  commonMetadata: {labels: {team: x}}
-- cluster/one/kustomization.yaml --
resources: [c.yaml]
-- cluster/one/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
-- cluster/two/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
`

func open(t *testing.T, at *tree.Tree) *deploy.Set {
	t.Helper()
	s, err := deploy.Open(at, roots.Options{}, &graph.Cache{}, render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDeployedRoots(t *testing.T) {
	repo := treetest.New(t)
	at := repo.Tree(repo.Commit(deployed))
	set := open(t, at)
	r := set
	var got []string
	for _, root := range set.All() {
		out, problems, err := r.Render(t.Context(), root)
		if err != nil || len(problems) > 0 {
			t.Fatal(root, err, problems)
		}
		text := root.Path
		if root.Object != "" {
			text += " deployed"
		}
		for _, res := range out.Resources {
			metadata := res.Object["metadata"].(map[string]any)
			if kind := res.Object["kind"]; kind != "ConfigMap" {
				continue
			}
			namespace, _ := metadata["namespace"].(string)
			text += " " + namespace + "/" + metadata["name"].(string)
			if labels, ok := metadata["labels"].(map[string]any); ok {
				text += " team=" + labels["team"].(string)
				if at := res.Origin("/metadata/labels/team"); at.Path != "flux/ks.yaml" || at.StartLine != 7 {
					t.Errorf("the label stands at %s:%d", at.Path, at.StartLine)
				}
			}
		}
		got = append(got, text)
	}
	want := []string{
		"argo",
		"base /c",
		"cluster deployed /one team=x /two team=x",
		"flux",
		"manifests deployed all/c all/b",
		"other /c",
		"teams/blue deployed blue/c",
		"teams/red deployed red/c",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	agree(t, at)
}

// agree checks that the methods agree: every listed root exists, and Reach lists only roots that exist.
func agree(t *testing.T, at *tree.Tree) {
	t.Helper()
	all := open(t, at).All()
	asked := open(t, at)
	for _, root := range all {
		if !asked.Has(root) {
			t.Errorf("%v is listed, but is no root", root)
		}
	}
	read := map[roots.Root]bool{}
	if err := at.Walk(func(p string, e tree.Entry) error {
		if e.Kind != tree.File {
			return nil
		}
		for _, root := range open(t, at).Reach([]string{p}, nil) {
			read[root] = true
			if !slices.Contains(all, root) {
				t.Errorf("%s reaches %v, which is not listed", p, root)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, root := range all {
		if !read[root] {
			t.Errorf("no file reaches %v", root)
		}
	}
}

// The folder that an object of Argo CD or Flux deploys is found in any YAML spelling of the object.
func TestDeployerSpellings(t *testing.T) {
	const head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\n"
	for name, text := range map[string]string{
		"block": head + "spec:\n  destination: {namespace: n}\n  source:\n    repoURL: x\n    path: ./apps/x/ # here\n",
		"flow":  head + "spec: {destination: {namespace: n}, source: {repoURL: x, path: apps/x}}\n",
		"JSON": `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"x"},` +
			`"spec":{"destination":{"namespace":"n"},"source":{"repoURL":"x","path":"apps\u002fx"}}}`,
		"folded": head + "spec:\n  destination: {namespace: n}\n  source:\n    repoURL: x\n    path: >-\n      apps/x\n",
		"alias": head + "spec:\n  destination: {namespace: n}\n  info: [{name: y, value: &p apps/x}]\n" +
			"  source: {repoURL: x, path: *p}\n",
		"complex key": head + "spec:\n  destination: {namespace: n}\n  source:\n    repoURL: x\n    ? path\n    : apps/x\n",
		"merge key": head + "x: &s {repoURL: x, path: apps/x}\nspec:\n  destination: {namespace: n}\n  source:\n" +
			"    <<: *s\n",
		"line breaks": strings.ReplaceAll(head+"spec:\n  destination: {namespace: n}\n  source:\n    repoURL: x\n"+
			"    path: apps/x\n", "\n", "\r\n"),
		"sources": head + "spec:\n  destination: {namespace: n}\n  sources:\n  - repoURL: x\n    path: apps/x\n" +
			"  - repoURL: x\n    ref: v\n",
		"List": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(head, "\n", "\n  ") +
			"spec:\n    destination: {namespace: n}\n    source: {repoURL: x, path: apps/x}\n",
		"typed list": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationList\nitems:\n- metadata: {name: x}\n" +
			"  spec: {destination: {namespace: n}, source: {repoURL: x, path: apps/x}}\n",
		"Flux": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: x}\n" +
			"spec: {path: /apps/x, targetNamespace: n, sourceRef: {kind: GitRepository, name: x}}\n",
		"ApplicationSet": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n" +
			"  generators: [{list: {elements: [{a: x}]}}]\n" +
			"  template: {metadata: {name: x}, spec: {destination: {namespace: n}, source: {repoURL: x, path: 'apps/{{a}}'}}}\n",
		"second document of a file": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n---\n" + head +
			"spec: {destination: {namespace: n}, source: {repoURL: x, path: apps/x}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			repo := treetest.New(t)
			repo.Write("argo/app.yaml", text)
			repo.Write("apps/x/kustomization.yaml", "resources: [c.yaml]\n")
			repo.Write("apps/x/c.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n")
			at := repo.Tree(repo.Snapshot())
			got := open(t, at).Reach([]string{"apps/x/c.yaml"}, nil)
			if len(got) != 1 || got[0].Path != "apps/x" || got[0].Object == "" {
				t.Fatalf("got %v", got)
			}
			agree(t, at)
		})
	}
}

// An Application's component that may be missing is looked up for each check, because a build without it does not read
// its path.
func TestMissingComponentReachesItsRootsWhenAdded(t *testing.T) {
	repo := treetest.New(t)
	base := repo.Commit(`
-- argo/app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: x}
spec:
  destination: {namespace: n}
  source: {repoURL: x, path: apps/x, kustomize: {ignoreMissingComponents: true, components: [../../comp]}}
-- apps/x/kustomization.yaml --
resources: [c.yaml]
-- apps/x/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`)
	head := repo.Commit("-- comp/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
		"namePrefix: late-\n")
	old, late := open(t, repo.Tree(base)), open(t, repo.Tree(head))
	reached := old.Reach([]string{"apps/x/c.yaml"}, nil)
	if len(reached) != 1 {
		t.Fatalf("got %v", reached)
	}
	before, after := old, late
	earlier, problems, err := before.Render(t.Context(), reached[0])
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if !before.Same(earlier) || after.Same(earlier) {
		t.Errorf("same in its own tree %v, with the component %v", before.Same(earlier), after.Same(earlier))
	}
	now, problems, err := after.Render(t.Context(), reached[0])
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if got := now.Resources[0].Object["metadata"].(map[string]any)["name"]; got != "late-c" {
		t.Errorf("got %v", got)
	}
	changed := []string{"comp/kustomization.yaml"}
	if got := deploy.Between(old, late, changed, nil); !slices.Contains(got, reached[0]) {
		t.Errorf("the component reaches %v", got)
	}
}

// A root's name is that of its folder, or of the object that deploys the folder in its own way.
func TestRootsAreFoundByName(t *testing.T) {
	repo := treetest.New(t)
	set := open(t, repo.Tree(repo.Commit(deployed)))
	for name, want := range map[string]string{
		"base":      "Kustomization base ",
		"other":     "Folder other ",
		"teams/red": "ApplicationSet teams/red red",
		"red":       "ApplicationSet teams/red red",
		"recursive": "Application manifests recursive",
		"apps":      "FluxKustomization cluster apps",
		"bare":      "",
		"teams":     "",
		"../x":      "",
	} {
		var got []string
		for _, root := range set.Of(name) {
			name := ""
			if one := set.Deployment(root); one != nil {
				name = one.Name
			}
			got = append(got, root.Kind.String()+" "+root.Path+" "+name)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// Manifests of a deployed folder that are not evaluated are a problem of the deploying object. The remaining folder is
// a root.
func TestUnevaluatedManifestsAreProblemsOfTheirDeployer(t *testing.T) {
	repo := treetest.New(t)
	set := open(t, repo.Tree(repo.Commit(deployed+"-- manifests/x.jsonnet --\n{}\n")))
	reached := set.Reach([]string{"manifests/b.yaml"}, nil)
	if len(reached) != 1 {
		t.Fatalf("got %v", reached)
	}
	out, problems, err := set.Render(t.Context(), reached[0])
	if err != nil || len(problems) > 0 || len(out.Resources) != 2 {
		t.Fatal(err, problems, out.Resources)
	}
	got := set.Problems()
	if len(got) != 1 || got[0].Path != "manifests/x.jsonnet" || got[0].Cause != gitops.ClusterOnly ||
		got[0].Object.Name != "recursive" {
		t.Errorf("got %+v", got)
	}
}

// A HelmRelease deploys no folder, and is reported as a problem.
func TestHelmReleaseIsAProblem(t *testing.T) {
	repo := treetest.New(t)
	set := open(t, repo.Tree(repo.Commit("-- redis.yaml --\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"+
		"metadata: {name: redis}\nspec: {chart: {spec: {chart: redis}}}\n")))
	set.Reach([]string{"redis.yaml"}, nil)
	if got := set.Problems(); len(got) != 1 || got[0].Line != 4 || got[0].Object.Kind != "HelmRelease" {
		t.Errorf("got %+v", got)
	}
}

// External is called for each look-up of each object.
func TestExternalRootsCostNothingWhereThereAreNone(t *testing.T) {
	var files strings.Builder
	for i := range 100 {
		fmt.Fprintf(&files, `
-- apps/%[1]d.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app-%[1]d}
spec:
  source: {repoURL: x, path: deploy/%[1]d}
-- deploy/%[1]d/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`, i)
	}
	repo := treetest.New(t)
	s := open(t, repo.Tree(repo.Commit(files.String())))
	if list := s.External(); len(list) > 0 {
		t.Fatalf("external: %v", list)
	}
	if n := testing.AllocsPerRun(10, func() { s.External() }); n > 2 {
		t.Errorf("%v allocations for 100 deployments", n)
	}
}

// What an object deploys that Flux substitutes with its own variables is named after the folder of its cluster.
func TestNamesBelowObjectsThatDeployThemselves(t *testing.T) {
	repo := treetest.New(t)
	files := "-- base/sync.yaml --\n" + `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  path: ./clusters/${NAME}
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substitute: {FULL: "x-${NAME}"}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec: {path: ./app, sourceRef: {kind: GitRepository, name: flux-system}, targetNamespace: "${FULL}"}
-- base/kustomization.yaml --
resources: [sync.yaml]
-- app/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`
	for _, name := range []string{"a", "b"} {
		files += "-- clusters/" + name + "/kustomization.yaml --\n" + `resources: [../../base]
patches:
- patch: |
    apiVersion: kustomize.toolkit.fluxcd.io/v1
    kind: Kustomization
    metadata: {name: flux-system, namespace: flux-system}
    spec: {path: ./clusters/` + name + `, postBuild: {substitute: {NAME: ` + name + `}}}
`
	}
	var names []string
	for _, l := range open(t, repo.Tree(repo.Commit(files))).List() {
		names = append(names, l.Name)
	}
	const own = "/FluxKustomization/flux-system/flux-system"
	want := []string{"clusters/a" + own, "clusters/a" + own + "/FluxKustomization/flux-system/app",
		"clusters/b" + own, "clusters/b" + own + "/FluxKustomization/flux-system/app"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}
