package fetch

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// forge serves the bare repositories of a folder by git's smart protocol.
type forge struct {
	t       *testing.T
	root    string
	backend *cgi.Handler
	token   string // needed for repositories below /private/
	moved   string // prefix of a path that redirects to the same below /o/
}

func newForge(t *testing.T) *forge {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is not installed")
	}
	f := &forge{t: t, root: t.TempDir()}
	f.backend = &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + f.root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
		InheritEnv: []string{"PATH"}}
	return f
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, f.moved); f.moved != "" && ok {
		http.Redirect(w, r, "/o/"+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
		return
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+f.token))
	if strings.HasPrefix(r.URL.Path, "/private/") && (f.token == "" || r.Header.Get("Authorization") != want) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	h := *f.backend
	h.Stderr, h.Logger = io.Discard, log.New(io.Discard, "", 0)
	h.Env = append(h.Env[:len(h.Env):len(h.Env)], "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
	h.ServeHTTP(w, r)
}

func (f *forge) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2024-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// create makes a repository named like "o/name.git".
func (f *forge) create(name string) {
	treetest.Served(f.t, filepath.Join(f.root, name), f.work(name), "")
}

func (f *forge) work(name string) string { return filepath.Join(f.root, "work", name) }

// commit writes a file and pushes it to a reference; it returns the commit.
func (f *forge) commit(name, ref, path, text string) string {
	f.t.Helper()
	full := filepath.Join(f.work(name), path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
	f.git(f.work(name), "add", "-A")
	return f.push(name, ref)
}

func (f *forge) push(name, ref string) string {
	f.git(f.work(name), "commit", "-q", "--allow-empty", "-m", "m")
	commit := f.git(f.work(name), "rev-parse", "HEAD")
	treetest.Publish(f.t, filepath.Join(f.root, name), ref, commit)
	return commit
}

func gitWant(ref string) remote.Want {
	return remote.Want{Kind: remote.Git, URL: "https://git.example.com/o/base.git", Ref: ref}
}

func TestGit(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	first := g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	g.git(filepath.Join(g.root, "o/base.git"), "tag", "-a", "-m", "m", "v1", first)
	second := g.commit("o/base.git", "refs/heads/main", "a.yaml", "two")
	branch := g.commit("o/base.git", "refs/heads/feature/x", "a.yaml", "three")
	hidden := g.commit("o/base.git", "refs/pull/7/head", "a.yaml", "four")
	n.serve("git.example.com", g)
	f := n.fetcher("")
	for _, c := range []struct{ ref, commit, says string }{
		{"", second, "two"}, {"main", second, "two"}, {"v1", first, "one"}, {"refs/tags/v1", first, "one"},
		{"refs/heads/main", second, "two"}, {"feature/x", branch, "three"}, {first, first, "one"},
		{"heads/main", second, "two"}, {"refs/pull/7/head", hidden, "four"}, {"HEAD", second, "two"},
	} {
		e := had(t, f, gitWant(c.ref))
		if got := contentOf(t, f, e, "a.yaml"); got != c.says || e.Revision != c.commit || e.Changed != "" {
			t.Errorf("%q: %q, %+v", c.ref, got, e)
		}
	}
	refused(t, f, gitWant("absent"), true, "no branch or tag")
	refused(t, f, gitWant("--upload-pack=/bin/true"), true, "the revision is not valid")
	refused(t, f, gitWant(strings.Repeat("1", 40)), true, "no such commit")
	gone := gitWant("main")
	gone.URL = "https://git.example.com/o/absent.git"
	refused(t, f, gone, true, "404")
	gone.URL = "git@git.example.com:o/absent.git"
	refused(t, f, gone, false, "key for ssh")
	n.asked()
	for _, ref := range []string{"", first, "v1"} {
		had(t, f, gitWant(ref))
	}
	if got := n.asked(); len(got) > 0 {
		t.Errorf("what is known was asked for: %v", got)
	}
	n.pass(time.Hour)
	third := g.commit("o/base.git", "refs/heads/main", "a.yaml", "five")
	if e := had(t, f, gitWant("main")); e.Revision != third || contentOf(t, f, e, "a.yaml") != "five" {
		t.Errorf("a branch that moved: %+v", e)
	}
	n.asked()
	if had(t, f, gitWant(first)); len(n.asked()) > 0 {
		t.Error("a commit was asked for again")
	}
}

// A range of versions means the newest tag in it, as Flux and Argo CD read tags.
func TestVersionsOfTags(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	for _, tag := range []string{"1.2.3", "v1.10.0", "v1.11.0-rc.1", "v2.0.0", "20240101", "1.99", "release-1"} {
		g.commit("o/base.git", "refs/heads/main", "a.yaml", tag)
		g.git(filepath.Join(g.root, "o/base.git"), "tag", "-a", "-m", "m", tag, "main")
	}
	n.serve("git.example.com", g)
	f := n.fetcher("")
	for ref, want := range map[string]string{
		remote.Versions + "1.x": "v1.10.0", remote.Versions + "1.2.3": "1.2.3",
		remote.Versions + ">=1.11.0-0 <2": "v1.11.0-rc.1",
		remote.Versions + "*":             "v2.0.0", remote.Versions + ">= 1.0.0, < 3": "v2.0.0",
		remote.ShortVersions + "1.*": "1.99", remote.ShortVersions + "*": "20240101",
	} {
		if e := had(t, f, gitWant(ref)); contentOf(t, f, e, "a.yaml") != want || !isCommit(e.Revision) {
			t.Errorf("%s: %s, want %s", ref, contentOf(t, f, e, "a.yaml"), want)
		}
	}
	refused(t, f, gitWant(remote.Versions+"^3"), true, `no tag is a version that matches "^3"`)
	refused(t, f, gitWant(remote.Versions+"main"), true, "not a range of versions")
	n.pass(time.Hour)
	g.commit("o/base.git", "refs/tags/v1.12.0", "a.yaml", "v1.12.0")
	if e := had(t, f, gitWant(remote.Versions+"1.x")); contentOf(t, f, e, "a.yaml") != "v1.12.0" {
		t.Errorf("a newer tag: %+v", e)
	}
}

func TestTagMoves(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	first := g.commit("o/base.git", "refs/tags/v1", "a.yaml", "one")
	n.serve("git.example.com", g)
	f := n.fetcher("")
	if e := had(t, f, gitWant("v1")); e.Changed != "" {
		t.Errorf("got %+v", e)
	}
	second := g.commit("o/base.git", "refs/tags/v1", "a.yaml", "two")
	if e := had(t, f, gitWant("v1")); e.Revision != first {
		t.Errorf("within one check it moved: %+v", e)
	}
	n.pass(time.Hour)
	if e := had(t, f, gitWant("v1")); e.Revision != second || e.Changed != first {
		t.Errorf("got %+v", e)
	}
}

// Some servers do not give out any commit by its id: then all of the references are fetched.
func TestCommitRefused(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	first := g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	g.commit("o/base.git", "refs/heads/main", "a.yaml", "two")
	g.backend.Env = append(g.backend.Env, "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_1=protocol.version",
		"GIT_CONFIG_VALUE_1=0")
	n.serve("git.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Git-Protocol") // version 0, which refuses commits that no reference points to
		g.ServeHTTP(w, r)
	}))
	f := n.fetcher("")
	if e := had(t, f, gitWant(first)); contentOf(t, f, e, "a.yaml") != "one" {
		t.Errorf("got %+v", e)
	}
	refused(t, f, gitWant(strings.Repeat("1", 40)), true, "no such commit")
}

func TestSubmodules(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	for _, name := range []string{"o/base.git", "o/sub.git", "o/deep.git"} {
		g.create(name)
	}
	link := func(name, path, commit string) {
		g.git(g.work(name), "update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
	}
	deep := g.commit("o/deep.git", "refs/heads/main", "d.yaml", "deep")
	g.commit("o/sub.git", "refs/heads/main", ".gitmodules",
		"[submodule \"x\"]\n\tpath = d\n\turl = https://git.example.com/o/deep.git\n")
	link("o/sub.git", "d", deep)
	sub := g.push("o/sub.git", "refs/heads/main")
	g.commit("o/base.git", "refs/heads/main", ".gitmodules",
		"[submodule \"s\"]\n\tpath = vendor/sub\n\turl = ../sub.git\n")
	link("o/base.git", "vendor/sub", sub)
	g.push("o/base.git", "refs/heads/main")
	n.serve("git.example.com", g)
	f := n.fetcher("")
	w := gitWant("main")
	w.Submodules = true
	for range 2 {
		if e := had(t, f, w); contentOf(t, f, e, "vendor/sub/d/d.yaml") != "deep" {
			t.Errorf("got %+v", e)
		}
	}
	plain := had(t, f, gitWant("main"))
	objects, err := tree.Open(t.Context(), tree.Config{GitDir: f.o.Store.GitDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer objects.Close()
	top, err := objects.Tree(plain.Tree)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := top.Entry("vendor/sub"); err != nil || e.Kind != tree.Submodule {
		t.Errorf("a submodule that nobody asked for: %+v, %v", e, err)
	}
	g.commit("o/base.git", "refs/heads/main", ".gitmodules",
		"[submodule \"s\"]\n\tpath = vendor/sub\n\turl = https://169.254.169.254/x\n")
	link("o/base.git", "vendor/sub", sub)
	g.push("o/base.git", "refs/heads/main")
	n.pass(time.Hour)
	refused(t, f, w, false, "submodule vendor/sub")
	g.commit("o/base.git", "refs/heads/main", ".gitmodules",
		"[submodule \"s\"]\n\tpath = vendor/sub\n\turl = ext::sh -c true\n")
	link("o/base.git", "vendor/sub", sub)
	g.push("o/base.git", "refs/heads/main")
	n.pass(time.Hour)
	refused(t, f, w, false, "submodule vendor/sub")
}

func TestPrivateRepository(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.token = "ghs_secret"
	g.create("private/base.git")
	g.commit("private/base.git", "refs/heads/main", "a.yaml", "one")
	n.serve("git.example.com", g)
	w := gitWant("main")
	w.URL = "https://git.example.com/private/base.git"
	s := n.open(t.TempDir())
	with := func(scope, token string, mayRead bool) *Fetcher {
		return n.fetcher("", func(o *Options) {
			o.Store, o.Scope = s, scope
			o.Token = func(_ context.Context, url string) (string, error) {
				if url != w.URL {
					return "", nil
				}
				return token, nil
			}
			o.MayRead = func(context.Context, string) (bool, error) { return mayRead, nil }
		})
	}
	refused(t, with("1", "", true), w, false, "401")
	refused(t, with("1", "ghs_wrong", true), w, false, "401")
	n.pass(time.Hour)
	refused(t, with("1", g.token, false), w, false, "may not read")
	had(t, with("1", g.token, true), w)
	n.asked()
	had(t, with("1", g.token, true), w)
	refused(t, with("1", g.token, false), w, false, "may not read")
	if got := n.asked(); len(got) > 0 {
		t.Errorf("asked %v", got)
	}
	refused(t, with("1", "", true), w, false, "401") // what was read with a token is not given to those without
	had(t, with("2", g.token, true), w)
	if got := n.asked(); len(got) == 0 {
		t.Error("another installation was given what this one read")
	}
	ssh := w
	ssh.URL = "git@git.example.com:private/base.git"
	had(t, with("1", g.token, true), ssh)
}

// A question about a repository that cannot be answered ends the fetching: then nothing is known about the repository.
func TestTokenTrouble(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	n.serve("git.example.com", g)
	trouble := errors.New("asked too often")
	for _, change := range []func(o *Options){
		func(o *Options) { o.Token = func(ctxt, string) (string, error) { return "", trouble } },
		func(o *Options) {
			o.Token = func(ctxt, string) (string, error) { return "ghs_secret", nil }
			o.MayRead = func(ctxt, string) (bool, error) { return false, trouble }
		},
	} {
		if _, err := n.fetcher("", change).Fetch(t.Context(), []remote.Want{gitWant("main")}); !errors.Is(err, trouble) {
			t.Errorf("%v", err)
		}
	}
	if got := n.asked(); len(got) > 0 {
		t.Errorf("asked %v", got)
	}
}

// After a deadline nothing more is fetched; what the store has is used.
func TestDeadline(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	n.serve("slow.example.com", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	s := n.open(t.TempDir())
	had(t, n.fetcher("", func(o *Options) { o.Store = s }), chartWant("1.2.3"))
	f := n.fetcher("", func(o *Options) { o.Store, o.Deadline = s, time.Now().Add(300*time.Millisecond) })
	slow := remote.Want{Kind: remote.File, URL: "https://slow.example.com/x"}
	refused(t, f, slow, false, "time limit for fetching remote sources was reached")
	had(t, f, chartWant("1.2.3"))
	slow.URL += "y"
	refused(t, f, slow, false, "time limit for fetching remote sources was reached")
}

// The operator's credentials are used by git as well, and only for their prefix.
func TestGitCredentials(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.token = "secret"
	g.create("private/base.git")
	g.commit("private/base.git", "refs/heads/main", "a.yaml", "one")
	n.serve("git.example.com", g)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x-access-token:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := gitWant("main")
	w.URL = "https://git.example.com/private/base.git"
	for prefix, there := range map[string]bool{"https://git.example.com/private/": true, "https://git.example.com/": true,
		"https://git.example.com/o/": false, "https://other.example.com/": false} {
		f := n.fetcher("credentials: [{prefix: '" + prefix + "', basicAuthFile: " + secret + "}]")
		if there {
			had(t, f, w)
		} else {
			refused(t, f, w, false, "401")
		}
	}
}

func TestRepositoryMoved(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	g.moved = "/old/"
	n.serve("git.example.com", g)
	w := gitWant("main")
	w.URL = "https://git.example.com/old/base.git"
	f := n.fetcher("")
	if e := had(t, f, w); contentOf(t, f, e, "a.yaml") != "one" {
		t.Errorf("got %+v", e)
	}
}

// A redirect leads git to another host, but no credentials go there.
func TestGitRedirectKeepsCredentials(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	n.serve("git.example.com", g)
	n.serve("leads.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://git.example.com"+r.URL.RequestURI(), http.StatusFound)
	}))
	w := gitWant("main")
	w.URL = "https://leads.example.com/o/base.git"
	f := n.fetcher("", func(o *Options) { o.Token = func(ctxt, string) (string, error) { return "secret", nil } })
	had(t, f, w)
	led := 0
	for address, shown := range n.shown() {
		leads := strings.HasPrefix(address, "https://leads.example.com/")
		if leads != (shown != "") {
			t.Errorf("%s was shown %q", address, shown)
		}
		if strings.HasPrefix(address, "POST") {
			led++
		}
	}
	if led == 0 {
		t.Error("nothing was asked for behind the redirect")
	}
}

func TestGitIsLarge(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	g.commit("o/base.git", "refs/heads/main", "a.yaml", random(300<<10))
	n.serve("git.example.com", g)
	f := n.fetcher("", func(o *Options) { o.MaxGit = 100 << 10 })
	refused(t, f, gitWant("main"), false, "larger")
}

// random returns text that cannot be compressed.
func random(size int) string {
	b := make([]byte, size)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

func TestUserGit(t *testing.T) {
	g := newForge(t)
	g.create("o/base.git")
	commit := g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	config := filepath.Join(t.TempDir(), "config")
	text := "[url \"" + g.root + "/o/\"]\n\tinsteadOf = git@git.example.com:o/\n" +
		"\tinsteadOf = https://git.example.com/o/\n\tinsteadOf = ssh://git@git.example.com/o/\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	n := newInternet(t)
	n.serve("unused.example.com", http.NotFoundHandler())
	f := n.fetcher("", func(o *Options) { o.UserGit = true })
	for _, url := range []string{"git@git.example.com:o/base.git", "https://git.example.com/o/base.git"} {
		for _, ref := range []string{"", "main", commit} {
			w := remote.Want{Kind: remote.Git, URL: url, Ref: ref}
			if e := had(t, f, w); e.Revision != commit || contentOf(t, f, e, "a.yaml") != "one" {
				t.Errorf("%s: %+v", w, e)
			}
		}
	}
	// Submodules next to the repository are read with the same access as the repository.
	g.create("o/sub.git")
	sub := g.commit("o/sub.git", "refs/heads/main", "b.yaml", "two")
	g.commit("o/base.git", "refs/heads/nested", ".gitmodules", "[submodule \"s\"]\n\tpath = sub\n\turl = ../sub.git\n")
	g.git(g.work("o/base.git"), "update-index", "--add", "--cacheinfo", "160000,"+sub+",sub")
	g.push("o/base.git", "refs/heads/nested")
	for _, url := range []string{"git@git.example.com:o/base.git", "ssh://git@git.example.com/o/base.git"} {
		w := remote.Want{Kind: remote.Git, URL: url, Ref: "nested", Submodules: true}
		if e := had(t, f, w); contentOf(t, f, e, "sub/b.yaml") != "two" {
			t.Errorf("%s: %+v", w, e)
		}
	}
	if !isCommit(commit) {
		t.Error(commit)
	}
	refused(t, f, remote.Want{Kind: remote.Git, URL: "https://git.example.com/o/base.git", Ref: "absent"}, true,
		"no branch")
	refused(t, f, remote.Want{Kind: remote.Git, URL: "https://git.example.com/o/absent.git"}, false, "could not read")
}
