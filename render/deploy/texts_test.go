package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const sayingRepo = `
-- defined/kustomization.yaml --
resources: [crd.yaml]
-- defined/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, names: {kind: Widget}}
-- edited/kustomization.yaml --
resources: [crd.yaml]
patches: [{path: kind.yaml, target: {kind: CustomResourceDefinition}}]
-- edited/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec: {group: example.com, names: {kind: Gadget}}
-- edited/kind.yaml --
- {op: replace, path: /spec/names/kind, value: Widget}
-- apart/kustomization.yaml --
resources: [crd.yaml, widget.yaml]
-- apart/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec: {group: example.com, names: {kind: Gadget}}
-- apart/widget.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
-- base/kustomization.yaml --
resources: [namespace.yaml, account.yaml]
configMapGenerator: [{name: settings, literals: [a=b]}]
-- base/namespace.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: template}
-- base/account.yaml --
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
-- team/kustomization.yaml --
resources: [../base]
namespace: team-a
-- around/kustomization.yaml --
resources: [../base]
namePrefix: pre-
nameSuffix: -post
-- patched/kustomization.yaml --
resources: [../base]
patches:
- path: rename.yaml
  target: {kind: ServiceAccount}
-- patched/rename.yaml --
- op: replace
  path: /metadata/name
  value: renamed
-- renamed/kustomization.yaml --
resources: [../base]
patches:
- path: rename.yaml
  target: {kind: Namespace}
  options: {allowNameChange: true}
-- renamed/rename.yaml --
apiVersion: v1
kind: Whatever
metadata: {name: by-merge}
-- turned/kustomization.yaml --
resources: [../base]
patches:
- path: turn.yaml
  target: {kind: ServiceAccount}
-- turned/turn.yaml --
- op: replace
  path: /kind
  value: Endpoints
-- whole/kustomization.yaml --
resources: [../base]
patches:
- path: whole.json
  target: {kind: Namespace}
-- whole/whole.json --
[{"op": "replace", "path": "/metadata", "value": {"name": "by-whole"}}]
-- replaced/kustomization.yaml --
resources: [../base, source.yaml]
replacements:
- source: {kind: Service, fieldPath: spec.externalName}
  targets:
  - select: {kind: ServiceAccount}
    fieldPaths: [metadata.name]
-- replaced/source.yaml --
apiVersion: v1
kind: Service
metadata: {name: source}
spec: {externalName: copied}
-- component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [extra.yaml]
-- component/extra.yaml --
apiVersion: v1
kind: Secret
metadata: {name: "e\x78tra"}
-- with/kustomization.yaml --
resources: [../base]
components: [../component]
-- plain/all.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Endpoints, metadata: {name: inside}}
-- alone/kustomization.yaml --
resources: [pod.yaml]
-- alone/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: alone}
-- substituted/kustomization.yaml --
resources: [pod.yaml]
-- substituted/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: "pod-${team}"}
-- generated/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: generated}
-- flux/all.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux}
spec: {url: "https://git.example.com/fleet"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: substituted, namespace: flux}
spec:
  path: substituted
  sourceRef: {kind: GitRepository, name: fleet}
  postBuild: {substitute: {team: red}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: targeted, namespace: flux}
spec:
  path: base
  targetNamespace: flux-team
  sourceRef: {kind: GitRepository, name: fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: generated, namespace: flux}
spec:
  path: generated
  sourceRef: {kind: GitRepository, name: fleet}
  patches:
  - target: {kind: Pod}
    patch: |
      - op: replace
        path: /metadata/name
        value: by-flux
-- argo/all.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  destination: {namespace: argo-team}
  source: {repoURL: "https://git.example.com/fleet", path: with, kustomize: {namePrefix: argo-, namespace: argo-ns}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: plain, namespace: argocd}
spec:
  destination: {namespace: argo-team}
  source: {repoURL: "https://git.example.com/fleet", path: plain, directory: {recurse: true}}
`

// MayName and MayMention are true for every object that a root renders. They are false for a name that none of its
// files contains, if the root composes no names.
func TestTextsFindEveryRenderedObject(t *testing.T) {
	r := treetest.New(t)
	err := filepath.WalkDir("../../testdata", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err == nil {
			r.Write(filepath.ToSlash(strings.TrimPrefix(p, "../../")), string(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := deploy.Open(r.Tree(r.Commit(sayingRepo)), roots.Options{Repository: []string{"https://git.example.com/fleet"},
		Limits: doc.Limits{}}, &graph.Cache{}, render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	renderer := set
	objects, names := 0, map[string]bool{}
	for _, root := range set.All() {
		out, _, err := renderer.Render(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range out.Resources {
			kind, _ := resource.Object["kind"].(string)
			metadata, _ := resource.Object["metadata"].(map[string]any)
			name, _ := metadata["name"].(string)
			objects, names[kind+" "+name] = objects+1, true
			if set.IsExternal(root) {
				continue
			}
			if name != "" && !set.Texts.MayName(root, kind, name) {
				t.Errorf("%v is not said to name %s %s", root, kind, name)
			}
			if !set.Texts.MayMention(root, kind, kind) {
				t.Errorf("%v is not said to mention %s", root, kind)
			}
		}
	}
	if objects < 100 {
		t.Errorf("only %d objects", objects)
	}
	for _, name := range []string{"Namespace team-a", "ServiceAccount pre-runner-post", "ServiceAccount renamed",
		"ServiceAccount copied", "Secret argo-extra", "Endpoints inside", "Pod pod-red", "Namespace flux-team", "Pod by-flux",
		"ServiceAccount argo-runner", "Namespace argo-ns", "Namespace by-merge", "Endpoints runner", "Namespace by-whole"} {
		if !names[name] {
			t.Errorf("nothing renders to %s", name)
		}
	}
	for _, dir := range []string{"alone", "team", "around", "patched"} {
		if set.Texts.MayName(roots.Root{Path: dir}, "ServiceAccount", "nobody") {
			t.Errorf("%s is said to name nobody", dir)
		}
	}
	if set.Texts.MayMention(roots.Root{Path: "alone"}, "Deployment", "Deployment") {
		t.Error("alone is said to mention a Deployment")
	}
	for dir, want := range map[string]bool{"defined": true, "edited": true, "apart": false} {
		if got := set.Texts.MayMention(roots.Root{Path: dir}, "CustomResourceDefinition", "Widget"); got != want {
			t.Errorf("that %s may define Widgets is %v", dir, got)
		}
		for group, want := range map[string]bool{"example.com": true, "sample.com": dir == "edited"} { // it has a JSON patch
			if got := set.Texts.MayName(roots.Root{Path: dir}, "CustomResourceDefinition", "*."+group); got != want {
				t.Errorf("that %s may define kinds of %s is %v", dir, group, got)
			}
		}
	}
}
