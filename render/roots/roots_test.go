package roots_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const monorepo = `
-- base/kustomization.yaml --
resources: [deploy.yaml]
configMapGenerator:
- name: c
  files: [key=conf/app.ini]
-- base/deploy.yaml --
kind: Deployment
-- base/conf/app.ini --
x
-- base/notes.yaml --
kind: Note
-- base/sub/loose.yaml --
kind: Loose
-- comp/kustomization.yaml --
kind: Component
patches: [{path: p.yaml}]
-- comp/p.yaml --
a: 1
-- env/prod/kustomization.yaml --
resources: [../../base]
components: [../../comp]
-- env/dev/kustomization.yml --
bases: [../../base]
patchesStrategicMerge:
- dev.yaml
- |-
  kind: Inline
-- env/dev/dev.yaml --
kind: Deployment
-- env/plug/kustomization.yaml --
resources: [r.yaml]
transformers: [t.yaml]
-- env/plug/r.yaml --
kind: R
-- env/plug/t.yaml --
kind: T
-- env/plug/deep/used-by-plugin.txt --
x
-- plain/a.yaml --
kind: A
-- plain/b.json --
{}
-- plain/.hidden/x.yaml --
kind: X
-- .github/workflows/ci.yaml --
on: push
-- chart/Chart.yaml --
name: c
-- chart/templates/d.yaml --
kind: {{ .Kind }}
-- ring/a/kustomization.yaml --
resources: [../b]
-- ring/b/kustomization.yaml --
resources: [../a]
-- late/kustomization.yaml --
resources: [missing]
-- unused-component/kustomization.yaml --
kind: Component
`

func open(t *testing.T, at *tree.Tree) *roots.Index {
	t.Helper()
	x, err := roots.Open(at, roots.Options{}, &graph.Cache{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func build(t *testing.T, o roots.Options) *roots.Index {
	t.Helper()
	r := treetest.New(t)
	g, err := roots.Open(r.Tree(r.Commit(monorepo)), o, &graph.Cache{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func names(list []roots.Root) []string {
	names := []string{}
	for _, r := range list {
		if r.Kind == roots.Folder {
			names = append(names, r.Path+"/*")
		} else {
			names = append(names, r.Path)
		}
	}
	return names
}

func TestRoots(t *testing.T) {
	all := []string{"base/sub/*", "chart", "env/dev", "env/plug", "env/prod", "late", "plain/*", "ring/a"}
	for _, c := range []struct {
		name    string
		options roots.Options
		want    []string
	}{
		{"all", roots.Options{}, all},
		{"include", roots.Options{Include: []string{"env/**"}}, []string{"env/dev", "env/plug", "env/prod"}},
		{"exclude", roots.Options{Exclude: []string{"env/*", "**/sub", "ring/**", "chart"}}, []string{"base", "late", "plain/*"}},
		{"exact", roots.Options{Include: []string{"env/prod"}}, []string{"env/prod"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := names(build(t, c.options).InFolders()); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestChangesTouchTheRootsThatReadThem(t *testing.T) {
	g := build(t, roots.Options{})
	for _, c := range []struct {
		path string
		want []string
	}{
		{"base/deploy.yaml", []string{"env/dev", "env/prod"}},
		{"base/kustomization.yaml", []string{"env/dev", "env/prod"}},
		{"base/conf/app.ini", []string{"env/dev", "env/prod"}},
		{"base/notes.yaml", []string{}},
		{"base/sub/loose.yaml", []string{"base/sub/*"}},
		{"comp/p.yaml", []string{"env/prod"}},
		{"env/dev/dev.yaml", []string{"env/dev"}},
		{"env/dev/kustomization.yml", []string{"env/dev"}},
		{"env/plug/deep/used-by-plugin.txt", []string{"env/plug"}},
		{"plain/a.yaml", []string{"plain/*"}},
		{"plain/.hidden/x.yaml", []string{}},
		{".github/workflows/ci.yaml", []string{}},
		{"chart/templates/d.yaml", []string{"chart"}},
		{"ring/b/kustomization.yaml", []string{"ring/a"}},
		{"late/missing/kustomization.yaml", []string{"late"}},
		{"README.md", []string{}},
	} {
		t.Run(c.path, func(t *testing.T) {
			if got := names(g.Touching([]string{c.path}, nil)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if !g.Unread("base/notes.yaml") || g.Unread("base/deploy.yaml") || g.Unread("plain/a.yaml") {
		t.Error("Unread is for manifests beside a kustomization that does not name them")
	}
	if g.Manifest("env/dev/dev.yaml") || g.Manifest("chart/templates/d.yaml") || !g.Manifest("base/notes.yaml") {
		t.Error("patches and templates are no manifests, other files are")
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"**", "a/b", true}, {"a/**", "a", true}, {"a/**", "a/b/c", true}, {"a/**", "ab", false},
		{"*/b", "a/b", true}, {"*/b", "a/c/b", false}, {"**/b", "b", true}, {"**/b", "a/c/b", true},
		{"a/**/z", "a/z", true}, {"a/**/z", "a/b/c/z", true}, {"a/**/z", "az", false},
		{"a?c", "abc", true}, {"a?c", "a/c", false}, {"./a/", "a", true}, {"a.b", "axb", false}, {"a+(b)", "a+(b)", true},
	} {
		re, err := roots.Glob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := re.MatchString(c.path); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.path, got)
		}
	}
	if _, err := roots.Glob("/"); err == nil {
		t.Error("an empty pattern is accepted")
	}
}

// A base in a circle of kustomizations is reached by a change below it, from any starting point.
func TestReachThroughCircle(t *testing.T) {
	r := treetest.New(t)
	g, err := roots.Open(r.Tree(r.Commit(`
-- top/kustomization.yaml --
resources: [../a]
-- top2/kustomization.yaml --
resources: [../b]
-- a/kustomization.yaml --
resources: [../b]
-- b/kustomization.yaml --
resources: [../a, ../leaf]
-- leaf/kustomization.yaml --
resources: [x.yaml]
-- leaf/x.yaml --
a: 1
`)), roots.Options{}, &graph.Cache{})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(g.Touching([]string{"leaf/x.yaml"}, nil)); !slices.Equal(got, []string{"top", "top2"}) {
		t.Errorf("got %q", got)
	}
}
