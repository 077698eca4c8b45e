package deploy_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// TestWhatIsReadReaches changes each file that the rendering of a root reads: the change must reach the root.
func TestWhatIsReadReaches(t *testing.T) {
	archives, err := filepath.Glob("../../checks/testdata/conclusions/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			seen, number := map[string]bool{}, 0
			for line := range strings.Lines(string(a.Comment)) {
				if number++; number%4 != 1 || testing.Short() && number%16 != 1 {
					continue
				}
				name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
				parts, _, _ := strings.Cut(rest, "=> ")
				repo := treetest.New(t)
				for _, folder := range append(strings.Fields(parts), name+".base") {
					for _, f := range a.Files {
						in, ok := strings.CutPrefix(f.Name, folder+"/")
						switch target, link := strings.CutPrefix(strings.TrimSpace(string(f.Data)), "LINK "); {
						case !ok || string(f.Data) == "DELETE\n":
						case link:
							repo.Symlink(target, in)
						default:
							repo.Write(in, string(f.Data))
						}
					}
				}
				base := repo.Snapshot()
				if seen[base] {
					continue
				}
				seen[base] = true
				set := open(t, repo.Tree(base))
				reaches(t, name, repo, set)
				differs(t, name, repo, set)
			}
		})
	}
}

// readByPlugins has kustomizations that read files in ways of their own.
const readByPlugins = `
-- web/kustomization.yaml --
resources: [c.yaml, ../base]
components: [../component]
generators: [g.yaml, ../made]
transformers:
- t.yaml
- |-
  apiVersion: builtin
  kind: PatchTransformer
  metadata: {name: p}
  target: {kind: ConfigMap, name: c}
  path: patches/inline.yaml
replacements: [{path: r.yaml}]
configurations: [conf.yaml]
configMapGenerator: [{name: generated, files: [data/f.txt], envs: [data/e.env]}]
helmCharts: [{name: x, releaseName: r, valuesFile: v.yaml, additionalValuesFiles: [more/v.yaml]}]
-- web/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}
-- web/g.yaml --
{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, files: [data/g.txt]}
-- web/t.yaml --
{apiVersion: builtin, kind: PatchTransformer, metadata: {name: t}, target: {kind: ConfigMap, name: c}, path: patches/t.yaml}
-- web/patches/inline.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {inline: a}}
-- web/patches/t.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {t: a}}
-- web/r.yaml --
- source: {kind: ConfigMap, name: c, fieldPath: data.a}
  targets: [{select: {kind: ConfigMap, name: c}, fieldPaths: [data.r], options: {create: true}}]
-- web/conf.yaml --
commonLabels: [{path: metadata/labels, create: true}]
-- web/data/f.txt --
f
-- web/data/g.txt --
g
-- web/data/e.env --
K=v
-- web/v.yaml --
a: b
-- web/more/v.yaml --
c: d
-- web/charts/x/Chart.yaml --
{apiVersion: v2, name: x, version: 1.0.0}
-- web/charts/x/values.yaml --
e: f
-- web/charts/x/files/x.txt --
x
-- web/charts/x/templates/x.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {x: "{{ .Files.Get "files/x.txt" }}"}}
-- base/kustomization.yaml --
configMapGenerator: [{name: based, files: [b.txt]}]
-- base/b.txt --
b
-- component/kustomization.yaml --
{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, patches: [{path: p.yaml}]}
-- component/p.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {component: a}}
-- made/kustomization.yaml --
resources: [m.yaml]
-- made/m.yaml --
{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: m}, literals: [a=b]}
`

// readByObjects has objects of Argo CD and Flux that read files outside of the folders that they deploy.
const readByObjects = `
-- argocd/values.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: values, namespace: argocd}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: values}
  source:
    repoURL: https://github.com/acme/fleet.git
    path: charts/x
    targetRevision: HEAD
    helm: {valueFiles: [../../values/a.yaml, /values/b.yaml], fileParameters: [{name: f, path: ../../values/f.txt}]}
-- argocd/sources.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: sources, namespace: argocd}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: sources}
  sources:
  - {repoURL: "https://github.com/acme/fleet.git", path: charts/x, targetRevision: HEAD, helm: {valueFiles: [$here/values/c.yaml]}}
  - {repoURL: "https://github.com/acme/fleet.git", targetRevision: HEAD, ref: here}
-- argocd/kustomized.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: kustomized, namespace: argocd}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: kustomized}
  source:
    repoURL: https://github.com/acme/fleet.git
    path: apps/kustomized
    targetRevision: HEAD
    kustomize: {patches: [{path: patch.yaml, target: {kind: ConfigMap}}], components: [../../components/argo]}
-- argocd/directory.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: directory, namespace: argocd}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: directory}
  source: {repoURL: "https://github.com/acme/fleet.git", path: apps/directory, targetRevision: HEAD, directory: {recurse: true, include: "*.yaml"}}
-- argocd/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd}
spec:
  generators: [{git: {repoURL: "https://github.com/acme/fleet.git", revision: HEAD, files: [{path: "sets/*.json"}]}}]
  template:
    metadata: {name: "set-{{name}}"}
    spec:
      project: default
      destination: {server: "https://kubernetes.default.svc", namespace: "{{name}}"}
      source: {repoURL: "https://github.com/acme/fleet.git", path: charts/x, targetRevision: HEAD, helm: {valueFiles: ["../../values/{{name}}.yaml"]}}
-- sets/one.json --
{"name": "one"}
-- values/a.yaml --
a: b
-- values/b.yaml --
c: d
-- values/c.yaml --
e: f
-- values/f.txt --
f
-- values/one.yaml --
g: h
-- charts/x/Chart.yaml --
{apiVersion: v2, name: x, version: 1.0.0, dependencies: [{name: y, version: 1.0.0, repository: "file://../y"}]}
-- charts/x/values.yaml --
{f: ""}
-- charts/x/templates/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {f: "{{ .Values.f }}"}}
-- charts/y/Chart.yaml --
{apiVersion: v2, name: y, version: 1.0.0}
-- charts/y/templates/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: y}}
-- apps/kustomized/kustomization.yaml --
resources: [c.yaml]
-- apps/kustomized/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: k}}
-- apps/kustomized/patch.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: k}, data: {a: b}}
-- apps/kustomized/.argocd-source.yaml --
kustomize: {namePrefix: p-}
-- components/argo/kustomization.yaml --
{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, resources: [../../shared]}
-- shared/kustomization.yaml --
configMapGenerator: [{name: shared, files: [f.txt]}]
-- shared/f.txt --
f
-- apps/directory/deep/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: d}}
-- clusters/prod/flux.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: variables, namespace: flux-system}
spec:
  path: ./apps/variables
  prune: true
  interval: 1h
  sourceRef: {kind: GitRepository, name: flux-system}
  components: [../../components/flux]
  postBuild: {substituteFrom: [{kind: ConfigMap, name: variables}]}
-- clusters/prod/variables.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: variables, namespace: flux-system}, data: {NAME: v}}
-- clusters/prod/release.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: release, namespace: flux-system}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/x, valuesFiles: [./charts/x/values.yaml, ./values/a.yaml], sourceRef: {kind: GitRepository, name: flux-system}}}
  valuesFrom: [{kind: ConfigMap, name: values}]
-- clusters/prod/values.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: values, namespace: flux-system}, data: {values.yaml: "f: g"}}
-- components/flux/kustomization.yaml --
{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, configMapGenerator: [{name: component, files: [f.txt]}]}
-- components/flux/f.txt --
f
-- apps/variables/kustomization.yaml --
resources: [c.yaml]
-- apps/variables/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "${NAME}"}}
`

func TestWhatObjectsReadReaches(t *testing.T) {
	repo := treetest.New(t)
	base := open(t, repo.Tree(repo.Commit(readByObjects)))
	for _, root := range base.All() {
		if _, problems, err := base.Render(t.Context(), root); err != nil || len(problems) > 0 {
			t.Error(root.Name(), err, problems)
		}
	}
	reaches(t, "objects", repo, base)
	if differs(t, "objects", repo, base) < 20 {
		t.Error("too few changes differ")
	}
}

// lastWord matches the last word of a file, before the characters that close it.
var lastWord = regexp.MustCompile(`(?s)(\w)(\W*)$`)

// differs changes the last word of each file: the change must reach each root that renders something else then. It
// returns the number of changed renderings.
func differs(t *testing.T, name string, repo *treetest.Repo, base *deploy.Set) (changed int) {
	t.Helper()
	rendered := func(set *deploy.Set, root roots.Root) string {
		if !set.Has(root) {
			return "[]" // as a root without objects
		}
		out, problems, err := set.Render(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(problems)
		for _, r := range out.Resources {
			text += fmt.Sprint(r.Object)
		}
		return text
	}
	if err := base.Tree().Walk(func(file string, e tree.Entry) error {
		data, _, err := base.Tree().ReadFile(file)
		if err != nil || e.Kind != tree.File {
			return nil
		}
		repo.Write(file, lastWord.ReplaceAllString(string(data), "${1}q$2"))
		head := open(t, repo.Tree(repo.Snapshot()))
		reached := deploy.Between(base, head, []string{file}, nil)
		for _, root := range append(base.All(), head.All()...) {
			if rendered(base, root) != rendered(head, root) {
				if changed++; !slices.Contains(reached, root) {
					t.Errorf("%s: a change of %s does not reach %s, which differs", name, file, root.Name())
				}
			}
		}
		repo.Write(file, string(data))
		return nil
	}); err != nil {
		t.Error(err)
	}
	return changed
}

func TestWhatPluginsReadReaches(t *testing.T) {
	repo := treetest.New(t)
	base := open(t, repo.Tree(repo.Commit(readByPlugins)))
	if out, problems, err := base.Render(t.Context(), roots.Root{Path: "web"}); err != nil || len(problems) > 0 || len(out.Resources) != 6 {
		t.Fatal(err, problems, len(out.Resources))
	}
	reaches(t, "plugins", repo, base)
	differs(t, "plugins", repo, base)
}

func reaches(t *testing.T, name string, repo *treetest.Repo, base *deploy.Set) {
	readers := map[string][]roots.Root{}
	for _, root := range base.All() {
		out, _, err := base.Render(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		if err := base.Tree().Walk(func(file string, e tree.Entry) error {
			read := out.Reads[file] != ""
			for named := range out.Reads { // a folder ends with a slash
				read = read || strings.HasSuffix(named, "/") && strings.HasPrefix(file, named)
			}
			if read && e.Kind == tree.File {
				readers[file] = append(readers[file], root)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(readers)) {
		data, _, err := base.Tree().ReadFile(file)
		if err != nil {
			continue
		}
		repo.Write(file, string(data)+"\n# changed\n")
		head := open(t, repo.Tree(repo.Snapshot()))
		reached := deploy.Between(base, head, []string{file}, nil)
		for _, root := range readers[file] {
			if !slices.Contains(reached, root) && head.Has(root) {
				t.Errorf("%s: a change of %s does not reach %s, which reads it", name, file, root.Name())
			}
		}
		repo.Write(file, string(data))
	}
}
