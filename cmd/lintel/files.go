package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/remote/fetch"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// fileReader reads what flags name: files, folders, patterns for both, the standard input, and addresses.
type fileReader struct {
	ctx    context.Context
	stdin  io.Reader
	used   bool // the standard input
	linked sourcesOptions
}

var errStdinTwice = errors.New("the standard input (-) can be read only once")

// all reads several names in order. branch is the branch of git repositories, empty for the one in the address.
func (r *fileReader) all(names []string, branch string) (out []rules.File, err error) {
	for _, name := range names {
		files, err := r.read(name, branch)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// read reads a file, or the manifests in a folder and its subfolders that are not hidden. A name without such a file is
// used as a pattern, if it can be one: shells do not expand quoted patterns.
func (r *fileReader) read(name, branch string) ([]rules.File, error) {
	switch {
	case name == "-":
		if r.used {
			return nil, errStdinTwice
		}
		r.used = true
		data, err := io.ReadAll(io.LimitReader(r.stdin, rules.MaxBytes+1))
		return []rules.File{{Path: "-", Data: data}}, err
	case strings.Contains(name, "://"):
		return r.linked.read(r.ctx, name, branch)
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, "*?[") {
		return r.matching(name)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		source, err := readSource(name)
		return []rules.File{source}, err
	}
	return r.folder(name)
}

// matching reads the files that match a pattern.
func (r *fileReader) matching(pattern string) (out []rules.File, err error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q is not a pattern of files: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no file matches %q", pattern)
	}
	return r.all(names, "")
}

func (r *fileReader) folder(name string) (out []rules.File, err error) {
	err = walkVisible(name, func(p string, d fs.DirEntry) error {
		if r.ctx.Err() != nil || !eval.IsManifest(d.Name()) {
			return r.ctx.Err()
		}
		source, err := readSource(p)
		out = append(out, source)
		return err
	})
	return out, err
}

// walkVisible calls do for a file, or for the files in a folder and its subfolders that are not hidden.
func walkVisible(top string, do func(name string, d fs.DirEntry) error) error {
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch hidden := name != top && strings.HasPrefix(d.Name(), "."); {
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || d.IsDir():
			return nil
		}
		return do(name, d)
	})
}

// readSource reads one file up to the size that is accepted; of a larger file it reads enough for it to be refused.
func readSource(name string) (rules.File, error) {
	data, err := readAtMost(name, rules.MaxBytes)
	return rules.File{Path: filepath.ToSlash(name), Data: data}, err
}

// readAtMost reads a file; of a larger one it reads one more byte than the limit.
func readAtMost(name string, bytes int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, bytes+1))
}

// replaceFile writes a file atomically.
func replaceFile(name string, data []byte, mode fs.FileMode) error {
	folder, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return replaceIn(folder, filepath.Base(name), data, mode)
}

// replaceIn is replaceFile for a file below a folder. It follows no link out of the folder.
func replaceIn(folder *os.Root, name string, data []byte, mode fs.FileMode) error {
	temp := filepath.Join(filepath.Dir(name), ".lintel-"+rand.Text())
	f, err := folder.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = folder.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, folder.Remove(temp))
	}
	return nil
}

// plainCause returns a file system error without the path, which the caller adds.
func plainCause(err error) error {
	of, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if strings.Contains(of.Err.Error(), "escapes") { // package os has no name for it
		return errors.New("it points outside the repository")
	}
	return of.Err
}

// address is a parsed address: of a file, or of the manifests in a folder of a git repository.
type address struct {
	want remote.Want
	dir  string // "." for all of the repository
}

// parseAddress reads an address as the kyverno command does: https://HOST/OWNER/REPOSITORY/BRANCH without a branch of its
// own, and https://HOST/OWNER/REPOSITORY/FOLDER with one. A repository of a longer name ends in ".git". An address
// that ends as a manifest does, without a branch, is one file. It also reads those of kustomize,
// https://HOST/OWNER/REPOSITORY//PATH?ref=REF, and those of GitHub's pages (/tree/REF/PATH, /blob/REF/PATH). Errors do not
// quote it: it may hold a password.
func parseAddress(text, branch string) (a address, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return a, errors.New("an address is not valid: write https://HOST/OWNER/REPOSITORY")
	case u.User != nil:
		return a, errors.New("an address contains credentials: use git's credential helpers, or the file of --sources")
	case u.Scheme != "https":
		return a, fmt.Errorf("%s:// is not supported: use https, or clone the repository and name its folder", u.Scheme)
	case branch == "" && u.Fragment == "" && (strings.Contains(u.Path, "//") || strings.HasPrefix(u.RawQuery, "ref=")):
		return kustomizeAddress(u)
	case branch == "" && u.Fragment == "" && u.RawQuery == "" && pageOfGitHub.MatchString(u.Path):
		m := pageOfGitHub.FindStringSubmatch(u.Path)
		u.Path, u.RawPath = m[1], ""
		return address{want: remote.Want{Kind: remote.Git, URL: u.String(), Ref: m[2]}, dir: path.Clean("./" + m[3])}, nil
	case u.RawQuery != "" || u.Fragment != "":
		return a, errors.New("an address can have ?ref=BRANCH, but no other query and no #: name a branch with " +
			"--git-branch")
	case branch == "" && eval.IsManifest(u.Path):
		return address{want: remote.Want{Kind: remote.File, URL: u.String()}}, nil
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	n := 2
	for i, p := range parts {
		if strings.HasSuffix(p, ".git") {
			n = i + 1
			break
		}
	}
	if len(parts) < n {
		return a, errors.New("the address of policies must be a file (https://HOST/PATH/NAME.yaml) or a repository " +
			"(https://HOST/OWNER/REPOSITORY)")
	}
	rest := strings.Join(parts[n:], "/")
	u.Path, u.RawPath = "/"+strings.Join(parts[:n], "/"), ""
	a = address{want: remote.Want{Kind: remote.Git, URL: u.String(), Ref: branch}, dir: path.Clean("./" + rest)}
	if branch == "" {
		a.want.Ref, a.dir = rest, "."
	}
	return a, nil
}

// pageOfGitHub matches the address of a folder or a file on github.com.
var pageOfGitHub = regexp.MustCompile(`^(/[^/]+/[^/]+)/(?:tree|blob)/([^/]+)/?(.*)$`)

// kustomizeAddress parses an address in the form that kustomize uses for bases
// (https://github.com/kubernetes-sigs/kustomize/blob/master/examples/remoteBuild.md).
func kustomizeAddress(u *url.URL) (a address, err error) {
	query := u.Query()
	a.want = remote.Want{Kind: remote.Git, Ref: query.Get("ref")}
	if query.Del("ref"); len(query) > 0 {
		return a, errors.New("an address can have no query but ?ref=")
	}
	repository, dir, _ := strings.Cut(u.Path, "//")
	u.Path, u.RawPath, u.RawQuery = strings.TrimSuffix(repository, "/"), "", ""
	a.want.URL, a.dir = u.String(), path.Clean("./"+strings.Trim(dir, "/"))
	return a, nil
}

// read returns the manifests at an address. They are fetched through the store for remote sources.
func (o *sourcesOptions) read(ctx context.Context, text, branch string) ([]rules.File, error) {
	a, err := parseAddress(text, branch)
	if err != nil {
		return nil, err
	}
	git, err := gitcmd.Find("")
	if err != nil {
		return nil, err
	}
	store, rules, err := o.openStore(ctx, git)
	if err != nil {
		return nil, err
	}
	if store == nil {
		return nil, errors.New("no folder for the source cache is known: name one with --store")
	}
	f, err := fetch.New(fetch.Options{Store: store, Policy: rules, UserGit: true, Offline: o.offline})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lock, err := f.Fetch(ctx, []remote.Want{a.want})
	if err != nil {
		return nil, err
	}
	if failure := lock[0].Failure; failure != nil {
		return nil, fmt.Errorf("%s: %w", a.want, failure)
	}
	objects, err := tree.Open(ctx, tree.Config{GitDir: store.GitDir(), Git: git})
	if err != nil {
		return nil, err
	}
	defer func() { _ = objects.Close() }()
	t, err := objects.Tree(lock[0].Tree)
	if err != nil {
		return nil, err
	}
	return a.files(t)
}

// files reads the files that the address names in a tree.
func (a address) files(t *tree.Tree) (out []rules.File, err error) {
	if a.want.Kind == remote.File {
		data, _, err := t.ReadFile(remote.FileName)
		return []rules.File{{Path: a.want.URL, Data: data}}, err
	}
	var ids []string
	err = t.Walk(func(p string, e tree.Entry) error {
		inside := a.dir == "." || p == a.dir || strings.HasPrefix(p, a.dir+"/")
		if inside && e.Kind == tree.File && eval.IsManifest(p) && !strings.Contains("/"+p, "/.") {
			out = append(out, rules.File{Path: a.want.URL + "/" + p})
			ids = append(ids, e.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no manifests in %q", a.want, a.dir)
	}
	for i, c := range t.Blobs(ids) {
		if c.Err != nil {
			return nil, fmt.Errorf("%s: %w", out[i].Path, c.Err)
		}
		out[i].Data = c.Data
	}
	return out, nil
}
