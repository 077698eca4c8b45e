package deploy_test

import (
	"maps"
	"path/filepath"
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
				if number++; testing.Short() && number%8 != 1 {
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
				reaches(t, name, repo, open(t, repo.Tree(base)))
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

func TestWhatPluginsReadReaches(t *testing.T) {
	repo := treetest.New(t)
	base := open(t, repo.Tree(repo.Commit(readByPlugins)))
	if out, problems, err := base.Render(t.Context(), roots.Root{Path: "web"}); err != nil || len(problems) > 0 || len(out.Resources) != 6 {
		t.Fatal(err, problems, len(out.Resources))
	}
	reaches(t, "plugins", repo, base)
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
