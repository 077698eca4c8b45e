package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// repository is the git repository that a command uses.
type repository struct {
	git string // the git binary, absolute
	dir string // the folder the user named

	// Absolute paths: of git's folder, which several work trees may share, of its objects and of its index.
	gitDir, common, objects, index string

	inside  bool   // the folder is in a work tree
	prefix  string // of the folder in the work tree, with a slash behind it; empty at its top
	shallow bool   // the clone lacks some of the history

	byDefault branch    // see defaultBranch; the zero branch: nobody asked, or there is none
	config    []setting // see settings; nil: nobody asked
}

// setting is a value of git's configuration.
type setting struct {
	scope, file string // "local": of the repository
	key, value  string
}

func openRepository(ctx context.Context, dir string) (*repository, error) {
	git, err := gitcmd.Find("")
	if err != nil {
		return nil, err
	}
	r := &repository{git: git, dir: dir}
	out, err := r.run(ctx, nil, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--absolute-git-dir",
		"--path-format=absolute", "--git-common-dir", "--git-path", "objects", "--git-path", "index", "--show-prefix")
	if err != nil {
		if _, at, ok := strings.Cut(err.Error(), "dubious ownership in repository at "); ok {
			return nil, fmt.Errorf("%s is in a git repository of another user: if you trust it, run "+
				"git config --global --add safe.directory %s", dir, at)
		}
		return nil, fmt.Errorf("%s is not in a git repository: %w", dir, err)
	}
	lines := append(strings.Split(out, "\n"), "") // the prefix is empty at the top
	absolute := len(lines) > 6 && !slices.ContainsFunc(lines[2:6], func(p string) bool { return !filepath.IsAbs(p) })
	if !absolute || strings.Join(lines[7:], "") != "" {
		return nil, fmt.Errorf("git cannot locate the repository of %s: use git 2.31 or newer, and no line breaks in "+
			"names of folders", dir)
	}
	r.inside, r.shallow, r.gitDir = lines[0] == "true", lines[1] == "true", lines[2]
	r.common, r.objects, r.index, r.prefix = lines[3], lines[4], lines[5], lines[6]
	return r, nil
}

// top returns the top folder of the work tree.
func (r *repository) top(ctx context.Context) (string, error) {
	return r.run(ctx, nil, "rev-parse", "--show-toplevel")
}

// settings returns git's configuration, in the order in which later values count.
func (r *repository) settings(ctx context.Context) []setting {
	if r.config != nil {
		return r.config
	}
	r.config = []setting{}
	out, _ := r.run(ctx, nil, "--git-dir="+r.gitDir, "config", "--show-scope", "--show-origin", "-z", "--list")
	fields := strings.Split(out, "\x00")
	for ; len(fields) >= 3; fields = fields[3:] {
		key, value, _ := strings.Cut(fields[2], "\n")
		r.config = append(r.config, setting{fields[0], strings.TrimPrefix(fields[1], "file:"), key, value})
	}
	return r.config
}

// sandbox starts a sandbox that may read the repository, additional object folders and fetched content.
func (r *repository) sandbox(ctx context.Context, cache string, objects []string, fetched *remotes.Resolver,
	timeout time.Duration,
) *sandbox.Sandbox {
	return sandbox.New(sandbox.Config{Timeout: timeout, Git: r.git, Cache: cache,
		Repositories: slices.Concat(r.folders(ctx), objects, fetched.Folders())})
}

// userCache returns the folder for what checks keep for later ones, empty if there is no place for it.
func userCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lintel")
}

// origin returns the address of the remote "origin", also for git's short form of ssh addresses
// (https://git-scm.com/docs/git-clone#_git_urls); an empty one if there is none with a host.
func (r *repository) origin(ctx context.Context) *url.URL {
	address := ""
	for _, one := range r.settings(ctx) {
		if one.key == "remote.origin.url" {
			address = one.value
		}
	}
	return remoteURL(address)
}

// scpLike matches git's short form of ssh addresses.
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

// maxOutput limits the output of git about a repository.
const maxOutput = 64 << 20

// run runs git in the repository, with the user's configuration, and returns its output without the last line break.
func (r *repository) run(ctx context.Context, env []string, args ...string) (string, error) {
	return r.runWith(ctx, env, "", args...)
}

// runWith is like run, with standard input for git.
func (r *repository) runWith(ctx context.Context, env []string, stdin string, args ...string) (string, error) {
	call := gitcmd.Call{Git: r.git, Options: []string{"-C", r.dir}, Args: args, Max: maxOutput, Stdin: stdin,
		Env: append(os.Environ(), append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")...)}
	out, err := call.Run(ctx)
	if failed, ok := errors.AsType[*gitcmd.Error](err); ok {
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

// branchName returns the name of the branch for a full reference, empty if it is no branch.
func branchName(ref string) string {
	m := branchRef.FindStringSubmatch(ref)
	if m == nil || m[1] == "HEAD" {
		return ""
	}
	return m[1]
}

var branchRef = regexp.MustCompile(`^refs/(?:heads|remotes/[^/]+)/(.+)$`)

// branches returns the names that objects of Argo CD and Flux may use for the branch that a change goes to: the base,
// if that is a branch, and the default branch; if there is none, the one that is checked out.
func (r *repository) branches(ctx context.Context, base string) (list []string) {
	named := func(ref string) string {
		full, err := r.run(ctx, nil, "rev-parse", "--symbolic-full-name", "--end-of-options", ref)
		if err != nil {
			return ""
		}
		lines := strings.Split(full, "\n")
		return branchName(lines[len(lines)-1])
	}
	if base != "" && !strings.HasPrefix(base, "HEAD") {
		list = append(list, named(base))
	}
	if b, err := r.defaultBranch(ctx); err == nil || b.name != "" {
		list = append(list, b.name)
	} else {
		list = append(list, named("HEAD"))
	}
	return report.Filled(list...)
}

// names returns the names of the repository at the remotes, without the owners: a fork has another owner than the
// repository that Argo CD and Flux read.
func (r *repository) names(ctx context.Context) []string {
	var list []string
	for _, one := range r.settings(ctx) {
		if !strings.HasPrefix(one.key, "remote.") || !strings.HasSuffix(one.key, ".url") {
			continue
		}
		url := strings.TrimSpace(one.value)
		name := strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
		if i := strings.LastIndexAny(name, "/:"); i >= 0 && i+1 < len(name) && !filepath.IsAbs(url) {
			list = append(list, name[i+1:])
		}
	}
	return list
}

// folders returns what git reads to answer for objects of the repository, absolute: its folders, which a linked work
// tree shares with another, those of the object folders it borrows from, and the files of its configuration with those that
// they include: git ends when it can see one and not read it. It is for the rules of the sandbox.
func (r *repository) folders(ctx context.Context) []string {
	list := []string{r.gitDir, r.common, r.objects}
	// An object folder may borrow from others, which may borrow again, five levels deep (git's limit).
	for level, depth := list[len(list)-1:], 0; len(level) > 0 && depth < 5; depth++ {
		var next []string
		for _, objects := range level {
			next = append(next, alternates(objects)...)
		}
		list, level = append(list, next...), next
	}
	var files []string
	for _, one := range r.settings(ctx) {
		if one.scope != "local" {
			continue
		}
		files = append(files, one.file)
		if included := one.value; strings.HasPrefix(one.key, "include") && strings.HasSuffix(one.key, ".path") {
			if !filepath.IsAbs(included) {
				included = filepath.Join(filepath.Dir(one.file), included)
			}
			files = append(files, included)
		}
	}
	slices.Sort(files)
	return append(list, slices.Compact(files)...)
}

// alternates returns the object folders that an object folder borrows from (gitrepository-layout(5),
// objects/info/alternates).
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

// pageOptions returns what the page of a local check shows besides the report. Links lead to GitHub if the remote
// "origin" is there and commits are checked: uncommitted files are not on GitHub.
func (r *repository) pageOptions(ctx context.Context, change *report.Change, head files) output.PageOptions {
	var o output.PageOptions
	web := webAddress(r.origin(ctx)) // none: no links
	commit := func(label, id string) {
		if id == "" {
			return
		}
		link := output.Link{Text: id[:min(len(id), 10)]}
		if web != "" {
			link.Address = web + "/commit/" + id
		}
		o.Facts = append(o.Facts, output.Fact{Label: label, Items: []output.Link{link}, Code: true})
	}
	if head == committed {
		commit("Head", change.Head)
	} else {
		o.Facts = append(o.Facts, output.Fact{Label: "Head", Items: []output.Link{{Text: head.String()}}})
	}
	commit("Base", change.Base)
	if change.Rules != change.Head && !change.OnlyDifferences {
		commit("Policies from", change.Rules)
	}
	if o.Name.Text = "a local repository"; web != "" {
		u, _ := url.Parse(web) // which it was made of
		o.Name = output.Link{Text: strings.TrimPrefix(u.Path, "/"), Address: web}
		if head == committed {
			o.BlobURL = output.Blob(web, change.Head)
		}
		if change.Base != "" {
			o.BaseURL = output.Blob(web, change.Base)
		}
		if head == committed || change.Rules != change.Head {
			o.PolicyURL = output.Blob(web, change.Rules)
		}
	}
	return o
}

// webAddress returns the web address of a repository on GitHub, without the parts of a remote that are for programs. It
// is empty for other hosts, since the form of their links to lines is not known.
func webAddress(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	switch u.Scheme {
	case "https", "ssh", "git", "git+ssh":
	default:
		return ""
	}
	if host == "ssh.github.com" {
		host = "github.com" // https://docs.github.com/en/authentication/troubleshooting-ssh/using-ssh-over-the-https-port
	}
	if host != "github.com" && !strings.HasPrefix(host, "github.") && !strings.HasSuffix(host, ".ghe.com") {
		return ""
	}
	name := strings.TrimSuffix(strings.Trim(path.Clean(u.Path), "/"), ".git")
	if strings.Count(name, "/") != 1 {
		return ""
	}
	return (&url.URL{Scheme: "https", Host: host, Path: "/" + name}).String()
}
