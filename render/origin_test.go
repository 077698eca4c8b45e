package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const layered = `
-- base/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: app
        image: example.com/app:1.0
        env:
        - name: MODE
          value: dev
      - name: sidecar
        image: "example.com/sidecar:2.0"
---
# A second document of the same file.
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    owner: 'team a'
spec:
  selector: {app: web}
  ports:
  - port: 80
    name: http
-- base/kustomization.yaml --
resources:
- deployment.yaml
- windows.yaml
configMapGenerator:
- name: settings
  literals:
  - mode=fast
  files:
  - app.conf
  envs:
  - defaults.env
-- base/app.conf --
a = 1
b = 2
-- base/defaults.env --
# comment
LEVEL=info
-- component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      template:
        spec:
          hostNetwork: true
-- overlay/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: sidecar
        resources:
          limits:
            memory: 64Mi
-- overlay/kustomization.yaml --
namespace: prod
namePrefix: p-
resources:
- ../base
components:
- ../component
labels:
- pairs:
    tier: gold
  includeSelectors: true
commonAnnotations:
  note: hi
images:
- name: example.com/app
  newTag: "3.0"
replicas:
- name: web
  count: 5
patches:
- path: patch.yaml
- target:
    kind: Deployment
    name: web
  patch: |-
    - op: add
      path: /spec/template/spec/containers/1/env/-
      value:
        name: EXTRA
        value: "1"
- patch: |
    apiVersion: v1
    kind: Service
    metadata:
      name: web
    spec:
      type: LoadBalancer
`

func TestOrigin(t *testing.T) {
	r := treetest.New(t)
	r.Write("base/windows.yaml",
		"apiVersion: v1\r\nkind: Secret\r\nmetadata:\r\n  name: win\r\nstringData:\r\n  key: value\r\n")
	rendering := renderRoot(t, r, r.Commit(layered), "overlay")
	for _, c := range []struct{ resource, pointer, want string }{
		{"Service p-web", "/spec/ports/0/port", "base/deployment.yaml:28:11-13 identity"},
		{"Service p-web", "/spec/ports/0/name", "base/deployment.yaml:29:11-15 identity"},
		{"Service p-web", "/metadata/annotations/owner", "base/deployment.yaml:24:12-20 search"},
		{"Service p-web", "/spec/selector/app", "base/deployment.yaml:26:19-22 identity"},
		{"Service p-web", "/spec/type", "overlay/kustomization.yaml:36:13-25 identity"},
		{"Service p-web", "/spec/ports", "base/deployment.yaml:27:3-8 identity"},
		{"Service p-web", "/spec/selector/tier", "overlay/kustomization.yaml:9:11-15 writer"},
		{"Service p-web", "/metadata/namespace", "overlay/kustomization.yaml:1:12-16 writer"},
		{"Service p-web", "/metadata/name", "overlay/kustomization.yaml:2:13-15 writer < base/deployment.yaml:22"},
		{"Service p-web", "/metadata/annotations/note", "overlay/kustomization.yaml:12:9-11 writer"},
		{"Secret p-win", "/stringData/key", "base/windows.yaml:6:8-13 identity"},
		{"Deployment p-web", "/spec/replicas", "overlay/kustomization.yaml:18:10-11 writer < base/deployment.yaml:6"},
		{"Deployment p-web", "/spec/template/spec/containers/1/image",
			"overlay/kustomization.yaml:15:11-16 writer < base/deployment.yaml:11"},
		{"Deployment p-web", "/spec/template/spec/containers/0/image", "base/deployment.yaml:16:16-41 search"},
		{"Deployment p-web", "/spec/template/spec/containers/0/resources/limits/memory",
			"overlay/patch.yaml:12:21-25 writer"},
		{"Deployment p-web", "/spec/template/spec/containers/1/env/1/name", "overlay/kustomization.yaml:28:15-20 writer"},
		{"Deployment p-web", "/spec/template/spec/containers/1/env/0/value", "base/deployment.yaml:14:18-21 search"},
		{"Deployment p-web", "/spec/template/spec/hostNetwork", "component/kustomization.yaml:12:24-28 writer"},
		{"ConfigMap p-settings", "/data/mode", "base/kustomization.yaml:7:5-14 writer"},
		{"ConfigMap p-settings", "/data/app.conf", "base/app.conf:1-2 writer"},
		{"ConfigMap p-settings", "/data/LEVEL", "base/defaults.env:2 writer"},
		{"ConfigMap p-settings", "/kind", "base/kustomization.yaml:5 writer"},
		{"Service p-web", "", "base/deployment.yaml:19 identity"},
		{"Service p-web", "/spec/ports/0/nodePort", "base/deployment.yaml:28:5-9 enclosing, missing /nodePort"},
		{"Service p-web", "/spec/a/b~1c", "base/deployment.yaml:25:1-5 enclosing, missing /a/b~1c"},
		{"Service p-web", "/status/x", "base/deployment.yaml:19 enclosing, missing /status/x"},
	} {
		t.Run(c.resource+c.pointer, func(t *testing.T) {
			got := describe(find(t, rendering, c.resource).Origin(c.pointer))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// parted is a root in which several files contribute to one image or name.
const parted = `
-- base/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: versions, annotations: {made: "$(WHO) did"}}
data: {tag: "7", where: mirror.example.com/team}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: tag, image: "docker.io/team/app:1.0"}
  - {name: registry, image: "docker.io/team/app:1.0"}
  - {name: renamed, image: "old/app:1.0"}
  - {name: version, image: "new/app:1.0"}
  - {name: pinned, image: "pin/app:1.0@sha256:aaaa"}
  - {name: pair, image: "pair/app:1.0"}
  - {name: bare, image: bare}
  - {name: self, image: "self/app:1.0"}
-- base/kustomization.yaml --
resources: [all.yaml]
namePrefix: a-
images:
- {name: pair/app, newTag: "2.0"}
vars:
- {name: WHO, objref: {apiVersion: v1, kind: Pod, name: web}}
-- top/kustomization.yaml --
resources: [../base]
namePrefix: b-
nameSuffix: -c
images:
- {name: old/app, newName: new/old}
- {name: new/app, newTag: "3.0"}
- {name: pin/app, newName: new/pin}
- {name: pair/app, newName: new/pair}
- {name: bare, newName: new/bare}
- {name: self/app, newName: new/self, newTag: "4.0"}
replacements:
- source: {kind: ConfigMap, name: versions, fieldPath: data.tag}
  targets:
  - select: {kind: Pod}
    fieldPaths: ["spec.containers.[name=tag].image"]
    options: {delimiter: ":", index: 1}
- source: {kind: ConfigMap, name: versions, fieldPath: data.where, options: {delimiter: /}}
  targets:
  - select: {kind: Pod}
    fieldPaths: ["spec.containers.[name=registry].image"]
    options: {delimiter: /}
-- plain/kustomization.yaml --
resources: [../top]
`

// Each part of a text has the place in the file that contributed it.
func TestOriginWithin(t *testing.T) {
	r := treetest.New(t)
	rendering := renderRoot(t, r, r.Commit(parted), "plain")
	for _, c := range []struct{ resource, pointer, text, part, want string }{
		{"Pod b-a-web-c", "/spec/containers/0/image", "docker.io/team/app:7", "7", "base/all.yaml:4:13-16 writer"},
		{"Pod b-a-web-c", "/spec/containers/0/image", "docker.io/team/app:7", "docker.io", "base/all.yaml:11:25-43"},
		{"Pod b-a-web-c", "/spec/containers/0/image", "docker.io/team/app:7", "app:7", "base/all.yaml:4:13-16 writer"},
		{"Pod b-a-web-c", "/spec/containers/1/image", "mirror.example.com/team/app:1.0", "mirror.example.com",
			"base/all.yaml:4:25-43 writer"},
		{"Pod b-a-web-c", "/spec/containers/1/image", "mirror.example.com/team/app:1.0", "1.0", "base/all.yaml:12:40-52"},
		{"Pod b-a-web-c", "/spec/containers/2/image", "new/old:1.0", "new/old", "top/kustomization.yaml:5:28-35 writer"},
		{"Pod b-a-web-c", "/spec/containers/2/image", "new/old:1.0", "1.0", "base/all.yaml:13:37-40"},
		{"Pod b-a-web-c", "/spec/containers/3/image", "new/app:3.0", "3.0", "top/kustomization.yaml:6:27-32 writer"},
		{"Pod b-a-web-c", "/spec/containers/3/image", "new/app:3.0", "new", "base/all.yaml:14:29-36"},
		{"Pod b-a-web-c", "/spec/containers/4/image", "new/pin:1.0@sha256:aaaa", "new/pin", "top/kustomization.yaml:7:28-35"},
		{"Pod b-a-web-c", "/spec/containers/4/image", "new/pin:1.0@sha256:aaaa", "1.0", "base/all.yaml:15:36-39"},
		{"Pod b-a-web-c", "/spec/containers/4/image", "new/pin:1.0@sha256:aaaa", "sha256:aaaa", "base/all.yaml:15:40-51"},
		{"Pod b-a-web-c", "/spec/containers/5/image", "new/pair:2.0", "2.0", "base/kustomization.yaml:4:28-33 writer"},
		{"Pod b-a-web-c", "/spec/containers/5/image", "new/pair:2.0", "new", "top/kustomization.yaml:8:29-37 writer"},
		{"Pod b-a-web-c", "/spec/containers/6/image", "new/bare", "bare", "top/kustomization.yaml:9:25-33 writer"},
		{"Pod b-a-web-c", "/spec/containers/7/image", "new/self:4.0", "4.0", "top/kustomization.yaml:10:47-52 writer"},
		{"Pod b-a-web-c", "/spec/containers/7/image", "new/self:4.0", "self", "top/kustomization.yaml:10:29-37 writer"},
		{"Pod b-a-web-c", "/metadata/name", "b-a-web-c", "b-", "top/kustomization.yaml:2:13-15 writer"},
		{"Pod b-a-web-c", "/metadata/name", "b-a-web-c", "a", "base/kustomization.yaml:2:13-15 writer"},
		{"Pod b-a-web-c", "/metadata/name", "b-a-web-c", "web", "base/all.yaml:8:18-21"},
		{"Pod b-a-web-c", "/metadata/name", "b-a-web-c", "c", "top/kustomization.yaml:3:13-15 writer"},
	} {
		t.Run(c.pointer+" "+c.part, func(t *testing.T) {
			from := strings.LastIndex(c.text, c.part)
			if strings.HasPrefix(c.text, c.part) {
				from = 0
			}
			got := describe(find(t, rendering, c.resource).Origin(c.pointer).Within(from, from+len(c.part)))
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestOriginInFolderOfManifests(t *testing.T) {
	r := treetest.New(t)
	rev := r.Commit(`
-- apps/all.yaml --
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
  data:
    text: |
      one
      two
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: b
data: &d
  k: v
extra: *d
-- apps/values.yaml --
replicas: 3
-- apps/broken.yaml --
{{ if .Values.on }}
a: b
-- apps/json.json --
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"},
 "data": {"k": "v"}}
`)
	rendering := renderRoot(t, r, rev, "apps")
	if n := len(rendering.Resources); n != 3 {
		t.Fatalf("%d resources, want 3", n)
	}
	for _, c := range []struct{ resource, pointer, want string }{
		{"ConfigMap a", "/data/text", "apps/all.yaml:8-10 identity"},
		{"ConfigMap a", "/metadata/name", "apps/all.yaml:6:20-21 identity"},
		{"ConfigMap a", "", "apps/all.yaml:4 identity"},
		{"ConfigMap b", "/data/k", "apps/all.yaml:17:6-7 identity"},
		{"ConfigMap b", "/extra/k", "apps/all.yaml:17:6-7 identity"},
		{"ConfigMap b", "/data/none", "apps/all.yaml:16:1-5 enclosing, missing /none"},
		{"ConfigMap j", "/data/k", "apps/json.json:2:16-19 identity"},
	} {
		t.Run(c.resource+c.pointer, func(t *testing.T) {
			if got := describe(find(t, rendering, c.resource).Origin(c.pointer)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func describe(p origin.Place) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s:%d", p.Path, p.StartLine)
	if p.EndLine != p.StartLine {
		fmt.Fprintf(&s, "-%d", p.EndLine)
	}
	if p.StartColumn > 0 {
		fmt.Fprintf(&s, ":%d-%d", p.StartColumn, p.EndColumn)
	}
	fmt.Fprintf(&s, " %s", p.How)
	if p.Missing != "" {
		fmt.Fprintf(&s, ", missing %s", p.Missing)
	}
	for _, l := range p.Chain {
		fmt.Fprintf(&s, " < %s:%d", l.Path, l.StartLine)
	}
	return s.String()
}

func renderRoot(t testing.TB, r *treetest.Repo, rev, root string) *render.Rendering {
	t.Helper()
	rendering, problems := tryRoot(t, r, rev, root)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return rendering
}

func tryRoot(t testing.TB, r *treetest.Repo, rev, root string) (*render.Rendering, []doc.Error) {
	t.Helper()
	tr := r.Tree(rev)
	g, err := deploy.Open(tr, roots.Options{}, &graph.Cache{}, render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range g.All() {
		if known.Path == root {
			rendering, problems, err := g.Render(t.Context(), known)
			if err != nil {
				t.Fatal(err)
			}
			return rendering, append(problems, rendering.Broken()...)
		}
	}
	t.Fatalf("%s is no root of %v", root, g.All())
	return nil, nil
}

// find returns the resource with a given "Kind name", ignoring the hash that a generator added.
func find(t testing.TB, r *render.Rendering, name string) *render.Resource {
	t.Helper()
	for _, res := range r.Resources {
		meta, _ := res.Object["metadata"].(map[string]any)
		if have := fmt.Sprint(res.Object["kind"], " ", meta["name"]); have == name || strings.HasPrefix(have, name+"-") {
			return res
		}
	}
	t.Fatalf("no %s", name)
	return nil
}
