package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// newScratch makes a repository that has the objects of another one, for trees with edits. The caller removes it.
func newScratch(ctx context.Context, gitDir string) (string, error) {
	dir, err := os.MkdirTemp("", "blame-proof-")
	if err != nil {
		return "", err
	}
	if _, err := git(ctx, dir, "", nil, "init", "-q", "--bare", dir); err != nil {
		return "", err
	}
	objects, err := git(ctx, gitDir, "", nil, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "objects/info/alternates"), []byte(objects+"\n"), 0o600); err != nil {
		return "", err
	}
	return dir, nil
}

// write makes a tree of another one with other contents of some files.
func write(ctx context.Context, dir, tree string, files map[string][]byte) (string, error) {
	index, err := os.MkdirTemp(dir, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(index)
	index = filepath.Join(index, "index")
	if _, err := git(ctx, dir, index, nil, "read-tree", tree); err != nil {
		return "", err
	}
	for name, data := range files {
		blob, err := git(ctx, dir, index, data, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		if _, err := git(ctx, dir, index, nil, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+name); err != nil {
			return "", err
		}
	}
	return git(ctx, dir, index, nil, "write-tree")
}

func git(ctx context.Context, dir, index string, input []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + dir}, args...)...)
	cmd.Stdin = bytes.NewReader(input)
	if index != "" {
		cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+index)
	}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// openLock returns what was fetched from outside.
func openLock(ctx context.Context, name, store string) (*remote.Sources, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var lock remote.Lock
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	objects, err := tree.Open(ctx, tree.Config{GitDir: store})
	if err != nil {
		return nil, err
	}
	return remote.New(lock, objects.Tree), nil
}
