package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A file that was edited in the same instant as it was added to the index, and is as long as before, is read again: all
// that tells is that the index is no younger than the file.
func TestSnapshotReadsRacyFiles(t *testing.T) {
	dir := t.TempDir()
	file, at := filepath.Join(dir, "a.yaml"), time.Now().Add(-time.Minute).Truncate(time.Second)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return string(out)
	}
	git("init", "--quiet")
	git("config", "core.trustctime", "false")
	write("k: 1\n")
	git("add", "--all")
	write("k: 2\n")
	if err := os.Chtimes(filepath.Join(dir, ".git", "index"), at, at); err != nil {
		t.Fatal(err)
	}
	repo, err := openRepository(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	tree, objects, err := repo.snapshot(t.Context(), inTree)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(objects))
	t.Setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
	if got := git("show", tree+":a.yaml"); got != "k: 2\n" {
		t.Errorf("the snapshot has %q", got)
	}
}

// What git says of a repository is taken by lines: a folder that has a line break in its name is refused, and not misread.
func TestRepositoriesWithALineBreakInTheirPathAreRefused(t *testing.T) {
	for _, name := range []string{"plain", "two\nlines"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "-C", dir, "init", "--quiet").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		r, err := openRepository(t.Context(), dir)
		if refused := name != "plain"; refused != (err != nil) {
			t.Errorf("%q: %+v, %v", name, r, err)
		}
	}
}
