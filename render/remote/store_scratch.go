package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// refsDir has a reference for each tree in the store, so that git keeps it.
const refsDir = "refs/sources"

// Isolated returns the environment for a git that is only configured by the given pairs.
func (s *Store) Isolated(pairs ...string) []string {
	env := append(gitcmd.Isolated(filepath.Join(s.o.Dir, scratchDir)), "PATH="+filepath.Dir(s.git),
		"GIT_LFS_SKIP_SMUDGE=1",
		"GIT_NO_REPLACE_OBJECTS=1", "NO_PROXY=*", "no_proxy=*")
	own := []string{"core.bigFileThreshold", "16m", "fastimport.unpackLimit", "1", "fetch.unpackLimit", "1",
		"core.protectNTFS", "false", "core.protectHFS", "false"}
	return append(env, gitcmd.Configured(slices.Concat(gitcmd.Closed(), own, pairs)...)...)
}

// run runs git in the store, isolated.
func (s *Store) run(ctx context.Context, c gitcmd.Call) ([]byte, error) {
	c.Git, c.Dir, c.Options, c.Env = s.git, s.o.Dir, []string{"--git-dir=" + s.GitDir()}, s.Isolated()
	return c.Run(ctx)
}

// Scratch is a repository for objects on their way into the store. Objects of the store can be read in it.
type Scratch struct {
	store *Store
	Dir   string
}

// Scratch makes an empty repository; Close removes it.
func (s *Store) Scratch() (*Scratch, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.o.Dir, scratchDir), "git-")
	if err != nil {
		return nil, fmt.Errorf("writing the store: %w", WithoutPath(err))
	}
	err = skeleton(dir)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "objects/info/alternates"), []byte(filepath.Join(s.GitDir(), "objects")+"\n"),
			0o600)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("writing the store: %w", WithoutPath(err))
	}
	return &Scratch{store: s, Dir: dir}, nil
}

// Close removes the scratch repository.
func (s *Scratch) Close() { _ = os.RemoveAll(s.Dir) } // if it fails, Maintain does

// Run runs git in the scratch repository, isolated.
func (s *Scratch) Run(ctx context.Context, c gitcmd.Call) ([]byte, error) {
	c.Git = s.store.git
	c.Options = append(c.Options, "--literal-pathspecs", "--no-replace-objects", "--git-dir="+s.Dir)
	c.Dir = s.Dir
	if c.Env == nil {
		c.Env = s.store.Isolated()
	}
	return c.Run(ctx)
}

// Size returns the size of the scratch repository's objects in bytes.
func (s *Scratch) Size() int64 { return Size(filepath.Join(s.Dir, "objects")) }

// Size returns the size of the files in a folder. Files that are removed meanwhile do not count.
func Size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // removed meanwhile
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// Import moves the objects into the store. The reference of key then keeps a tree or a commit.
func (s *Scratch) Import(ctx context.Context, key, id string) error {
	unlock, err := s.store.using(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.move(); err != nil {
		return fmt.Errorf("writing the store: %w", WithoutPath(err))
	}
	return s.store.write(filepath.Join(s.store.GitDir(), filepath.FromSlash(refsDir), key), []byte(id+"\n"))
}

// move moves objects and packs. The index of a pack is moved last, because it makes the pack visible.
func (s *Scratch) move() error {
	var first, last []string
	objects := filepath.Join(s.Dir, "objects")
	err := filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(objects, path)
		switch {
		case err != nil || strings.HasPrefix(name, "info"+string(filepath.Separator)) ||
			strings.HasPrefix(d.Name(), "tmp_"):
		case strings.HasSuffix(name, ".idx"):
			last = append(last, name)
		default:
			first = append(first, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range append(first, last...) {
		to := filepath.Join(s.store.GitDir(), "objects", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(objects, name), to); err != nil {
			return err
		}
	}
	return nil
}

// Missing returns the trees that the store does not have.
func (s *Store) Missing(ctx context.Context, trees []string) (map[string]bool, error) {
	missing := map[string]bool{}
	if len(trees) == 0 {
		return missing, nil
	}
	out, err := s.run(ctx, gitcmd.Call{Args: []string{"cat-file", "--batch-check=%(objecttype)"},
		Stdin: strings.Join(trees, "\n") + "\n", Max: int64(len(trees))*100 + 1000})
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(trees) {
		return nil, errors.New("reading the store: git gave an unexpected answer")
	}
	for i, line := range lines {
		if line != "tree" {
			missing[trees[i]] = true
		}
	}
	return missing, nil
}

// TreeFile is a file to be written to a tree.
type TreeFile struct {
	Name string // slash path below the top
	Data []byte
}

// WriteFiles writes files as a tree that the reference of key keeps, and returns its object id. A later file replaces
// an earlier one with the same name.
func (s *Store) WriteFiles(ctx context.Context, key string, files []TreeFile) (tree string, err error) {
	// Git does not write objects that the store has, so these must not be removed before the reference exists.
	unlock, err := s.using(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	scratch, err := s.Scratch()
	if err != nil {
		return "", err
	}
	defer scratch.Close()
	out, err := scratch.Run(ctx, gitcmd.Call{Args: []string{"fast-import", "--quiet", "--done"}, Stdin: stream(files)})
	if err != nil {
		return "", fmt.Errorf("writing the store: %w", err)
	}
	// "ls" of the top folder prints "040000 tree ID\t".
	fields := strings.Fields(string(out))
	if len(fields) != 3 || fields[1] != "tree" {
		return "", fmt.Errorf("writing the store: git gave an unexpected answer")
	}
	return fields[2], scratch.Import(ctx, key, fields[2])
}

// stream returns input for git-fast-import(1): one commit with the wanted tree.
func stream(files []TreeFile) string {
	var b strings.Builder
	size := 200
	for _, f := range files {
		size += len(f.Data) + len(f.Name) + 60
	}
	b.Grow(size)
	b.WriteString("commit refs/heads/main\nmark :1\ncommitter lintel <> 0 +0000\ndata 0\n")
	for _, f := range files {
		b.WriteString("M 100644 inline \"" + quoted.Replace(f.Name) + "\"\ndata " + strconv.Itoa(len(f.Data)) + "\n")
		b.Write(f.Data)
		b.WriteByte('\n')
	}
	b.WriteString("\nls :1 \"\"\ndone\n")
	return b.String()
}

// quoted escapes a path between quotes for git.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
