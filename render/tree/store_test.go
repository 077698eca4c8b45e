package tree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Blobs returns the same as single reads, in the given order, with the errors of files that cannot be read.
func TestBlobs(t *testing.T) {
	r := treetest.New(t)
	const count = 1000 // several batches
	for i := range count {
		r.Write(fmt.Sprintf("d/%03d", i), strings.Repeat("x", i))
	}
	tr := r.Tree(r.Snapshot())
	entries, err := tr.ReadDir("d")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	ids[7], ids[500] = strings.Repeat("0", 40), tr.ID()
	for i, c := range tr.Blobs(ids) {
		switch {
		case i == 7:
			if !errors.Is(c.Err, tree.ErrNoObject) {
				t.Errorf("a missing object: %v", c.Err)
			}
		case i == 500:
			if c.Err == nil {
				t.Error("a folder is read as a file")
			}
		case c.Err != nil || len(c.Data) != i:
			t.Fatalf("%d: %d bytes, %v", i, len(c.Data), c.Err)
		}
	}
	if out := tr.Blobs(nil); len(out) != 0 {
		t.Errorf("got %d answers to nothing", len(out))
	}
}

// A cached file that is larger than the reader's limit gives an error.
func TestStoreKeepsLimits(t *testing.T) {
	r := treetest.New(t)
	r.Write("large", strings.Repeat("x", 100))
	commit := r.Snapshot()
	store := &tree.Store{}
	open := func() (*tree.Objects, *tree.Tree) {
		o, err := tree.Open(t.Context(), tree.Config{GitDir: r.GitDir, Store: store})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = o.Close() })
		tr, err := o.Tree(commit)
		if err != nil {
			t.Fatal(err)
		}
		return o, tr
	}
	_, tr := open()
	if data, _, err := tr.ReadFile("large"); err != nil || len(data) != 100 {
		t.Fatal(err)
	}
	o, tr := open()
	o.SetBlobLimit(10)
	var large *tree.TooLargeError
	_, id, err := tr.ReadFile("large")
	if !errors.As(err, &large) || large.Limit != 10 {
		t.Errorf("got %v", err)
	}
	if out := tr.Blobs([]string{id}); !errors.As(out[0].Err, &large) {
		t.Errorf("got %v", out[0].Err)
	}
	if _, err := tr.ReadDir("."); err != nil {
		t.Errorf("the limit of files holds for folders: %v", err)
	}
}

// A folder that cannot be read looks empty, but Err returns the error.
func TestErr(t *testing.T) {
	r := treetest.New(t)
	r.Write("a/b/c", "x")
	tr, o := r.Tree(r.Snapshot()), r.Objects()
	if _, err := tr.Entry("missing"); !errors.Is(err, tree.ErrNotExist) || o.Err() != nil {
		t.Fatal(err, o.Err())
	}
	r.Lose(r.Rev("HEAD:a/b"))
	tr, err := o.Tree("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Sibling(strings.Repeat("1", 40)); !errors.Is(err, tree.ErrNoObject) || o.Err() != nil {
		t.Errorf("asking for a tree that may be gone: %v, %v", err, o.Err())
	}
	if _, err := tr.Entry("a/b/c"); err == nil || errors.Is(err, tree.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if o.Err() == nil {
		t.Error("nobody knows that the repository is damaged")
	}
}
