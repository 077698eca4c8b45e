// Package treetest builds git repositories for tests.
package treetest

import (
	"crypto/sha1" //nolint:gosec // Git's ids are made with it
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render/tree"
)

// Repo is a git repository in a folder of its own, which goes with the test.
type Repo struct {
	Dir    string // the work tree
	GitDir string
	Date   string // of commits
	t      testing.TB
	packed map[[sha1.Size]byte]bool // objects that commit wrote
	byGit  bool                     // git keeps the index of the work tree, so that commits are its own
}

// New makes an empty repository.
func New(t testing.TB) *Repo {
	t.Helper()
	dir := t.TempDir()
	r := &Repo{Dir: dir, GitDir: filepath.Join(dir, ".git"), Date: "2024-01-02T03:04:05Z", t: t,
		packed: map[[sha1.Size]byte]bool{}}
	r.start()
	return r
}

// Git runs git in the repository and returns its output.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	switch args[0] {
	case "cat-file", "count-objects", "fsck", "ls-tree", "rev-list", "rev-parse", "tag": // they have no use for an index
	default:
		r.index()
	}
	return r.git(args...)
}

// index has git keep the index of the work tree from now on.
func (r *Repo) index() {
	r.t.Helper()
	if r.byGit {
		return
	}
	r.byGit = true
	if heads, _ := os.ReadDir(filepath.Join(r.GitDir, "refs", "heads")); len(heads) > 0 {
		r.git("reset", "--quiet")
	}
}

func (r *Repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git",
		append([]string{"-C", r.Dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"},
			args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE="+r.Date, "GIT_COMMITTER_DATE="+r.Date)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit writes the files of a txtar archive over what is there, commits everything and returns the commit.
func (r *Repo) Commit(archive string) string {
	r.t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		r.Write(f.Name, string(f.Data))
	}
	return r.Snapshot()
}

// Write writes one file of the work tree, in place of a file or a link that is there.
func (r *Repo) Write(name, data string) {
	r.t.Helper()
	p := r.place(name)
	if _, err := os.Readlink(p); err == nil {
		r.Remove(name)
	}
	if err := os.WriteFile(p, []byte(data), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Remove removes a file, a symbolic link, or a folder with all that is in it, of the work tree.
func (r *Repo) Remove(name string) {
	r.t.Helper()
	p := filepath.Join(r.Dir, name)
	_, err := os.Lstat(p)
	if err = errors.Join(err, os.RemoveAll(p)); err != nil {
		r.t.Fatal(err)
	}
}

// Symlink makes a symbolic link in the work tree, in place of a file or a link that is there.
func (r *Repo) Symlink(target, name string) {
	r.t.Helper()
	p := r.place(name)
	if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, p); err != nil {
		r.t.Fatal(err)
	}
}

// place returns the path of a file of the work tree, for which it makes the folder.
func (r *Repo) place(name string) string {
	r.t.Helper()
	p := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// Snapshot commits the work tree and returns the commit.
func (r *Repo) Snapshot() string {
	r.t.Helper()
	if !r.byGit {
		commit, err := r.commit()
		if err == nil {
			return commit
		} else if !errors.Is(err, errByGit) {
			r.t.Fatal(err)
		}
	}
	r.index()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", "change")
	return r.git("rev-parse", "HEAD")
}

// Objects opens the repository for reading until the test ends.
func (r *Repo) Objects() *tree.Objects {
	r.t.Helper()
	o, err := tree.Open(r.t.Context(), tree.Config{GitDir: r.GitDir})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = o.Close() })
	return o
}

// Tag names the commit of HEAD.
func (r *Repo) Tag(name string) {
	r.t.Helper()
	file := filepath.Join(r.GitDir, "refs", "tags", name)
	if err := os.WriteFile(file, []byte(r.Rev("HEAD")+"\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Rev returns the object id that a revision names: HEAD, a branch, a tag, or whatever "git rev-parse" understands.
func (r *Repo) Rev(rev string) string {
	r.t.Helper()
	for _, name := range []string{rev, "refs/tags/" + rev, "refs/heads/" + rev} {
		text, err := os.ReadFile(filepath.Join(r.GitDir, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		if branch, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: "); ok {
			return r.Rev(branch)
		}
		return strings.TrimSpace(string(text))
	}
	return r.git("rev-parse", rev)
}

// Tree opens the tree of a revision.
func (r *Repo) Tree(rev string) *tree.Tree {
	r.t.Helper()
	t, err := r.Objects().Tree(rev)
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// Lose removes an object, as a damaged repository or a partial clone lacks it, and returns the file to put it back.
func (r *Repo) Lose(id string) (file string, object []byte) {
	r.t.Helper()
	r.unpack()
	file = filepath.Join(r.GitDir, "objects", id[:2], id[2:])
	object, err := os.ReadFile(file)
	if err = errors.Join(err, os.Remove(file)); err != nil {
		r.t.Fatal(err)
	}
	return file, object
}

// unpack makes a file of each object that commit packed.
func (r *Repo) unpack() {
	r.t.Helper()
	packs, err := filepath.Glob(filepath.Join(r.GitDir, "objects", "pack", "*.pack"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range packs {
		pack, err := os.Open(name)
		if err != nil {
			r.t.Fatal(err)
		}
		err = errors.Join(os.Remove(name), os.Remove(strings.TrimSuffix(name, "pack")+"idx"))
		cmd := exec.Command("git", "-C", r.Dir, "unpack-objects", "-q")
		cmd.Stdin = pack
		if err = errors.Join(err, cmd.Run(), pack.Close()); err != nil {
			r.t.Fatal(err)
		}
	}
}
