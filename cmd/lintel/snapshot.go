package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/engine"
)

// files are the files that are checked in place of a commit.
type files int

const (
	committed files = iota // a commit, and nothing else
	inTree                 // the work tree, with everything that git would add
	inIndex                // the index: what git would commit
)

// String describes them for people.
func (f files) String() string {
	return [...]string{"a commit", "the work tree", "the index"}[f]
}

// snapshot writes uncommitted files as a tree into an object folder of its own. The repository and its index do not
// change. The caller removes the parent of the object folder.
func (r *repository) snapshot(ctx context.Context, of files) (tree, objects string, err error) {
	temp, err := os.MkdirTemp("", "lintel-snapshot-")
	if err != nil {
		return "", "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temp)
		}
	}()
	objects = filepath.Join(temp, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return "", "", err
	}
	top, err := r.top(ctx)
	if err != nil {
		return "", "", fmt.Errorf("this repository has no work tree: %w", err)
	}
	env, index := r.besides(objects)
	// The real index knows which files are unchanged, so that they are not read again. In a hook, it may be one that git
	// made for this commit (GIT_INDEX_FILE), and it is locked then.
	if err := copyIndex(r.index, index); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", "", err
	}
	if of == inTree {
		if _, err := r.run(ctx, env, "-C", top, "add", "--all"); err != nil {
			return "", "", fmt.Errorf("read %s: %w", of, err)
		}
	} else if err := r.merged(ctx, env, top); err != nil {
		return "", "", err
	}
	if tree, err = r.run(ctx, env, "write-tree"); err != nil {
		return "", "", fmt.Errorf("read %s: %w", of, err)
	}
	return tree, objects, nil
}

// besides returns an environment in which git writes to a separate object folder, and to a separate index next to it.
func (r *repository) besides(objects string) (env []string, index string) {
	index = filepath.Join(filepath.Dir(objects), "index")
	return []string{"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + r.objects}, index
}

// treeFile is a file of a tree.
type treeFile struct {
	path string
	data []byte
	mode fs.FileMode
}

// treeWith writes a tree with other contents of some files, or additional ones, into an object folder. They are
// converted as git converts those of a work tree. add is the command of git that takes their names from its input.
func (r *repository) treeWith(ctx context.Context, tree, objects string, files []treeFile, add ...string) (string, error) {
	if _, err := r.beside(ctx, objects, "", "read-tree", tree); err != nil {
		return "", err
	}
	var paths strings.Builder
	for _, f := range files {
		name := filepath.Join(scratch(objects), filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return "", err
		}
		if err := replaceFile(name, f.data, f.mode); err != nil {
			return "", err
		}
		paths.WriteString(f.path + "\x00")
	}
	if len(files) > 0 {
		if _, err := r.beside(ctx, objects, paths.String(), add...); err != nil {
			return "", err
		}
	}
	return r.beside(ctx, objects, "", "write-tree")
}

// scratch is a temporary work tree outside the repository with only the files that are written into a tree.
func scratch(objects string) string { return filepath.Join(filepath.Dir(objects), "tree") }

// beside runs git on the scratch work tree, with the index and the object folder beside it.
func (r *repository) beside(ctx context.Context, objects, stdin string, args ...string) (string, error) {
	env, _ := r.besides(objects)
	where := []string{"--git-dir=" + r.gitDir, "--work-tree=" + scratch(objects)}
	return r.runWith(ctx, env, stdin, append(where, args...)...)
}

// merged returns an error if a file in the index has a conflict, since it could not be committed.
func (r *repository) merged(ctx context.Context, env []string, top string) error {
	out, err := r.run(ctx, env, "-C", top, "ls-files", "--unmerged", "-z")
	if err != nil {
		return fmt.Errorf("read %s: %w", inIndex, err)
	}
	entry, _, _ := strings.Cut(out, "\x00") // mode, object, stage, and after a tab the name
	if _, name, any := strings.Cut(entry, "\t"); any {
		return fmt.Errorf("%q has a conflict: resolve it, and git add it", name)
	}
	return nil
}

// copyIndex copies an index including its time: git reads files again that are not older than the index, since their
// times and sizes may be unchanged although the content changed (https://git-scm.com/docs/racy-git).
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, data, 0o600), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// uncommittedRules returns a file of the work tree that is not committed as it is and seems to hold policies or
// exceptions; "" where there is none.
func (r *repository) uncommittedRules(ctx context.Context) string {
	top, err := r.top(ctx)
	if err != nil {
		return "" // it has no work tree
	}
	changed, _ := r.run(ctx, nil, "diff", "--name-only", "--no-renames", "-z", "HEAD")
	added, _ := r.run(ctx, nil, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
	for _, name := range strings.Split(changed+"\x00"+added, "\x00") {
		if !eval.IsManifest(name) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		if err == nil && slices.ContainsFunc(engine.RuleMarks(), func(m string) bool {
			return bytes.Contains(data, []byte(m))
		}) {
			return name
		}
	}
	return ""
}
