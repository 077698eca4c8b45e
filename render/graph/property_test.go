package graph_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// editor makes random edits of a repository like those of people, in so few places that they affect each other.
type editor struct {
	*treetest.Repo
	*rand.Rand
}

var (
	editDirs = []string{"base", "base/sub", "env/a", "env/b", "env/b/deep", "comp", "chart/templates", "chart",
		".hidden", "plain", "."}
	editFiles = []string{"a.yaml", "b.yaml", "c.json", "kustomization.yaml", "kustomization.yaml", "kustomization.yaml",
		"kustomization.yml", "Kustomization", "notes.txt"}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (e editor) target(from string) string {
	to := pick(e.Rand, editDirs)
	if e.IntN(2) == 0 {
		to = filepath.Join(to, pick(e.Rand, editFiles))
	}
	if e.IntN(3) == 0 {
		to = pick(e.Rand, []string{"link", "link/a.yaml", "link/sub", "missing", "missing/sub"})
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return to
	}
	return rel
}

func (e editor) kustomization(dir string) string {
	var b strings.Builder
	if e.IntN(6) == 0 {
		b.WriteString("kind: Component\n")
	}
	for _, field := range []string{"resources", "components", "transformers"} {
		if e.IntN(3) > 0 && field != "resources" {
			continue
		}
		b.WriteString(field + ":\n")
		for range e.IntN(3) {
			fmt.Fprintf(&b, "- %s\n", e.target(dir))
		}
	}
	fmt.Fprintf(&b, "configMapGenerator: [{name: x, files: [k=%s]}]\n", e.target(dir))
	if e.IntN(10) == 0 {
		b.WriteString("broken: [\n")
	}
	return b.String()
}

func (e editor) edit(t *testing.T) {
	dir := pick(e.Rand, editDirs)
	name := filepath.Join(dir, pick(e.Rand, editFiles))
	full := filepath.Join(e.Dir, name)
	switch n := e.IntN(20); {
	case n < 4:
		if err := os.Remove(full); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	case n == 4:
		if err := os.RemoveAll(filepath.Join(e.Dir, "env")); err != nil {
			t.Fatal(err)
		}
	case n == 5:
		_ = os.Remove(filepath.Join(e.Dir, "link"))
		e.Symlink(pick(e.Rand, editDirs), "link")
	case n == 6:
		_ = os.Remove(filepath.Join(e.Dir, "link"))
	case n == 7:
		_ = os.Remove(full)
		e.Symlink(pick(e.Rand, editFiles), name)
	case n == 8:
		e.Write("chart/Chart.yaml", "name: c\n")
	case n == 9:
		_ = os.Remove(filepath.Join(e.Dir, "chart/Chart.yaml"))
	default:
		_ = os.Remove(full) // it may be a symlink
		text := pick(e.Rand, []string{"kind: Namespace\n", "kind: \"ConfigMap\"\n", "MARK\n",
			"kind: \"Name\\x73pace\"\n", "\"M\\u0041RK\": 1\n",
			"{\"kind\":\"Secret\",\"MARK\":1}\n", "a: 1\n",
			"apiVersion: v1\nkind: Pod\n"})
		if kustomization.IsFileName(name) {
			text = e.kustomization(dir)
		}
		e.Write(name, text)
	}
}

// A graph that starts from another tree's index is equal to one that reads the whole tree, and both are equal to the
// definition.
func TestDerivedGraphEqualsOneThatReadsTheTree(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			e := editor{treetest.New(t), rand.New(rand.NewPCG(uint64(seed), 1))}
			disk, err := env.OpenDisk(t.TempDir(), 0)
			if err != nil {
				t.Fatal(err)
			}
			memory := &env.Memory{} // of all graphs but those that are built anew
			warm := &graph.Cache{Memory: memory}
			derived := 0
			for range 25 {
				if e.IntN(4) == 0 {
					warm = &graph.Cache{Memory: memory} // later graphs start from this one
				}
				for range 1 + e.IntN(6) {
					e.edit(t)
				}
				tr := e.Tree(e.Snapshot())
				g := mustOpen(t, tr, warm)
				compare(t, g, newNaive(t, tr), tr, e.Rand)
				if g.Derived() {
					derived++
				}
				fresh := mustOpen(t, tr, &graph.Cache{})
				for _, dir := range editDirs {
					if got, want := g.NamedBy(dir), fresh.NamedBy(dir); !slices.Equal(got, want) {
						t.Fatalf("%s is named by %q, want %q", dir, got, want)
					}
				}
				fromDisk := mustOpen(t, tr, &graph.Cache{Disk: disk, Memory: memory})
				for name, g := range map[string]*roots.Index{"derived": g, "built": fresh, "from disk": fromDisk} {
					if err := g.Settle(); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(g.Snapshot(), fresh.Snapshot()) {
						t.Fatalf("the index %s differs from the one built", name)
					}
				}
				compare(t, g, newNaive(t, tr), tr, e.Rand)
			}
			if derived == 0 {
				t.Error("no graph was derived")
			}
		})
	}
}

func mustOpen(t *testing.T, tr *tree.Tree, c *graph.Cache) *roots.Index {
	t.Helper()
	g, err := roots.Open(tr, roots.Options{Marks: []string{"MARK"}}, c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func compare(t *testing.T, g *roots.Index, n *naive, tr *tree.Tree, r *rand.Rand) {
	t.Helper()
	if got := g.InFolders(); !slices.Equal(got, n.roots) {
		t.Fatalf("roots: got %v, want %v", got, n.roots)
	}
	var paths, marked, namespaces []string
	_ = tr.Walk(func(p string, e tree.Entry) error {
		paths = append(paths, p)
		manifest := (graph.IsManifestName(p) || e.Kind == tree.File && g.IsResource(p)) && !kustomization.IsFileName(p)
		text := strings.NewReplacer(`\x73`, "s", `\u0041`, "A").Replace(n.texts[p])
		if manifest && strings.Contains(text, "MARK") {
			marked = append(marked, p)
		}
		if manifest && (e.Kind == tree.Symlink || strings.Contains(text, "Namespace")) ||
			kustomization.IsFileName(p) && e.Kind == tree.Symlink {
			namespaces = append(namespaces, p)
		}
		return nil
	})
	if got := g.Marked(); !slices.Equal(got, marked) {
		t.Fatalf("marked: got %q, want %q", got, marked)
	}
	if got := g.Mentions("Namespace"); !slices.Equal(got, namespaces) {
		t.Fatalf("mentions: got %q, want %q", got, namespaces)
	}
	for _, dir := range editDirs {
		root, plain := roots.Root{Path: dir}, roots.Root{Path: dir, Kind: roots.Folder}
		if g.IsRoot(root) != slices.Contains(n.roots, root) || g.IsRoot(plain) != slices.Contains(n.roots, plain) {
			t.Fatalf("has %s: %v, %v", dir, g.IsRoot(root), g.IsRoot(plain))
		}
		if !slices.Equal(g.Files(plain), n.plain[dir]) {
			t.Fatalf("plain %s: got %q, want %q", dir, g.Files(plain), n.plain[dir])
		}
	}
	paths = append(paths, "missing", "missing/sub/x.yaml", "env/a/a.yaml", "env/a/kustomization.yaml")
	for _, p := range paths {
		if got, want := g.Touching([]string{p}, nil), n.reach([]string{p}); !slices.Equal(got, want) {
			t.Fatalf("reach %s: got %v, want %v", p, got, want)
		}
		if g.Unread(p) != n.unread[p] {
			t.Fatalf("%s: unread %v", p, g.Unread(p))
		}
	}
	several := []string{pick(r, paths), pick(r, paths), pick(r, paths)}
	if got, want := g.Touching(several, nil), n.reach(several); !slices.Equal(got, want) {
		t.Fatalf("reach %q: got %v, want %v", several, got, want)
	}
}
