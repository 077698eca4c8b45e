package render_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// cached returns a renderer of a tree. It behaves like a new process with the same cache on disk.
func cached(t *testing.T, at *tree.Tree, cache *render.Cache) *deploy.Set {
	t.Helper()
	set, err := deploy.Open(at, roots.Options{}, &graph.Cache{Disk: cache.Disk}, render.Config{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const deployedTwice = `
-- flux/a.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: a, namespace: flux-system}
spec:
  path: app
  targetNamespace: prod
-- flux/b.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: b, namespace: flux-system}
spec:
  path: app

  targetNamespace: prod
-- flux/c.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: c, namespace: flux-system}
spec:
  path: app
  targetNamespace: dev
-- app/kustomization.yaml --
resources: [config.yaml]
-- app/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {mode: fast}
`

// A folder that several objects deploy in the same way is built once, and the place of each finding is in the object
// that deploys it.
func TestFolderDeployedTwiceIsBuiltOnce(t *testing.T) {
	r := treetest.New(t)
	at := r.Tree(r.Commit(deployedTwice))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"dev at flux/c.yaml:6", "prod at flux/a.yaml:6", "prod at flux/b.yaml:7"}
	for round, wantRecalled := range []int{1, 3} {
		set := cached(t, at, &render.Cache{Disk: disk})
		var got []string
		for _, root := range set.All() {
			if root.Path != "app" {
				continue
			}
			out, problems, err := set.Render(t.Context(), root)
			if err != nil || len(problems) > 0 || len(out.Resources) != 1 {
				t.Fatal(root, err, problems)
			}
			p := out.Resources[0].Origin("/metadata/namespace")
			got = append(got, fmt.Sprintf("%s at %s:%d", out.Resources[0].Object["metadata"].(map[string]any)["namespace"],
				p.Path, p.StartLine))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if _, recalled := set.Renderer.Counts(); recalled != wantRecalled {
			t.Errorf("round %d: %d recalled, want %d", round, recalled, wantRecalled)
		}
	}
}

const patchedApplications = `
-- apps/base/app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  source: {repoURL: https://example.com/a/repo, path: svc/base}
  destination: {namespace: base}
-- apps/base/kustomization.yaml --
resources: [app.yaml]
-- apps/prod/kustomization.yaml --
resources: [../base]
patches:
- path: to-prod.yaml
-- apps/prod/to-prod.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  source:
    path: svc/prod
  destination:
    namespace: prod
-- svc/base/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: base}
-- svc/prod/kustomization.yaml --
resources: [config.yaml]
-- svc/prod/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: prod}
`

// The places of an Application's fields are cached with its rendering, so nothing is built to find them again.
func TestPlacesAreRemembered(t *testing.T) {
	r := treetest.New(t)
	at := r.Tree(r.Commit(patchedApplications))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var before string
	for round := range 2 {
		cache := &render.Cache{Disk: disk}
		set := cached(t, at, cache)
		set.Reach([]string{"apps/prod/to-prod.yaml"}, nil)
		var got []string
		for _, root := range set.All() {
			if one := set.Deployment(root); one != nil {
				for _, at := range []gitops.Position{one.PathWhere, one.NamespaceWhere} {
					got = append(got, fmt.Sprintf("%v %s %d %d %d", root, at.Path, at.Line, at.Column, at.EndLine))
				}
			}
		}
		cache.Save()
		if built, _ := set.Renderer.Counts(); round == 1 && built > 0 {
			t.Errorf("%d built again", built)
		}
		now := strings.Join(got, "\n")
		if !strings.Contains(now, "apps/prod/to-prod.yaml 6 11 6") || !strings.Contains(now, "apps/prod/to-prod.yaml 8 16 8") {
			t.Errorf("places are not those of the patch:\n%s", now)
		}
		if round == 1 && now != before {
			t.Errorf("before\n%s\nnow\n%s", before, now)
		}
		before = now
	}
}

// A release from the cache has the same objects as a rendered one: as Argo CD, Flux and the API server complete them,
// and as Helm printed them.
func TestCachedReleaseEqualsRendered(t *testing.T) {
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var before *releases
	for i, config := range []render.Config{{}, {Cache: &render.Cache{Disk: disk}}, {Cache: &render.Cache{Disk: disk}}} {
		now := renderReleases(t, fluxRepo, config)
		if built, recalled := now.set.Renderer.Counts(); (built == 0) != (i == 2) || (recalled > 0) != (i == 2) {
			t.Errorf("time %d: %d were built and %d recalled", i, built, recalled)
		}
		if before == nil {
			before = now
			continue
		}
		differ := 0
		for j, res := range now.one.Resources {
			was := before.one.Resources[j]
			if !reflect.DeepEqual(res.Object, was.Object) || !reflect.DeepEqual(res.Made(), was.Made()) {
				t.Errorf("time %d: %v\n%v\nwere\n%v\n%v", i, res.Object, res.Made(), was.Object, was.Made())
			}
			if !reflect.DeepEqual(was.Object, was.Made()) {
				differ++
			}
		}
		if differ == 0 || len(now.one.Resources) != len(before.one.Resources) {
			t.Errorf("%d of %d objects are not as Helm printed them", differ, len(now.one.Resources))
		}
	}
}

// Places in a release from the cache are the current lines of the object that deploys it.
func TestCachedReleaseKeepsItsLines(t *testing.T) {
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	asks := "-- chart/templates/asks.yaml --\n# {{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}\n"
	for _, before := range []string{"", "", "# a word\n", "# a word\n"} {
		archive := strings.Replace(fluxRepo, "-- flux/app.yaml --\n", "-- flux/app.yaml --\n"+before, 1) +
			"  values: {image: \"app:2\"}\n  valuesFrom: [{kind: Secret, name: gone}]\n" + asks
		r := renderReleases(t, archive, render.Config{Cache: &render.Cache{Disk: disk}})
		moved := strings.Count(before, "\n")
		at := find(t, r.one, "Deployment app").Origin("/spec/template/spec/containers/1/image")
		if at.Path != "flux/app.yaml" || at.StartLine != 10+moved {
			t.Errorf("the image stands at %s:%d, want line %d", at.Path, at.StartLine, 10+moved)
		}
		if len(r.problems) != 1 || r.problems[0].Line != 11+moved {
			t.Errorf("the problems are %v, want line %d", r.problems, 11+moved)
		}
		notes := r.one.Notes(t.Context())
		if len(notes) != 1 || notes[0].Line != 8+moved {
			t.Errorf("noted is %v, want line %d", notes, 8+moved)
		}
	}
}

// A resource from the cache has the fields that it had when it was built.
func TestCachedFieldsEqualRendered(t *testing.T) {
	repo := treetest.New(t)
	at := repo.Tree(repo.Commit(deployedTwice))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got [2][]string
	for i := range got {
		r := cached(t, at, &render.Cache{Disk: disk})
		out, _, err := r.Render(t.Context(), roots.Root{Path: "app"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range out.Resources[0].Fields() {
			got[i] = append(got[i], f.Pointer+" "+f.Node.Value)
		}
		slices.Sort(got[i])
		if built, recalled := r.Renderer.Counts(); built != 1-i || recalled != i {
			t.Fatalf("%d built, %d recalled", built, recalled)
		}
	}
	if len(got[0]) == 0 || !slices.Equal(got[0], got[1]) {
		t.Errorf("built %q, recalled %q", got[0], got[1])
	}
}

// A resource is printed as it was rendered, whatever an API server makes of it, also where the rendering came from the cache.
func TestAdmittedResourceIsPrintedAsRendered(t *testing.T) {
	rendered := render.NewResource(map[string]any{"kind": "A"}, nil)
	with := rendered.Admitted(map[string]any{"kind": "A", "spec": "x"}).Admitted(map[string]any{"kind": "A", "spec": "y"})
	if got, err := with.YAML(); err != nil || string(got) != "kind: A\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
