package fetch

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// submodule is a folder of a tree whose content is the tree of another repository.
type submodule struct {
	Path   string
	URL    string // as written in .gitmodules, possibly relative to the repository ("../other")
	Commit string
}

// submodules lists the submodules of a tree in the store that "git submodule update --init" would fetch.
func (f *Fetcher) submodules(ctx context.Context, tree string) ([]submodule, error) {
	s, err := f.store.Scratch()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, err := localGit(ctx, s, "ls-tree", "-r", "-z", tree)
	if err != nil {
		return nil, gitFailure(err, "git could not read the files of the repository")
	}
	var list []submodule
	has := false
	for line := range strings.SplitSeq(string(out), "\x00") {
		head, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		has = has || (path == ".gitmodules" && strings.HasPrefix(head, "100"))
		if len(fields) == 3 && fields[0] == "160000" {
			list = append(list, submodule{Path: path, Commit: fields[2]})
		}
	}
	if len(list) == 0 || !has {
		return nil, nil
	}
	if len(list) > maxModules {
		return nil, undecided("the repository has more than %d submodules", maxModules)
	}
	return submoduleAddresses(ctx, s, tree, list)
}

// submoduleAddresses reads .gitmodules with git's own parser.
func submoduleAddresses(ctx context.Context, s *remote.Scratch, tree string, list []submodule) ([]submodule, error) {
	out, err := localGit(ctx, s, "config", "--blob", tree+":.gitmodules", "--no-includes", "-z", "--list")
	if err != nil {
		return nil, gitFailure(err, "git could not read .gitmodules of the repository")
	}
	path, url, off := map[string]string{}, map[string]string{}, map[string]bool{}
	for setting := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(setting, "\n")
		name, ok := strings.CutPrefix(key, "submodule.")
		dot := strings.LastIndexByte(name, '.')
		if !ok || dot < 0 {
			continue
		}
		switch name, field := name[:dot], name[dot+1:]; field {
		case "path":
			path[strings.TrimSuffix(value, "/")] = name
		case "url":
			url[name] = value
		case "update":
			off[name] = value == "none"
		}
	}
	var found []submodule
	for _, m := range list {
		name, ok := path[m.Path]
		if ok && url[name] != "" && !off[name] {
			m.URL = url[name]
			found = append(found, m)
		}
	}
	return found, nil
}

// compose returns the tree in which the submodules are replaced by their fetched trees. The store keeps it under key.
func (f *Fetcher) compose(ctx context.Context, tree string, modules map[string]string, key string) (string, error) {
	scratch, err := f.store.Scratch()
	if err != nil {
		return "", err
	}
	defer scratch.Close()
	empty := filepath.Join(scratch.Dir, "refs") // git needs a work tree here, but neither reads nor writes it
	run := func(stdin string, args ...string) (string, error) {
		out, err := scratch.Run(ctx, gitcmd.Call{Args: args, Stdin: stdin, Options: []string{"--work-tree=" + empty}})
		if err != nil {
			return "", fmt.Errorf("composing submodules: %w", err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	if _, err := run("", "read-tree", tree); err != nil {
		return "", err
	}
	for path, sub := range modules {
		removed := "0 " + strings.Repeat("0", 40) + "\t" + path + "\x00"
		if _, err := run(removed, "update-index", "-z", "--index-info"); err != nil {
			return "", err
		}
		if _, err := run("", "read-tree", "--prefix="+path+"/", sub); err != nil {
			return "", err
		}
	}
	composed, err := run("", "write-tree")
	if err != nil {
		return "", err
	}
	return composed, scratch.Import(ctx, key, composed)
}
