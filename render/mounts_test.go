package render_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// world is a repository with its remote sources. Its archive has the repository's files below "app/", other
// repositories below "git/ORGANIZATION/NAME/", charts of a chart repository below "charts/NAME/VERSION/" and files over
// https below "raw/". HOST stands for the host of all.
type world struct {
	t      testing.TB
	host   string
	repo   *treetest.Repo
	repos  map[string]*treetest.Repo // by "ORGANIZATION/NAME"
	raw    map[string]string
	charts map[string]map[string]string // by "NAME/VERSION"
	trees  map[string]*tree.Tree
	lock   remote.Lock
	fails  map[string]*remote.Failure // by a part of the want's address
}

func newWorld(t testing.TB, host, archive string) *world {
	t.Helper()
	w := &world{t: t, host: host, repo: treetest.New(t), repos: map[string]*treetest.Repo{}, raw: map[string]string{},
		trees: map[string]*tree.Tree{}, charts: map[string]map[string]string{}, fails: map[string]*remote.Failure{}}
	for _, f := range txtar.Parse([]byte(strings.ReplaceAll(archive, "HOST", host))).Files {
		parts := strings.SplitN(f.Name, "/", 4)
		switch parts[0] {
		case "raw":
			w.raw[f.Name] = string(f.Data)
		case "charts":
			name := parts[1] + "/" + parts[2]
			if w.charts[name] == nil {
				w.charts[name] = map[string]string{}
			}
			w.charts[name][parts[3]] = string(f.Data)
		case "git":
			name := parts[1] + "/" + parts[2]
			if w.repos[name] == nil {
				w.repos[name] = treetest.New(t)
			}
			w.repos[name].Write(parts[3], string(f.Data))
		default:
			w.repo.Write(f.Name, string(f.Data))
		}
	}
	w.repo.Snapshot()
	for _, name := range slices.Sorted(maps.Keys(w.repos)) {
		w.repos[name].Snapshot()
		w.repos[name].Tag("v1")
	}
	return w
}

// fetch answers a want as a fetcher does.
func (w *world) fetch(want remote.Want) {
	for part, f := range w.fails {
		if strings.Contains(want.URL, part) {
			w.lock = append(w.lock, remote.Entry{Want: want, Failure: f})
			return
		}
	}
	e := remote.Entry{Want: want, Failure: &remote.Failure{Message: "there is no such thing", Broken: true}}
	in, ok := strings.CutPrefix(want.URL, w.host+"/")
	if in = strings.TrimSuffix(in, ".git"); ok && want.Kind == remote.File && w.raw[in] != "" {
		r := treetest.New(w.t)
		r.Write(remote.FileName, w.raw[in])
		t := r.Tree(r.Snapshot())
		e.Tree, e.Digest, e.Failure = t.ID(), "sha256:x", nil
		w.trees[t.ID()] = t
	} else if files := w.charts[want.Name+"/"+want.Ref]; want.Kind == remote.Chart && in == "charts" && files != nil {
		r := treetest.New(w.t)
		for name, text := range files {
			r.Write(name, text)
		}
		t := r.Tree(r.Snapshot())
		e.Tree, e.Revision, e.Failure = t.ID(), want.Ref, nil
		w.trees[t.ID()] = t
	} else if r := w.repos[in]; want.Kind == remote.Git && r != nil {
		rev := want.Ref
		if rev == "" {
			rev = "HEAD"
		}
		t := r.Tree(rev)
		e.Tree, e.Revision, e.Failure = t.ID(), r.Rev(rev), nil
		w.trees[t.ID()] = t
	}
	w.lock = append(w.lock, e)
}

func (w *world) sources() *remote.Sources {
	return remote.New(w.lock, func(id string) (*tree.Tree, error) {
		if t := w.trees[id]; t != nil {
			return t, nil
		}
		return nil, tree.ErrNoObject
	})
}

// renderer returns a renderer of the repository's current files and what was fetched.
func (w *world) renderer(s *remote.Sources) *deploy.Set {
	w.t.Helper()
	set, err := deploy.Open(w.repo.Tree("HEAD"), roots.Options{}, &graph.Cache{}, render.Config{Sources: s})
	if err != nil {
		w.t.Fatal(err)
	}
	return set
}

// render renders a folder. It fetches what the rendering wants until nothing new is wanted.
func (w *world) render(dir string) (*deploy.Set, *render.Rendering, []doc.Error) {
	w.t.Helper()
	for range 10 {
		s := w.sources()
		r := w.renderer(s)
		out, problems, err := r.Render(w.t.Context(), roots.Root{Path: dir})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(s.Wanted()) == 0 {
			return r, out, problems
		}
		for _, want := range s.Wanted() {
			w.fetch(want)
		}
	}
	w.t.Fatal("there is no end of what is wanted")
	return nil, nil, nil
}

const host = "https://git.example.com"

// mountsBase is a repository with a base that has a nested base and a remote one.
const mountsBase = `
-- git/o/base/deploy/kustomization.yaml --
resources:
- deployment.yaml
- ../common
- HOST/o/nested//x?ref=v1
namePrefix: base-
-- git/o/base/deploy/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: c
        image: img:1
-- git/o/base/common/kustomization.yaml --
resources: [sa.yaml]
-- git/o/base/common/sa.yaml --
apiVersion: v1
kind: ServiceAccount
metadata:
  name: sa
-- git/o/base/component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]'
-- git/o/nested/x/kustomization.yaml --
resources: [cm.yaml]
-- git/o/nested/x/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: nested
data:
  a: "1"
-- git/o/whole/kustomization.yaml --
resources: [w.yaml]
-- git/o/whole/w.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: whole
-- raw/files/r.yaml --
apiVersion: v1
kind: Service
metadata:
  name: raw
---
apiVersion: example.com/v1
kind: Thing
metadata:
  name: thing
spec:
  ref:
    name: raw
-- raw/files/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: base-d
spec:
  minReadySeconds: 5
-- raw/files/data.txt --
some text
-- raw/files/e.env --
A=1
-- raw/files/crd.json --
{"v1.Thing": {"Schema": {"properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"$ref": "io.k8s.meta"},
 "spec": {"$ref": "v1.ThingSpec"}}}, "Dependencies": []},
 "v1.ThingSpec": {"Schema": {"properties": {"ref": {"x-kubernetes-object-ref-api-version": "v1", "x-kubernetes-object-ref-kind": "Service",
 "x-kubernetes-object-ref-name-key": "name", "$ref": "v1.Ref"}}}, "Dependencies": []},
 "v1.Ref": {"Schema": {"properties": {"name": {"type": "string"}}}, "Dependencies": []}}
-- raw/files/configuration.yaml --
nameReference:
- kind: Service
  fieldSpecs:
  - kind: Thing
    path: spec/ref/name
-- raw/files/replacement.yaml --
source: {kind: Deployment, fieldPath: metadata.name}
targets:
- select: {kind: Service}
  fieldPaths: [metadata.annotations.of]
  options: {create: true}
-- raw/files/transformer.yaml --
apiVersion: builtin
kind: AnnotationsTransformer
metadata: {name: t}
annotations: {by: transformer}
fieldSpecs: [{path: metadata/annotations, create: true}]
`

var mountsCases = []struct{ name, files string }{
	{"remote base", "-- app/kustomization.yaml --\nresources:\n- HOST/o/base//deploy?ref=v1\n"},
	{"patched remote base", `
-- app/kustomization.yaml --
resources:
- own.yaml
- "HOST/o/base//deploy?ref=v1" # the base
namespace: ns
images:
- name: img
  newTag: "2"
patches:
- path: patch.yaml
- patch: |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: base-nested
    data:
      b: "2"
replicas:
- name: base-d
  count: 3
-- app/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: own
-- app/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: base-d
spec:
  paused: true
`},
	{"remote component", `
-- app/kustomization.yaml --
resources: [ "HOST/o/base//deploy?ref=v1", HOST/o/whole.git ]
components:
- HOST/o/base//component/?ref=v1&timeout=10s
`},
	{"remote base in a local base", `
-- app/kustomization.yaml --
resources: [../base]
nameSuffix: -app
-- base/kustomization.yaml --
resources:
- HOST/o/whole
- HOST/o/nested//x?version=v1&submodules=false
`},
	{"remote files", `
-- app/kustomization.yaml --
resources:
- HOST/o/base//deploy?ref=v1
- HOST/raw/files/r.yaml
patches:
- path: HOST/raw/files/patch.yaml
crds:
- HOST/raw/files/crd.json
configurations:
- HOST/raw/files/configuration.yaml
configMapGenerator:
- name: generated
  files:
  - HOST/raw/files/data.txt
  - key=HOST/raw/files/data.txt
  envs:
  - HOST/raw/files/e.env
transformers:
- HOST/raw/files/transformer.yaml
replacements:
- path: HOST/raw/files/replacement.yaml
namePrefix: x-
`},
	{"build metadata", `
-- app/kustomization.yaml --
resources:
- HOST/o/base//deploy?ref=v1
- HOST/raw/files/r.yaml
- HOST/o/whole.git?ref=v1
- ../base
buildMetadata: [originAnnotations, transformerAnnotations]
configMapGenerator:
- name: g
components:
- HOST/o/base//component?ref=v1
transformers:
- HOST/raw/files/transformer.yaml
-- base/kustomization.yaml --
nameSuffix: -two
resources:
- HOST/o/nested//x?ref=v1
`},
	{"deprecated fields", `
-- app/kustomization.yaml --
bases:
- HOST/o/base//deploy?ref=v1
patchesStrategicMerge:
- HOST/raw/files/patch.yaml
`},
}

func TestRemoteSourcesAreRendered(t *testing.T) {
	for _, c := range mountsCases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, host, c.files+mountsBase)
			r, out, problems := w.render("app")
			if len(problems) > 0 || len(out.Resources) == 0 {
				t.Fatal(problems)
			}
			printed, err := out.YAML()
			if err != nil {
				t.Fatal(err)
			}
			alone, err := r.Renderer.Unmarked(t.Context(), roots.Root{Path: "app"})
			if err != nil || !bytes.Equal(alone, printed) {
				t.Errorf("%v\n%s\nbut alone\n%s", err, printed, alone)
			}
		})
	}
}

// The program named by LINTEL_KUSTOMIZE prints the same, with repositories and files over http.
func TestMountsRenderAsKustomizeDoes(t *testing.T) {
	program := os.Getenv("LINTEL_KUSTOMIZE")
	if program == "" {
		t.Skip("LINTEL_KUSTOMIZE does not name the program")
	}
	for _, c := range mountsCases {
		t.Run(c.name, func(t *testing.T) {
			var w *world
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) { w.serve(out, in) }))
			defer server.Close()
			w = newWorld(t, server.URL, c.files+mountsBase)
			_, out, problems := w.render("app")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			printed, err := out.YAML()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program, "build", "--reorder=none", filepath.Join(w.repo.Dir, "app"))
			var words bytes.Buffer
			cmd.Stderr = &words
			want, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &words)
			}
			if !bytes.Equal(printed, want) {
				t.Errorf("got\n%s\nkustomize prints\n%s", printed, want)
			}
		})
	}
}

// serve serves files, and repositories over git's smart protocol.
func (w *world) serve(out http.ResponseWriter, in *http.Request) {
	p := strings.TrimPrefix(in.URL.Path, "/")
	if file, ok := strings.CutPrefix(p, "charts/"); ok {
		w.serveCharts(out, file)
		return
	}
	if text := w.raw[p]; text != "" {
		fmt.Fprint(out, text)
		return
	}
	name, rest := path.Dir(path.Dir(p)), path.Base(path.Dir(p))+"/"+path.Base(p)
	if path.Base(p) == "git-upload-pack" {
		name, rest = path.Dir(p), path.Base(p)
	}
	r := w.repos[strings.TrimSuffix(name, ".git")]
	if r == nil || rest != "info/refs" && rest != "git-upload-pack" {
		http.NotFound(out, in)
		return
	}
	git, err := exec.LookPath("git")
	if err != nil {
		w.t.Error(err)
	}
	in.URL.Path = "/" + rest
	(&cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: r.Dir,
		Env: []string{"GIT_PROJECT_ROOT=" + r.GitDir, "GIT_HTTP_EXPORT_ALL=1"}}).ServeHTTP(out, in)
}
