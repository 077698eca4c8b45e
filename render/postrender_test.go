package render_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render"

	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// fluxRepo is a repository with a HelmRelease of the chart in its folder "chart".
const fluxRepo = `
-- flux/source.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec:
  url: https://git.example.com/fleet
-- chart/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
-- chart/values.yaml --
image: registry.example.com/app:1
-- chart/crds/things.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {group: example.com, names: {kind: Thing}}
-- chart/templates/app.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {team: "a"}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: sidecar
        image: registry.example.com/sidecar:1
      - name: app
        image: {{ .Values.image }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
-- chart/templates/hook.yaml --
apiVersion: batch/v1
kind: Job
metadata:
  name: hook
  annotations: {helm.sh/hook: pre-install}
spec:
  template:
    spec:
      containers: [{name: job, image: "registry.example.com/job:1"}]
-- flux/app.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: app, namespace: shop}
spec:
  interval: 1h
  chart:
    spec:
      chart: chart
      sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
`

// releases is a repository with rendered releases.
type releases struct {
	repo     *treetest.Repo
	set      *deploy.Set
	one      *render.Rendering // the last rendering
	problems []doc.Error
}

func renderReleases(t testing.TB, archive string, c render.Config, clusters ...render.Cluster) *releases {
	t.Helper()
	out := &releases{repo: treetest.New(t)}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		out.repo.Write(f.Name, string(f.Data))
	}
	var err error
	out.set, err = deploy.Open(out.repo.Tree(out.repo.Snapshot()), roots.Options{Repository: []string{"https://git.example.com/fleet"}}, &graph.Cache{}, c)
	if err != nil {
		t.Fatal(err)
	}
	out.set.ForClusters(func(roots.Root) []render.Cluster { return clusters })
	for _, root := range out.set.All() {
		if root.Kind != roots.HelmRelease && root.Kind != roots.Application {
			continue
		}
		one, problems, err := out.set.Render(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		out.one, out.problems = one, append(out.problems, problems...)
	}
	if out.one == nil {
		t.Fatalf("no release: %v", out.set.Problems())
	}
	return out
}

func (r *releases) messages() string {
	var list []string
	for _, p := range r.problems {
		list = append(list, p.Error())
	}
	return strings.Join(list, "\n")
}

// inactive lists the inactive entries in the last rendering, with their places.
func (r *releases) inactive(t testing.TB) string { return inactive(t, r.set.Renderer, r.one) }

func inactive(t testing.TB, r *render.Renderer, one *render.Rendering) string {
	var list []string
	for _, res := range r.Inactive(t.Context(), one) {
		for _, issue := range res.Issues {
			at := res.Origin(issue.Pointer)
			list = append(list, fmt.Sprintf("%s:%d: %s", at.Path, at.StartLine, issue.Message))
		}
	}
	return strings.Join(list, "\n")
}

type postRenderCase struct{ name, spec string }

var postRenderCases = []postRenderCase{
	{"patch with a target", `
  postRenderers:
  - kustomize:
      patches:
      - target: {kind: Deployment}
        patch: |
          - op: add
            path: /spec/replicas
            value: 3
`},
	{"patch by name and images, in two renderers", `
  postRenderers:
  - kustomize:
      patches:
      - patch: |
          apiVersion: apps/v1
          kind: Deployment
          metadata: {name: app}
          spec:
            template:
              spec:
                containers:
                - name: app
                  env: [{name: A, value: b}]
      images:
      - name: registry.example.com/app
        newName: mirror.example.com/app
        newTag: "2"
  - kustomize:
      images:
      - name: mirror.example.com/app
        digest: sha256:0123456789012345678901234567890123456789012345678901234567890123
`},
	{"hooks", `
  postRenderers:
  - kustomize:
      images:
      - name: registry.example.com/job
        newTag: "7"
`},
	{"no hooks", `
  postRenderStrategy: nohooks
  postRenderers:
  - kustomize:
      patches:
      - target: {name: app}
        patch: |
          - {op: add, path: /metadata/annotations, value: {a: b}}
`},
}

// placed lists the places of fields of a resource: "Kind name /pointer: place".
func (r *releases) placed(t testing.TB, fields ...string) string {
	var list []string
	for _, f := range fields {
		name, pointer, _ := strings.Cut(f, " /")
		list = append(list, f+": "+describe(find(t, r.one, name).Origin("/"+pointer)))
	}
	return strings.Join(list, "\n")
}

func TestPostRender(t *testing.T) {
	image := "/spec/template/spec/containers/0/image"
	for name, want := range map[string]string{
		"patch with a target": "Deployment app /spec/replicas: flux/app.yaml:18:20-21 writer < chart/templates/app.yaml:7\n" +
			"Deployment app " + image + ": chart/templates/app.yaml:12:16-46 writer",
		"patch by name and images, in two renderers": "Deployment app /spec/template/spec/containers/0/env/0/value: " +
			"flux/app.yaml:23:42-43 identity\n" +
			"Deployment app " + image + ": flux/app.yaml:31:17-88 writer < flux/app.yaml:27 < chart/values.yaml:1 < chart/templates/app.yaml:14",
		"hooks":    "Job hook " + image + ": flux/app.yaml:15:17-20 writer < chart/templates/hook.yaml:9",
		"no hooks": "Deployment app /metadata/annotations/a: flux/app.yaml:16 writer",
	} {
		t.Run(name, func(t *testing.T) {
			k := slices.IndexFunc(postRenderCases, func(c postRenderCase) bool { return c.name == name })
			r := renderReleases(t, fluxRepo+postRenderCases[k].spec, render.Config{})
			if len(r.problems) > 0 {
				t.Fatal(r.messages())
			}
			var fields []string
			for line := range strings.SplitSeq(want, "\n") {
				field, _, _ := strings.Cut(line, ": ")
				fields = append(fields, field)
			}
			if got := r.placed(t, fields...); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestPostRenderProblems(t *testing.T) {
	for name, c := range map[string]struct{ patches, want string }{
		"target that does not exist": {`
      - target: {kind: StatefulSet}
        patch: '[{"op": "add", "path": "/spec/replicas", "value": 3}]'
`, "flux/app.yaml:13: the target of this patch matches nothing that the chart prints"},
		"patch of an object that does not exist": {`
      - patch: |
          apiVersion: apps/v1
          kind: Deployment
          metadata: {name: web}
`, `flux/app.yaml:16: postRenderers: this patch changes nothing: there is no Deployment "web" here: it may be "app"`},
		"image that does not exist": {`
      - target: {kind: Service, name: app}
        patch: '[{"op": "add", "path": "/spec", "value": {}}]'
      images:
      - name: registry.example.com/other
        newTag: "2"
`, `flux/app.yaml:16: nothing that the chart prints has the image "registry.example.com/other"`},
		"operation that fails": {`
      - target: {kind: Service}
        patch: |
          - op: remove
            path: /spec/nothing
`, `flux/app.yaml:16: postRenderers: remove /spec/nothing: in Service "app", the resource has no ` +
			`field "spec": it has apiVersion, kind, metadata`},
		"match created by an earlier post renderer": {`
      - target: {kind: Service}
        patch: |
          - {op: add, path: /metadata/labels, value: {new: "yes"}}
      - target: {labelSelector: new=yes}
        patch: |
          - {op: add, path: /metadata/labels/more, value: "yes"}
`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+"  postRenderers:\n  - kustomize:\n      patches:"+c.patches, render.Config{})
			if got := r.messages() + r.inactive(t); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// An inactive patch is reported also where hooks are rendered apart and there are none, and where the chart prints
// nothing.
func TestPostRenderOfNothing(t *testing.T) {
	const spec = `
  postRenderStrategy: separate
  postRenderers:
  - kustomize:
      patches:
      - target: {kind: StatefulSet}
        patch: '[{"op": "add", "path": "/spec/replicas", "value": 3}]'
`
	const want = "flux/app.yaml:15: the target of this patch matches nothing that the chart prints"
	for _, gone := range []string{"", "hook.yaml", "app.yaml"} {
		archive := txtar.Parse([]byte(fluxRepo + spec))
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "chart/templates/"+gone })
		if got := renderReleases(t, string(txtar.Format(archive)), render.Config{}).inactive(t); got != want {
			t.Errorf("without %q: got %q\nwant %q", gone, got, want)
		}
	}
}

// The programs named by LINTEL_KUSTOMIZE and LINTEL_HELM print the same.
func TestPostRenderAsKustomize(t *testing.T) {
	kustomize, helm := os.Getenv("LINTEL_KUSTOMIZE"), os.Getenv("LINTEL_HELM")
	if kustomize == "" || helm == "" {
		t.Skip("LINTEL_KUSTOMIZE and LINTEL_HELM do not name the programs")
	}
	run := func(program string, args ...string) []byte {
		var words bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stderr = &words
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &words)
		}
		return out
	}
	for _, c := range postRenderCases {
		t.Run(c.name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+c.spec, render.Config{})
			var spec struct {
				PostRenderStrategy string
				PostRenderers      []struct{ Kustomize map[string]any }
			}
			if err := sigsyaml.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			args := []string{"template", "app", filepath.Join(r.repo.Dir, "chart"), "--namespace", "shop"}
			if spec.PostRenderStrategy == "nohooks" {
				args = append(args, "--no-hooks")
			}
			want := run(helm, args...)
			dir := t.TempDir()
			for _, one := range spec.PostRenderers {
				one.Kustomize["resources"] = []any{"out.yaml"}
				file, err := sigsyaml.Marshal(one.Kustomize)
				if err != nil {
					t.Fatal(err)
				}
				for name, data := range map[string][]byte{"kustomization.yaml": file, "out.yaml": want} {
					if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want = run(kustomize, "build", "--reorder=none", dir)
			}
			var got []byte
			for _, res := range r.one.Resources {
				kind := res.Object["kind"]
				if kind == "CustomResourceDefinition" || kind == "Job" && spec.PostRenderStrategy == "nohooks" {
					continue
				}
				data, err := sigsyaml.Marshal(res.Made())
				if err != nil {
					t.Fatal(err)
				}
				if got != nil {
					got = append(got, "---\n"...)
				}
				got = append(got, data...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nthe programs print\n%s", got, want)
			}
		})
	}
}
