package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

func TestReadFile(t *testing.T) {
	r := treetest.New(t)
	r.Commit("-- a/b/c.yaml --\nkind: A\n-- top.yaml --\nx: 1\n")
	r.Symlink("b/c.yaml", "a/link.yaml")
	r.Symlink("../a", "dirs/a")
	r.Symlink("loop2", "loop1")
	r.Symlink("loop1", "loop2")
	r.Symlink("../../outside", "a/out")
	r.Symlink("/etc/passwd", "abs")
	tr := r.Tree(r.Snapshot())
	for _, c := range []struct {
		path, want string
		missing    bool
	}{
		{path: "a/b/c.yaml", want: "kind: A\n"},
		{path: "./a//b/../b/c.yaml", want: "kind: A\n"},
		{path: "a/link.yaml", want: "kind: A\n"},
		{path: "dirs/a/b/c.yaml", want: "kind: A\n"},
		{path: "dirs/a/link.yaml", want: "kind: A\n"},
		{path: "top.yaml", want: "x: 1\n"},
		{path: "loop1", missing: true},
		{path: "a/out", missing: true},
		{path: "abs", missing: true},
		{path: "../top.yaml", missing: true},
		{path: "/top.yaml", missing: true},
		{path: "a", missing: true},
		{path: "top.yaml/x", missing: true},
		{path: "nothing", missing: true},
		{path: "a\x00b", missing: true},
	} {
		data, _, err := tr.ReadFile(c.path)
		if c.missing {
			if !errors.Is(err, tree.ErrNotExist) {
				t.Errorf("%q: %v, want ErrNotExist", c.path, err)
			}
			continue
		}
		if err != nil || string(data) != c.want {
			t.Errorf("%q: %q, %v, want %q", c.path, data, err, c.want)
		}
	}
}

func TestDiff(t *testing.T) {
	r := treetest.New(t)
	from := r.Commit("-- a/one.yaml --\n1\n-- a/two.yaml --\n2\n-- same/x --\nx\n-- was-file --\n1\n")
	r.Git("rm", "-q", "a/two.yaml", "was-file")
	to := r.Commit("-- a/one.yaml --\n1b\n-- b/three.yaml --\n3\n-- was-file/inner --\n1\n")
	o := r.Objects()
	x, err := o.Tree(from)
	if err != nil {
		t.Fatal(err)
	}
	y, err := o.Tree(to)
	if err != nil {
		t.Fatal(err)
	}
	describe := func(list []tree.Difference) []string {
		var out []string
		for _, d := range list {
			out = append(out, fmt.Sprintf("%s %v %v", d.Path, d.Old != nil, d.New != nil))
		}
		return out
	}
	list, err := tree.Diff(x, y)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a/one.yaml true true", "a/two.yaml true false", "b/three.yaml false true", "was-file true false",
		"was-file/inner false true"}
	if got := describe(list); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if list, err = tree.Diff(o.Empty(), x); err != nil || len(list) != 4 {
		t.Errorf("against nothing: %q, %v", describe(list), err)
	}
	if list, err = tree.Diff(x, x); err != nil || len(list) != 0 {
		t.Errorf("against itself: %q, %v", describe(list), err)
	}
}

func TestUnusualRevisions(t *testing.T) {
	r := treetest.New(t)
	commit := r.Commit("-- a --\n1\n")
	r.Git("tag", "-a", "-m", "m", "v1")
	o := r.Objects()
	for _, rev := range []string{commit, "v1", "v1^{tree}", "HEAD"} {
		if _, err := o.Tree(rev); err != nil {
			t.Errorf("%s: %v", rev, err)
		}
	}
	for _, rev := range []string{"", "no such", "0000000000000000000000000000000000000001", "HEAD:a", "x\ny"} {
		if _, err := o.Tree(rev); err == nil {
			t.Errorf("%q: no error", rev)
		}
	}
	if _, err := o.Tree("nothing"); !errors.Is(err, tree.ErrNoObject) {
		t.Errorf("got %v, want ErrNoObject", err)
	}
	if _, err := o.Tree("HEAD"); err != nil {
		t.Errorf("after errors: %v", err)
	}
}

func TestLargeBlob(t *testing.T) {
	r := treetest.New(t)
	rev := r.Commit("-- big --\n" + strings.Repeat("x", 2000) + "\n-- small --\n1\n")
	o, err := tree.Open(t.Context(), tree.Config{GitDir: r.GitDir, BlobLimit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	tr, err := o.Tree(rev)
	if err != nil {
		t.Fatal(err)
	}
	var large *tree.TooLargeError
	if _, _, err := tr.ReadFile("big"); !errors.As(err, &large) || large.Path != "big" || large.Size != 2001 {
		t.Errorf("got %v", err)
	}
	if data, _, err := tr.ReadFile("small"); err != nil || string(data) != "1\n" {
		t.Errorf("after a large one: %q, %v", data, err)
	}
}

func TestLastChange(t *testing.T) {
	r := treetest.New(t)
	r.Commit("-- a --\n1\n-- b --\n1\n")
	head := r.Commit("-- b --\n2\n")
	has := func(path string) func(*tree.Tree) bool {
		return func(t *tree.Tree) bool { _, err := t.Entry(path); return err == nil }
	}
	if at, ok := r.Objects().LastChange(head, has("a")); !ok || at.Year() != 2024 {
		t.Errorf("got %v, %v", at, ok)
	}
	if _, ok := r.Objects().LastChange(head, has("none")); ok {
		t.Error("what never was has a time")
	}
	if _, ok := r.Objects().LastChange(r.Rev(head+"^{tree}"), has("a")); ok {
		t.Error("a tree has a time")
	}
}

func TestClosed(t *testing.T) {
	r := treetest.New(t)
	rev := r.Commit("-- a --\n1\n")
	o, err := tree.Open(t.Context(), tree.Config{GitDir: r.GitDir})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Tree(rev); err == nil {
		t.Error("a closed repository answers")
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00aaaaaaaaaaaaaaaaaaaa"), 20)
	f.Add([]byte("40000 d\x00"), 20)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		list, err := tree.ParseTree(data, 1+abs(n)%64)
		if err != nil {
			return
		}
		if !slices.IsSortedFunc(list, func(a, b tree.Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Error("not sorted")
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

// Missing files of a partial clone are reported once, for all requested files.
func TestAbsent(t *testing.T) {
	r := treetest.New(t)
	rev := r.Commit("-- a --\n1\n-- b --\n2\n-- c --\n3\n-- d --\n4\n")
	var ids []string
	for _, name := range []string{"a", "b", "c"} {
		id := r.Rev(rev + ":" + name)
		ids = append(ids, id)
		r.Lose(id)
	}
	o := r.Objects()
	tr, err := o.Tree(rev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Sibling(ids[0]); !errors.Is(err, tree.ErrNoObject) || o.Absent() {
		t.Errorf("a tree that may be gone: %v, %v", err, o.Err())
	}
	var absent *tree.AbsentError
	if _, _, err := tr.ReadFile("a"); !errors.As(err, &absent) || !slices.Equal(absent.IDs, ids[:1]) ||
		!errors.Is(err, tree.ErrNoObject) || strings.Contains(err.Error(), r.Dir) {
		t.Errorf("ReadFile: %v", err)
	}
	got := o.Blobs([]string{ids[1], r.Rev(rev + ":d"), ids[2]})
	if !errors.As(got[0].Err, &absent) || string(got[1].Data) != "4\n" || !errors.As(got[2].Err, &absent) {
		t.Errorf("Blobs: %+v", got)
	}
	slices.Sort(ids)
	if !errors.As(o.Err(), &absent) || absent.GitDir != r.GitDir || !slices.Equal(absent.IDs, ids) || !o.Absent() {
		t.Errorf("Err: %v", o.Err())
	}
}
