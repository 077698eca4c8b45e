package fetch

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

const (
	maxNested  = 5   // submodules of submodules
	maxModules = 100 // of one repository, and of all repositories of one want
)

// source returns the address and credentials that git uses for a job.
func (f *Fetcher) source(j job) (gitSource, error) {
	at, c, err := f.way(j.url)
	if err != nil {
		return gitSource{}, err
	}
	s := gitSource{URL: at, Unsure: j.ssh && j.token == "" && c == nil}
	switch {
	case f.o.UserGit && at == j.url && j.url.Scheme == "ssh":
		s.Raw = j.want.URL // the user's url.*.insteadOf may apply to its beginning
	case j.token != "" && at == j.url: // the token is not meant for a mirror
		s.Authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+j.token))
	case c != nil:
		s.Authorization = authorization(c)
	}
	return s, nil
}

// getGit fetches the files of a repository.
func (f *Fetcher) getGit(ctx context.Context, j job) (remote.Note, error) {
	src, err := f.source(j)
	if err != nil {
		return remote.Note{}, err
	}
	at := gitCommit{ID: j.want.Ref}
	if !j.fixed {
		if at, err = f.resolve(ctx, src, j.want.Ref); err != nil {
			return remote.Note{}, err
		}
	}
	n := remote.Note{Revision: at.ID}
	if at.Tag {
		if n.Changed, err = f.moved(j, at); err != nil {
			return remote.Note{}, err
		}
	}
	w := walk{f: f, modules: maxModules, hosts: at.Hosts}
	got, err := w.tree(ctx, j, src, at, maxNested)
	if err != nil {
		return remote.Note{}, err
	}
	n.Tree, n.Content, n.Private, n.Hosts = got.Tree, got.Content, w.private, w.hosts
	return n, nil
}

// moved returns the commit that a tag first pointed to, empty if it still does.
func (f *Fetcher) moved(j job, at gitCommit) (string, error) {
	key := remote.Key("tag", j.scope, j.url.String(), at.Ref)
	n, err := f.store.Note(key)
	switch {
	case err != nil:
		return "", err
	case n.First == "":
		return "", f.store.Put(key, remote.Note{What: "a tag of " + remote.WithoutSecrets(j.url), First: at.ID})
	case n.First != at.ID:
		return n.First, nil
	}
	f.store.Used(key)
	return "", nil
}

// walk fetches a repository and its submodules.
type walk struct {
	f       *Fetcher
	modules int      // how many more are allowed
	private []string // repositories that were read with a token
	hosts   []string // addresses of submodules, and those that redirects led to
}

// tree fetches a commit's tree, with the submodules in their folders.
func (w *walk) tree(ctx context.Context, j job, src gitSource, at gitCommit, nested int) (remote.Note, error) {
	if j.token != "" {
		w.private = append(w.private, j.url.String())
	}
	n, modules, err := w.plain(ctx, j, src, at)
	if err != nil || !j.want.Submodules || len(modules) == 0 {
		return n, err
	}
	if nested == 0 {
		return n, undecided("its submodules have submodules, more than %d deep", maxNested)
	}
	trees := map[string]string{}
	var parts []string
	for _, m := range modules {
		if w.modules--; w.modules < 0 {
			return n, undecided("it has more than %d submodules", maxModules)
		}
		sub, err := w.submodule(ctx, j, m, nested-1)
		if failure := failureOf(err); failure != nil {
			of := *failure
			of.Message = "its submodule " + m.Path + " cannot be fetched: " + failure.Message
			return n, &of
		} else if err != nil {
			return n, err
		}
		trees[m.Path] = sub
		parts = append(parts, m.Path, sub)
	}
	key := remote.Key(append([]string{"composed", n.Tree}, parts...)...)
	tree, err := w.f.compose(ctx, n.Tree, trees, key)
	if err != nil {
		return n, err
	}
	composed := remote.Note{What: "a repository with its submodules", Tree: tree}
	return remote.Note{Tree: tree, Content: key}, w.f.store.Put(key, composed)
}

// submodule fetches the tree of one submodule.
func (w *walk) submodule(ctx context.Context, parent job, m submodule, nested int) (string, error) {
	above := *parent.url
	if above.Scheme == "ssh" {
		above.User = sshUser(parent.want.URL)
	}
	address, err := moduleURL(&above, m.URL)
	if err != nil {
		return "", err
	}
	j, err := w.f.job(ctx, remote.Want{Kind: remote.Git, URL: address, Ref: m.Commit, Submodules: true})
	if err != nil {
		return "", err
	}
	if err := w.f.mayAsk(j.url); err != nil {
		return "", err
	}
	if !j.fixed {
		return "", undecided("it is at no commit that can be fetched")
	}
	src, err := w.f.source(j)
	if err != nil {
		return "", err
	}
	w.hosts = append(w.hosts, remote.WithoutSecrets(j.url))
	n, err := w.tree(ctx, j, src, gitCommit{ID: m.Commit}, nested)
	return n.Tree, err
}

// sshUser returns the user of an ssh address, which may be scp-like; nil if it has none.
func sshUser(address string) *url.Userinfo {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	host, _, _ := strings.Cut(rest, "/")
	user, _, ok := strings.Cut(host, "@")
	if !ok {
		return nil
	}
	user, _, _ = strings.Cut(user, ":")
	return url.User(user)
}

// moduleURL resolves an address relative to that of a repository, as git-submodule(1) says.
func moduleURL(parent *url.URL, address string) (string, error) {
	if !strings.HasPrefix(address, "./") && !strings.HasPrefix(address, "../") {
		return address, nil
	}
	u := *parent
	folder := strings.TrimSuffix(u.Path, "/")
	for {
		if rest, ok := strings.CutPrefix(address, "../"); ok {
			n := strings.LastIndexByte(folder, '/')
			if n < 0 {
				return "", broken("its address in .gitmodules is not valid")
			}
			address, folder = rest, folder[:n]
		} else if rest, ok := strings.CutPrefix(address, "./"); ok {
			address = rest
		} else {
			break
		}
	}
	u.Path, u.RawPath = folder+"/"+strings.TrimSuffix(address, "/"), ""
	return u.String(), nil
}

// plain fetches a commit's tree without its submodules, or takes it from the store, and lists the submodules if they
// are wanted.
func (w *walk) plain(ctx context.Context, j job, src gitSource, at gitCommit) (remote.Note, []submodule, error) {
	s := w.f.store
	key := remote.Key("git", j.scope, j.url.String(), at.ID)
	unlock, err := s.Lock(ctx, key)
	if err != nil {
		return remote.Note{}, nil, err
	}
	defer unlock()
	n, err := s.Note(key)
	if err != nil {
		return remote.Note{}, nil, err
	}
	missing := map[string]bool{"": true}
	if n.Tree != "" {
		if missing, err = s.Missing(ctx, []string{n.Tree}); err != nil {
			return remote.Note{}, nil, err
		}
	}
	var modules []submodule
	if missing[n.Tree] {
		if n, err = w.f.fetchCommit(ctx, src, at, key); err != nil {
			return remote.Note{}, nil, err
		}
		n.What, n.Asked = "a commit of "+remote.WithoutSecrets(j.url), s.Now()
		if err := s.Put(key, n); err != nil {
			return remote.Note{}, nil, err
		}
	} else {
		s.Used(key)
	}
	w.hosts = append(w.hosts, n.Hosts...)
	if j.want.Submodules {
		if modules, err = w.f.submodules(ctx, n.Tree); err != nil {
			return remote.Note{}, nil, err
		}
	}
	n.Content = key
	return n, modules, nil
}

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
