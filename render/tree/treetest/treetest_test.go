package treetest_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A repository that is written without git is the one that git writes, and git goes on with it.
func TestSameAsGit(t *testing.T) {
	write := func(r *treetest.Repo, step int) {
		switch step {
		case 1:
			r.Write("a/b.yaml", "b: 1\n")
			r.Write("a.yaml", "a: 1\n")
			r.Write("a-b/c", "c")
			r.Symlink("a.yaml", "link")
			r.Write("run", "#!/bin/sh\n")
			if err := errors.Join(os.Chmod(filepath.Join(r.Dir, "run"), 0o755), os.MkdirAll(filepath.Join(r.Dir, "empty", "too"), 0o755)); err != nil {
				t.Fatal(err)
			}
		case 2:
			r.Write("a.yaml", "a: 2\n")
			if err := os.Remove(filepath.Join(r.Dir, "a-b", "c")); err != nil {
				t.Fatal(err)
			}
		case 3:
			r.Write(".gitignore", "ignored\n")
			r.Write("ignored", "x\n")
		case 4:
			r.Git("rm", "--quiet", "-r", "a")
		}
	}
	plain, byGit := treetest.New(t), treetest.New(t)
	byGit.Git("status") // from here on git has the index
	for step := range 5 {
		write(plain, step)
		write(byGit, step)
		if got, want := plain.Snapshot(), byGit.Snapshot(); got != want || plain.Rev("HEAD") != want {
			t.Errorf("step %d: commit %s, of git %s", step, got, want)
		}
		plain.Tag("v1")
		if got := plain.Rev("v1"); got != byGit.Rev("HEAD") {
			t.Errorf("step %d: the tag is at %s", step, got)
		}
		if step > 2 {
			if status := plain.Git("status", "--porcelain"); status != "" {
				t.Errorf("step %d: %s", step, status)
			}
		}
		plain.Git("fsck", "--strict")
	}
}
