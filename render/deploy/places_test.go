package deploy

import (
	"strconv"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Cached places of fields follow the lines that they name, in whatever file these are: here of a variable of Flux, and of
// a field that a patch sets.
func TestCachedPlacesFollowLines(t *testing.T) {
	const vars = "{apiVersion: v1, kind: ConfigMap, metadata: {name: vars, namespace: ops}, data: {team: red}}\n"
	const patch = "- {op: add, path: /spec/targetNamespace, value: shop}\n"
	repo := treetest.New(t)
	commits := []string{repo.Commit(`
-- ops/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: ks, namespace: ops}
spec:
  path: ./app
  sourceRef: {kind: GitRepository, name: ops}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}
-- ops/kustomization.yaml --
resources: [ks.yaml]
patches: [{path: patch.yaml, target: {kind: Kustomization}}]
-- ops/patch.yaml --
` + patch + `
-- vars/vars.yaml --
` + vars + `
-- app/kustomization.yaml --
resources: [cm.yaml]
-- app/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: '${team}'}}
`), repo.Commit("-- vars/vars.yaml --\n\n\n" + vars), repo.Commit("-- ops/patch.yaml --\n\n\n" + patch)}
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]int{{1, 1}, {3, 1}, {3, 3}} {
		cache, found := &render.Cache{Disk: disk}, false
		s, err := Open(repo.Tree(commits[i]), roots.Options{}, &graph.Cache{}, render.Config{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		for _, root := range s.All() {
			if !strings.Contains(root.Object, "/ks/") {
				continue
			}
			out, problems, err := s.Render(t.Context(), root)
			if err != nil || len(problems) > 0 || len(out.Resources) != 1 {
				t.Fatal(out, problems, err)
			}
			variable, namespace := out.Resources[0].Origin("/metadata/name"), out.Resources[0].Origin("/metadata/namespace")
			if [2]int{variable.StartLine, namespace.StartLine} != want || variable.Path != "vars/vars.yaml" ||
				namespace.Path != "ops/patch.yaml" {
				t.Errorf("commit %d: the name is of %+v, the namespace of %+v, want lines %v", i, variable, namespace, want)
			}
			found = true
		}
		if !found {
			t.Error("nothing is deployed")
		}
		s.Renderer.SavePlaces(t.Context())
		cache.Save()
	}
}

// A value that a template of an ApplicationSet prints alone has the place where a person wrote it; every other has the
// place of the template.
func TestPlacesOfGeneratedValues(t *testing.T) {
	const list = "- list: {elements: [{n: a,\n    tag: bad}]}"
	for name, c := range map[string]struct {
		plain                   bool // not a Go template
		generators, helm, files string
		want                    string
	}{
		"list":                        {generators: list, helm: `{parameters: [{name: tag, value: "{{.tag}}"}]}`, want: "as.yaml:8"},
		"list, not a Go template":     {plain: true, generators: list, helm: `{parameters: [{name: tag, value: "{{ tag }}"}]}`, want: "as.yaml:8"},
		"through a function":          {generators: list, helm: `{valuesObject: {tag: "{{ .tag | lower }}"}}`, want: "as.yaml:8"},
		"part of a text":              {generators: list, helm: `{valuesObject: {tag: "bad{{.tag}}"}}`, want: "as.yaml:11"},
		"written in the template":     {generators: list, helm: `{valuesObject: {tag: bad}}`, want: "as.yaml:11"},
		"chosen by a value":           {generators: list, helm: `{valuesObject: {tag: "{{if .tag}}bad{{end}}"}}`, want: "as.yaml:11"},
		"nested value":                {generators: "- list: {elements: [{n: a, app: {\n    tag: bad}}]}", helm: `{valuesObject: {tag: "{{.app.tag}}"}}`, want: "as.yaml:8"},
		"own values of a generator":   {generators: "- git: {repoURL: '', directories: [{path: app}],\n    values: {tag: bad}}", helm: `{valuesObject: {tag: "{{.values.tag}}"}}`, want: "as.yaml:8"},
		"file":                        {generators: "- git: {repoURL: '', files: [{path: 'envs/*.json'}]}", helm: `{valuesObject: {tag: "{{.tag}}"}}`, files: "-- envs/a.json --\n{\n\n\"tag\": \"bad\"}\n", want: "envs/a.json:3"},
		"first of a matrix":           {generators: "- matrix: {generators: [list: {elements: [{n: a,\n    tag: bad}]}, list: {elements: [{m: b}]}]}", helm: `{valuesObject: {tag: "{{.tag}}"}}`, want: "as.yaml:8"},
		"second generator of a merge": {generators: "- merge: {mergeKeys: [n], generators: [list: {elements: [{n: a, tag: good}]}, list: {elements: [{n: a,\n    tag: bad}]}]}", helm: `{valuesObject: {tag: "{{.tag}}"}}`, want: "as.yaml:8"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := treetest.New(t)
			mode := "goTemplate: true"
			if c.plain {
				mode = "goTemplate: false"
			}
			commit := repo.Commit(`
-- as.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: as, namespace: argocd}
spec:
  ` + mode + `
  generators:
  ` + c.generators + strings.Repeat("\n", 2-strings.Count(c.generators, "\n")) + `
  template: {metadata: {name: web}, spec: {destination: {namespace: web}, source: {repoURL: '', path: app,
    helm: ` + c.helm + `}}}
-- app/Chart.yaml --
{apiVersion: v2, name: app, version: 0.1.0}
-- app/values.yaml --
tag: none
-- app/templates/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {tag: "{{ .Values.tag }}"}}
` + c.files)
			s, err := Open(repo.Tree(commit), roots.Options{}, &graph.Cache{}, render.Config{})
			if err != nil {
				t.Fatal(err)
			}
			list := s.Of("web")
			if len(list) != 1 {
				t.Fatal(list)
			}
			out, problems, err := s.Render(t.Context(), list[0])
			if err != nil || len(problems) > 0 || len(out.Resources) != 1 {
				t.Fatal(out, problems, err)
			}
			at := out.Resources[0].Origin("/data/tag")
			if got := at.Path + ":" + strconv.Itoa(at.StartLine); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
