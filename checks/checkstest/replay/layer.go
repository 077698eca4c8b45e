package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// prefix is the folder of the policies in the trees that are checked.
const prefix = "lintel-replay-policies/"

// layer lays policies over the commits of a repository. What that adds is written to a folder of its own.
type layer struct {
	gitDir   string
	temp     string
	objects  string
	policies string // the tree of the policies; empty: none
}

// newLayer reads a folder of policies, none where it is empty. What is written goes into an empty folder.
func newLayer(ctx context.Context, temp, repo, policies string) (*layer, error) {
	l := &layer{temp: temp}
	l.objects = filepath.Join(temp, "objects")
	if err := os.Mkdir(l.objects, 0o700); err != nil {
		return nil, err
	}
	var err error
	if l.gitDir, err = run(ctx, gitcmd.Call{Dir: repo, Args: []string{"rev-parse", "--absolute-git-dir"}}); err != nil {
		return nil, fmt.Errorf("%s is not in a git repository: %w", repo, err)
	}
	if policies == "" {
		return l, nil
	}
	if policies, err = filepath.Abs(policies); err != nil {
		return nil, err
	}
	if _, err := l.git(ctx, policies, "add", "--all", "--force", "."); err != nil {
		return nil, err
	}
	l.policies, err = l.git(ctx, "", "write-tree")
	return l, err
}

// over returns the tree of a commit with the policies in a folder of their own.
func (l *layer) over(ctx context.Context, commit string) (string, error) {
	if l.policies == "" {
		return commit, nil
	}
	for _, args := range [][]string{{"read-tree", commit}, {"read-tree", "--prefix=" + prefix, l.policies}} {
		if _, err := l.git(ctx, "", args...); err != nil {
			return "", err
		}
	}
	return l.git(ctx, "", "write-tree")
}

// git runs git on the repository, with an index and a folder of objects of the layer's own, and returns its output.
// The work tree is a folder that the repository knows nothing of, where one is named.
func (l *layer) git(ctx context.Context, worktree string, args ...string) (string, error) {
	call := gitcmd.Call{Options: []string{"--git-dir", l.gitDir}, Args: args, Dir: worktree, Env: []string{
		"GIT_INDEX_FILE=" + filepath.Join(l.temp, "index"), "GIT_OBJECT_DIRECTORY=" + l.objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(l.gitDir, "objects"),
	}}
	if worktree != "" {
		call.Env = append(call.Env, "GIT_WORK_TREE="+worktree)
	}
	return run(ctx, call)
}

// run runs git as the user does, and returns its output without the last line end.
func run(ctx context.Context, call gitcmd.Call) (string, error) {
	var err error
	if call.Git, err = gitcmd.Find(""); err != nil {
		return "", err
	}
	call.Env = append(os.Environ(), call.Env...)
	out, err := call.Run(ctx)
	var failed *gitcmd.Error
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(failed.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}
