package diff_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/checkstest"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {v: " + value + "}\n"
}

func file(path, data string) string { return "-- " + path + " --\n" + data }

const (
	kustomization = "-- app/kustomization.yaml --\nresources: [a.yaml]\n"
	embedded      = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nitems: [{apiVersion: v1, kind: Pod, " +
		"metadata: {name: b}}]\n"
)

// sides returns both sides of a change from one archive to another; the change removes the files in remove.
func sides(t *testing.T, base string, remove []string, head string) *diff.Sides {
	t.Helper()
	r := treetest.New(t)
	from := r.Commit(base)
	for _, p := range remove {
		r.Git("rm", "-q", p)
	}
	trees, _ := checkstest.Trees(t, r, from, from, r.Commit(head))
	return &diff.Sides{Trees: trees, Base: trees.Base.Roots, Head: trees.Head.Roots}
}

// words describes pairs in short.
func words(list []*diff.Pair) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, string(p.Operation)+" "+p.Root.Path+" "+diff.KeyOf(p.Resource()).Name)
	}
	slices.Sort(out)
	return out
}

func TestRender(t *testing.T) {
	app := kustomization + file("app/a.yaml", configMap("a", "x"))
	plain := file("app/a.yaml", configMap("a", "x")) + file("app/b.yaml", configMap("b", "x"))
	for _, c := range []struct {
		name, base, head string
		remove           []string
		reached, pairs   []string
		broken           string // "base" or "head"
	}{
		{"nothing deployed changes", app, file("README.txt", "x"), nil, []string{}, []string{}, ""},
		{"an edit", app, file("app/a.yaml", configMap("a", "y")), nil, []string{"app"}, []string{"UPDATE app a"}, ""},
		{"a comment", app, file("app/a.yaml", "# why\n"+configMap("a", "x")), nil, []string{"app"}, []string{}, ""},
		{"a new root", app, file("other/a.yaml", configMap("o", "x")), nil, []string{"other"}, []string{"CREATE other o"},
			""},
		{"a removed root", app, "", []string{"app/a.yaml", "app/kustomization.yaml"}, []string{"app"},
			[]string{"DELETE app a"}, ""},
		{"a part of the base does not render", "-- app/kustomization.yaml --\nresources: [a.yaml, gone.yaml]\n" + file("app/a.yaml", configMap("a",
			"x")),
			kustomization, nil, []string{"app"}, []string{}, "base"},
		{"the base does not render", "-- app/kustomization.yaml --\nresources: [a.yaml, a.yaml]\n" + file("app/a.yaml",
			configMap("a", "x")), kustomization, nil, []string{"app"}, []string{"CREATE app a"}, "base"},
		{"the head does not render: nothing is deleted", app, "-- app/kustomization.yaml --\nresources: [gone.yaml]\n", nil,
			[]string{"app"},
			[]string{}, "head"},
		{"a folder with an invalid file: its objects are not deleted", plain,
			file("app/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n") + file("app/b.yaml", configMap("b", "y")),
			nil, []string{"app"},
			[]string{"UPDATE app b"}, "head"},
		{"a folder loses a file", plain, "", []string{"app/a.yaml"}, []string{"app"}, []string{"DELETE app a"}, ""},
		{"a moved root", app, file("new/kustomization.yaml", "resources: [a.yaml]\n") + file("new/a.yaml", configMap("a",
			"x")),
			[]string{"app/a.yaml", "app/kustomization.yaml"}, []string{"app", "new"}, []string{"CREATE new a",
				"DELETE app a"}, ""},
		{"a moved root, edited", app, file("new/kustomization.yaml", "resources: [a.yaml]\n") + file("new/a.yaml",
			configMap("a", "y")),
			[]string{"app/a.yaml", "app/kustomization.yaml"}, []string{"app", "new"}, []string{"CREATE new a",
				"DELETE app a"}, ""},
		{"included in another root with a prefix, the first remains", app, file("all/kustomization.yaml", "resources: [../app]\nnamePrefix: x-\n") +
			file("app/a.yaml", configMap("a", "y")), nil, []string{"all", "app"}, []string{"CREATE all x-a", "UPDATE app a"},
			""},
		{"included in another root under the same name", app, file("all/kustomization.yaml", "resources: [../app]\n") +
			file("app/a.yaml", configMap("a", "y")), nil, []string{"all", "app"}, []string{"UPDATE all a", "UPDATE app a"}, ""},
		{"an unchanged issue", file("app/a.yaml", embedded), kustomization, nil,
			[]string{"app", "app"},
			[]string{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sides(t, c.base, c.remove, c.head)
			var list, moved []*diff.Pair
			reached, broken := []string{}, ""
			for _, root := range s.Reached() {
				reached = append(reached, root.Path)
				out, err := s.Render(t.Context(), root)
				if err != nil {
					t.Fatal(err)
				}
				list, moved = append(list, out.Pairs...), append(moved, out.Moved...)
				if len(out.Base) > 0 {
					broken += "base"
				}
				if len(out.Head) > 0 {
					broken += "head"
				}
				if out.Known != s.Trees.Head.Roots.Has(root) {
					t.Errorf("%s: known is %v", root.Path, out.Known)
				}
			}
			if got := words(diff.Join(list, moved, s.Trees.Head.Roots.Has,
				s.Trees.TookOver)); !slices.Equal(got, c.pairs) {
				t.Errorf("got %q, want %q", got, c.pairs)
			}
			if !slices.Equal(reached, c.reached) || broken != c.broken {
				t.Errorf("reached %q, broken %q", reached, broken)
			}
		})
	}
}

// With All everything in the head is created, and the base is not rendered.
func TestRenderAll(t *testing.T) {
	s := sides(t, kustomization+file("app/a.yaml", configMap("a", "x")), nil, file("b/b.yaml", configMap("b", "x")))
	s.All, s.Base = true, nil
	var got []string
	for _, root := range s.Reached() {
		out, err := s.Render(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, words(out.Pairs)...)
	}
	if want := []string{"CREATE app a", "CREATE b b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A root that the change does not affect is rendered once for both sides.
func TestRenderOnce(t *testing.T) {
	s := sides(t, kustomization+file("app/a.yaml", configMap("a", "x")), nil, file("app/README.txt", "x"))
	out, err := s.Render(t.Context(), roots.Root{Path: "app"})
	if err != nil || len(out.Pairs) > 0 || !out.Known || len(out.Deployed) != 1 || s.Work().Rendered != 1 {
		t.Errorf("%+v %+v %v", out, s.Work(), err)
	}
}
