package render_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// ownSchema has one kustomization whose schema merges the lists of a custom kind by name, and one without a schema,
// where the same patch replaces the list. If the schema leaked from one build into the other, the result would differ.
const ownSchema = `
-- schema/own/kustomization.yaml --
resources: [../base]
openapi: {path: schema.json}
patches: [{path: patch.yaml}]
-- schema/own/schema.json --
{"definitions": {"example.com.v1.Thing": {"properties": {"spec": {"properties": {"parts": {"type": "array",
  "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
  "items": {"properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}}}}},
  "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Thing", "version": "v1"}]}}}
-- schema/own/patch.yaml --
apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec: {parts: [{name: b, size: 20}]}
-- schema/base/kustomization.yaml --
resources: [thing.yaml]
-- schema/base/thing.yaml --
apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec: {parts: [{name: a, size: 1}, {name: b, size: 2}]}
-- schema/none/kustomization.yaml --
resources: [../base]
patches: [{path: patch.yaml}]
-- schema/none/patch.yaml --
apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec: {parts: [{name: b, size: 20}]}
-- schema/crash/kustomization.yaml --
resources: [../base]
replacements: [{source: {kind: Thing}, targets: [null]}]
-- schema/twin/kustomization.yaml --
resources: [../base]
namespace: ns
labels: [{pairs: {a: b}, includeSelectors: true}]
`

// Concurrent builds give the same bytes as single ones, also beside builds that set a schema and builds that crash.
func TestParallelBuilds(t *testing.T) {
	r := treetest.New(t)
	for _, sample := range []string{"sample", "origins"} {
		if err := os.CopyFS(filepath.Join(r.Dir, sample), os.DirFS(filepath.Join("..", "testdata", sample))); err != nil {
			t.Fatal(err)
		}
	}
	tr := r.Tree(r.Commit(ownSchema))
	g, err := deploy.Open(tr, roots.Options{}, &graph.Cache{}, render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	known := g.All()
	if len(known) < 10 {
		t.Fatalf("only %d roots", len(known))
	}
	print := func(root roots.Root) string {
		out, problems, err := g.Render(context.Background(), root)
		if err != nil {
			return err.Error()
		}
		text, err := out.YAML()
		return fmt.Sprint(string(text), problems, err)
	}
	want := map[roots.Root]string{}
	for _, root := range known {
		want[root] = print(root)
	}
	own, none := want[roots.Root{Path: "schema/own"}], want[roots.Root{Path: "schema/none"}]
	if !bytes.Contains([]byte(own), []byte("name: a")) || bytes.Contains([]byte(none), []byte("name: a")) {
		t.Fatalf("the schema makes no difference:\n%s\n%s", own, none)
	}
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for round := range rounds {
				for i := range known {
					root := known[(i*(2*worker+1)+round)%len(known)]
					if got := print(root); got != want[root] {
						t.Errorf("%v differs beside others:\n%s\nalone:\n%s", root, got, want[root])
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// Same is true for a tree exactly if nothing differs that the rendering read, looked for or followed.
func TestParallelRenderingsAreEqual(t *testing.T) {
	r := treetest.New(t)
	r.Symlink("../base", "env/link")
	base := r.Tree(r.Commit(`
-- env/kustomization.yaml --
resources: [link]
patches: [{path: p.yaml}]
-- env/p.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}
-- base/kustomization.yaml --
resources: [c.yaml]
-- base/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- other/kustomization.yaml --
resources: [c.yaml]
-- other/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- README.md --
x
`))
	of := func(at *tree.Tree) *deploy.Set {
		set, err := deploy.Open(at, roots.Options{}, &graph.Cache{}, render.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	out, problems, err := of(base).Render(t.Context(), roots.Root{Path: "env"})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if !of(base).Same(out) {
		t.Fatal("differs in its own tree")
	}
	for _, c := range []struct {
		name string
		edit func()
		want bool
	}{
		{"change of an unrelated file", func() { r.Write("README.md", "y") }, true},
		{"new file in the folder", func() { r.Write("base/new.yaml", "a: b") }, true},
		{"change of a resource", func() {
			r.Write("base/c.yaml",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: y}}")
		}, false},
		{"removal of a patch", func() { os.Remove(filepath.Join(r.Dir, "env/p.yaml")) }, false},
		{"file that did not exist before", func() { r.Write("env/kustomization.yml", "{}") }, false},
		{"change of a symlink", func() { os.Remove(filepath.Join(r.Dir, "env/link")); r.Symlink("../other", "env/link") },
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.edit()
			if got := of(r.Tree(r.Snapshot())).Same(out); got != c.want {
				t.Errorf("got %v", got)
			}
			r.Git("reset", "--quiet", "--hard", "HEAD~1")
		})
	}
}
