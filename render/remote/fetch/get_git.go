package fetch

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
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
