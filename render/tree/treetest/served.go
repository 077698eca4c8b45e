package treetest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Served makes a bare repository for a server of a test, and a repository with a work tree that writes its objects
// there: Publish then does what a push does, without processes. config is added to what configures the bare one. Git
// packs neither by itself.
func Served(t testing.TB, bare, work, config string) {
	t.Helper()
	for _, args := range [][]string{{"--bare", bare}, {work}} {
		args = append([]string{"init", "--quiet", "--template=", "--initial-branch=main"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	own := filepath.Join(work, ".git")
	objects := filepath.Join(own, "objects")
	if err := errors.Join(os.RemoveAll(objects), os.Symlink(filepath.Join(bare, "objects"), objects),
		configure(bare, config),
		configure(own, "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")); err != nil {
		t.Fatal(err)
	}
}

// configure adds text to the configuration of a repository.
func configure(gitDir, text string) error {
	file, err := os.OpenFile(filepath.Join(gitDir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// Publish has a reference of a bare repository name a commit.
func Publish(t testing.TB, bare, ref, commit string) {
	t.Helper()
	file := filepath.Join(bare, filepath.FromSlash(ref))
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err = errors.Join(err, os.WriteFile(file, []byte(commit+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
}
