package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// repository is the git repository that a command works on.
type repository struct {
	git    string // the git binary, absolute
	dir    string // the folder the user named
	gitDir string // absolute

	byDefault branch // see defaultBranch; the zero branch: nobody asked, or there is none
}

func openRepository(ctx context.Context, dir string) (*repository, error) {
	git, err := gitcmd.Find("")
	if err != nil {
		return nil, err
	}
	r := &repository{git: git, dir: dir}
	if r.gitDir, err = r.run(ctx, nil, "rev-parse", "--absolute-git-dir"); err != nil {
		return nil, fmt.Errorf("%s is not in a git repository: %w", dir, err)
	}
	return r, nil
}

// sandbox starts a sandbox that may read the repository, object folders beside it and what was fetched.
func (r *repository) sandbox(ctx context.Context, cache string, objects []string, fetched *remotes.Resolver,
	timeout time.Duration,
) *sandbox.Sandbox {
	return sandbox.New(sandbox.Config{Timeout: timeout, Git: r.git, Cache: cache,
		Repositories: slices.Concat(r.folders(ctx), objects, fetched.Folders())})
}

// userCache is the folder for what checks leave to the next ones, empty where there is no place.
func userCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lintel")
}

// origin returns the address of the remote "origin", in git's short form of ssh addresses
// (https://git-scm.com/docs/git-clone#_git_urls), too; an empty one where there is none that names a host.
func (r *repository) origin(ctx context.Context) *url.URL {
	address, _ := r.run(ctx, nil, "config", "--get", "remote.origin.url")
	return remoteURL(address)
}

// scpLike is git's short form.
var scpLike = regexp.MustCompile(`^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):([^/].*)$`)

func remoteURL(address string) *url.URL {
	if m := scpLike.FindStringSubmatch(address); m != nil && !strings.Contains(address, "://") {
		return &url.URL{Scheme: "ssh", Host: m[1], Path: "/" + m[2]}
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return &url.URL{}
	}
	return u
}

// maxOutput bounds what git may tell about a repository.
const maxOutput = 64 << 20

// run runs git in the repository, as its user does, and returns its output without the last line break.
func (r *repository) run(ctx context.Context, env []string, args ...string) (string, error) {
	call := gitcmd.Call{Git: r.git, Options: []string{"-C", r.dir}, Args: args, Max: maxOutput,
		Env: append(os.Environ(), append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")...)}
	out, err := call.Run(ctx)
	var failed *gitcmd.Error
	if errors.As(err, &failed) {
		said, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(failed.Stderr, "fatal: ")), "\n")
		if said != "" {
			return "", errors.New(said)
		}
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// branchName returns the name of the branch that a full reference stands for, empty where it stands for none.
func branchName(ref string) string {
	name, local := strings.CutPrefix(ref, "refs/heads/")
	if !local {
		if ref, local = strings.CutPrefix(ref, "refs/remotes/"); local {
			_, name, local = strings.Cut(ref, "/")
		}
	}
	if !local || name == "HEAD" {
		return ""
	}
	return name
}

// branches returns what objects of Argo CD and Flux may call the branch that a change goes to: the base, where that is
// the name of a branch, and the default branch; where there is none, the one that is checked out.
func (r *repository) branches(ctx context.Context, base string) (list []string) {
	add := func(name string) {
		if name != "" {
			list = append(list, name)
		}
	}
	named := func(ref string) string {
		full, err := r.run(ctx, nil, "rev-parse", "--symbolic-full-name", "--end-of-options", ref)
		if err != nil {
			return ""
		}
		lines := strings.Split(full, "\n")
		return branchName(lines[len(lines)-1])
	}
	if base != "" && !strings.HasPrefix(base, "HEAD") {
		add(named(base))
	}
	if b, err := r.defaultBranch(ctx); err == nil || b.name != "" {
		add(b.name)
	} else {
		add(named("HEAD"))
	}
	return list
}

// names returns what the remotes call the repository, without their owners: a fork has another than the repository
// that Argo CD and Flux read.
func (r *repository) names(ctx context.Context) []string {
	urls, err := r.run(ctx, nil, "config", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil // no remotes
	}
	var list []string
	for line := range strings.Lines(urls) {
		_, url, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
		if i := strings.LastIndexAny(name, "/:"); i >= 0 && i+1 < len(name) && !filepath.IsAbs(url) {
			list = append(list, name[i+1:])
		}
	}
	return list
}

// folders returns what git reads to answer for objects of the repository, absolute: its folders, which a linked work
// tree shares with another, those of the object folders it borrows from, and the files of its configuration. It is for
// the rules of the sandbox: what git cannot tell is left out.
func (r *repository) folders(ctx context.Context) []string {
	list := []string{r.gitDir}
	for _, args := range [][]string{{"--git-common-dir"}, {"--git-path", "objects"}} {
		if dir, err := r.run(ctx, nil, append([]string{"rev-parse", "--path-format=absolute"}, args...)...); err == nil {
			list = append(list, dir)
		}
	}
	// An object folder names others, which may name others, five deep (git's limit).
	for level, depth := list[len(list)-1:], 0; len(level) > 0 && depth < 5; depth++ {
		var next []string
		for _, objects := range level {
			next = append(next, alternates(objects)...)
		}
		list, level = append(list, next...), next
	}
	return append(list, r.settings(ctx)...)
}

// settings returns the files of the repository's configuration, absolute, with those that they include: git ends
// when it can see one and not read it.
func (r *repository) settings(ctx context.Context) (list []string) {
	out, _ := r.run(ctx, nil, "--git-dir="+r.gitDir, "config", "--local", "--includes", "--show-origin", "-z", "--list")
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // a file, and a name and a value of it
		file := strings.TrimPrefix(fields[i], "file:")
		name, value, _ := strings.Cut(fields[i+1], "\n")
		list = append(list, file)
		if strings.HasPrefix(name, "include") && strings.HasSuffix(name, ".path") {
			if !filepath.IsAbs(value) {
				value = filepath.Join(filepath.Dir(file), value)
			}
			list = append(list, value)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// alternates returns the object folders that one borrows from (gitrepository-layout(5), objects/info/alternates).
func alternates(objects string) (list []string) {
	data, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		dir := strings.TrimSuffix(line, "\n")
		switch {
		case dir == "" || dir[0] == '#':
			continue
		case !filepath.IsAbs(dir):
			dir = filepath.Join(objects, dir)
		}
		list = append(list, dir)
	}
	return list
}
