package fetch

import (
	"archive/tar"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// Addresses that would be read as options, programs, files or hosts of the internal network are refused before anything
// is done.
func TestAddresses(t *testing.T) {
	n := newInternet(t)
	n.serve("git.example.com", http.NotFoundHandler())
	f := n.fetcher("")
	for _, address := range []string{
		"-oProxyCommand=touch /tmp/x", "--upload-pack=touch", "ssh://-oProxyCommand=touch/x", "https://-x/y",
		"-oProxyCommand=x:y", "git@-oProxyCommand=x:y", "ext::sh -c touch% /tmp/x", "ext::true", "file:///etc", "/etc",
		"../x", "git://git.example.com/x", "http://git.example.com/x", "ftp://git.example.com/x", "fd::17/foo",
		"https://git.example.com/a\nb", "https://git.example.com/../x", "https://git.example.com/a%2f..%2fb",
		"https://", "https:git.example.com", "", "https://git.example.com\\@127.0.0.1/", "https://git.example.com:99999999/",
		"https://127.0.0.1/x.git", "https://[::1]/x.git", "https://169.254.169.254/latest", "https://10.1.2.3/x",
		"https://[::ffff:127.0.0.1]/x", "https://[64:ff9b::7f00:1]/x", "https://[fe80::1%25eth0]/x", "https://0/x",
		"https://2130706433/x", "https://100.64.0.1/x", "https://[fd00::1]/x", "https://0x7f.1/x", "https://localhost/x",
		"ssh://127.0.0.1/x", "git@127.0.0.1:x",
	} {
		for _, kind := range []remote.Kind{remote.Git, remote.Chart, remote.File} {
			w := remote.Want{Kind: kind, URL: address, Ref: "1.2.3"}
			if kind == remote.Chart && !strings.HasPrefix(address, "oci") {
				w.Name = "app"
			}
			if e := get(t, f, w); e.Failure == nil || e.Failure.Broken {
				t.Errorf("%q: %+v", address, e.Failure)
			}
		}
	}
	for _, address := range []string{"oci://127.0.0.1/x", "oci://[::1]/x", "oci://registry.example.com/../x",
		"oci://-x/y"} {
		if e := get(t, f, remote.Want{Kind: remote.Chart, URL: address, Ref: "1.2.3"}); e.Failure == nil {
			t.Errorf("%q is there", address)
		}
	}
	if len(n.dialled) > 0 {
		t.Errorf("dialled %v", n.dialled)
	}
}

func TestRedirects(t *testing.T) {
	for to, words := range map[string]string{
		"https://127.0.0.1/x":           "no public address",
		"https://169.254.169.254/x":     "no public address",
		"https://[::ffff:10.0.0.1]/x":   "no public address",
		"https://inside.example.com/x":  "no public address",
		"http://charts.example.com/x":   "only https|https to http",
		"file:///etc/passwd":            "cannot be used|only https",
		"https://charts.example.com/go": "redirects more than 5",
		"https://other.example.org/x":   "list of allowed sources",
	} {
		n := newInternet(t)
		redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to, http.StatusFound)
		})
		n.serve("charts.example.com", redirect)
		n.names["inside.example.com"] = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
		f := n.fetcher("allow: ['https://*.example.com/**', 'https://127.0.0.1/**', 'https://169.254.169.254/**', " +
			"'https://[::ffff:10.0.0.1]/**', 'oci://**']")
		file := remote.Want{Kind: remote.File, URL: "https://charts.example.com/f.yaml"}
		repository := remote.Want{Kind: remote.Git, URL: "https://charts.example.com/r.git", Ref: "main"}
		registry := remote.Want{Kind: remote.Chart, URL: "oci://charts.example.com/app", Ref: "1.2.3"}
		for _, w := range []remote.Want{file, chartWant("1.2.3"), repository, registry} {
			e := get(t, f, w)
			found := false
			for word := range strings.SplitSeq(words, "|") {
				found = found || (e.Failure != nil && strings.Contains(e.Failure.Message, word))
			}
			if !found || e.Failure.Broken {
				t.Errorf("%s: %s: %+v", to, w, e.Failure)
			}
		}
		for _, d := range n.dialled {
			if !strings.HasPrefix(d, "93.184.216.") {
				t.Errorf("%s: dialled %s", to, d)
			}
		}
	}
}

// The address that was checked is the one that is dialled, whatever DNS answers the next time.
func TestNamesChange(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	f := n.fetcher("", func(o *Options) {
		good := o.Web.Resolve
		o.Web.Resolve = func(ctx ctxt, host string) ([]netip.Addr, error) {
			list, err := good(ctx, host)
			n.mu.Lock()
			defer n.mu.Unlock()
			n.names[host] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
			return list, err
		}
	})
	had(t, f, chartWant("1.2.3"))
	f.Close()
	n.pass(time.Hour)
	refused(t, f, chartWant("1.x"), false, "no public address")
	for _, d := range n.dialled {
		if !strings.HasPrefix(d, "93.184.216.") {
			t.Errorf("dialled %s", d)
		}
	}
	// Of several addresses only the public ones are dialled.
	n.names["charts.example.com"] = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("93.184.216.1")}
	f = n.fetcher("")
	had(t, f, chartWant("1.2.3"))
	if slices.ContainsFunc(n.dialled, func(d string) bool { return !strings.HasPrefix(d, "93.184.216.") }) {
		t.Errorf("dialled %v", n.dialled)
	}
}

// Credentials come from the operator, for one address prefix, and never from the repository.
func TestCredentials(t *testing.T) {
	n := newInternet(t)
	r, other := newRepository(), newRepository()
	r.add(t, "app", "1.2.3", "one", "https://other.example.com/charts/app-1.2.3.tgz")
	other.files = r.files
	n.serve("charts.example.com", r)
	n.serve("other.example.com", other)
	n.serve("leads.example.com", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "https://other.example.com"+q.URL.Path, http.StatusFound)
	}))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("me:hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := n.fetcher("credentials:\n- {prefix: 'https://charts.example.com/charts/', basicAuthFile: " + secret + "}\n" +
		"- {prefix: 'https://leads.example.com/', tokenFile: " + secret + "}")
	had(t, f, chartWant("1.2.3"))
	had(t, f, remote.Want{Kind: remote.File, URL: "https://leads.example.com/charts/app-1.2.3.tgz"})
	had(t, f, remote.Want{Kind: remote.File, URL: "https://tree:password@other.example.com/charts/app-1.2.3.tgz?x=1"})
	for address, shown := range n.shown() {
		want := ""
		switch {
		case strings.HasPrefix(address, "https://charts.example.com/charts/"):
			want = "Basic bWU6aHVudGVyMg=="
		case strings.HasPrefix(address, "https://leads.example.com/"):
			want = "Bearer me:hunter2"
		}
		if shown != want {
			t.Errorf("%s was shown %q", address, shown)
		}
	}
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	e := get(t, f, remote.Want{Kind: remote.File, URL: "https://leads.example.com/other"})
	if e.Failure == nil || e.Failure.Broken || strings.Contains(e.Failure.Message, secret) {
		t.Errorf("got %+v", e.Failure)
	}
}

// Error messages contain no part of an address that may be secret, and nothing about this machine.
func TestFailuresKeepSecrets(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.token = "ghs_verysecret"
	n.serve("git.example.com", g)
	n.serve("charts.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/redirect"):
			http.Redirect(w, r, "https://absent.example.com/x?signature=hunter2", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/broken"):
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				conn.Close()
			}
		default:
			_, _ = w.Write([]byte("<html>hunter2</html>"))
		}
	}))
	f := n.fetcher("", func(o *Options) { o.Token = func(ctxt, string) (string, error) { return g.token, nil } })
	for _, w := range []remote.Want{
		{Kind: remote.Git, URL: "https://me:hunter2@git.example.com/o/absent.git?token=hunter2", Ref: "hunter2"},
		{Kind: remote.Git, URL: "https://me:hunter2@git.example.com/private/absent.git", Ref: "main"},
		{Kind: remote.Git, URL: "https://charts.example.com/broken/x?token=hunter2", Ref: "main"},
		{Kind: remote.Git, URL: "https://charts.example.com/page?token=hunter2", Ref: "main"},
		{Kind: remote.Git, URL: "https://absent.example.com/hunter2", Ref: "main"},
		{Kind: remote.File, URL: "https://charts.example.com/redirect?token=hunter2"},
		{Kind: remote.File, URL: "https://charts.example.com/broken?token=hunter2"},
		{Kind: remote.Chart, URL: "https://charts.example.com/page?token=hunter2", Name: "app", Ref: "1.2.3"},
		{Kind: remote.Chart, URL: "oci://charts.example.com/page", Ref: "1.2.3"},
		{Kind: remote.Chart, URL: "oci://charts.example.com/broken", Ref: "1.x"},
	} {
		e := get(t, f, w)
		if e.Failure == nil {
			t.Fatalf("%s is there", w)
		}
		for _, secret := range []string{"hunter2", g.token, "://", "/tmp", f.o.Store.GitDir(), g.root, "127.0.0.1"} {
			if strings.Contains(e.Failure.Message, secret) {
				t.Errorf("%s: %s", w, e.Failure.Message)
			}
		}
	}
}

// The operator sets the list of allowed sources, and a repository can only narrow it.
func TestAllowed(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	refused(t, n.fetcher("allow: ['oci://**']"), chartWant("1.2.3"), false, "list of allowed")
	f := n.fetcher("allow: ['https://charts.example.com/**']")
	had(t, f, chartWant("1.2.3"))
	narrow, err := f.o.Policy.Narrow([]string{"https://**", "oci://**"})
	if err != nil {
		t.Fatal(err)
	}
	g := n.fetcher("", func(o *Options) { o.Policy = narrow })
	refused(t, g, remote.Want{Kind: remote.File, URL: "https://other.example.com/x"}, false, "list of allowed")
	none, err := narrow.Narrow([]string{})
	if err != nil {
		t.Fatal(err)
	}
	// What the store already has is not used, either.
	refused(t, n.fetcher("", func(o *Options) { o.Policy, o.Store = none, f.o.Store }), chartWant("1.2.3"), false,
		"list of allowed")
}

// Content in the store is refused if it came from a host that is not on the list, whether it is asked for the first
// time or again.
func TestAllowedContent(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "https://charts.example.com/go/app-1.2.3.tgz")
	n.serve("charts.example.com", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if rest, ok := strings.CutPrefix(q.URL.Path, "/go/"); ok {
			http.Redirect(w, q, "https://other.example.com/charts/"+rest, http.StatusFound)
			return
		}
		r.ServeHTTP(w, q)
	}))
	n.serve("other.example.com", r)
	s := n.open(t.TempDir())
	store := func(o *Options) { o.Store = s }
	had(t, n.fetcher("", store), chartWant("1.2.3"))
	narrow := n.fetcher("allow: ['https://charts.example.com/**']", store)
	for range 2 {
		refused(t, narrow, chartWant("1.2.x"), false, "another host")
	}
	had(t, n.fetcher("", store), chartWant("1.2.x"))
}

func TestForks(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	r.add(t, "app", "1.3.0", "three", "app-1.3.0.tgz")
	n.serve("charts.example.com", r)
	s := n.open(t.TempDir())
	fork := func(o *Options) { o.Store, o.Fork = s, true }
	refused(t, n.fetcher("", fork), chartWant("1.2.3"), false, "fork")
	had(t, n.fetcher("", func(o *Options) { o.Store = s }), chartWant("1.2.3"))
	n.asked()
	n.pass(time.Hour)
	had(t, n.fetcher("", fork), chartWant("1.2.3"))
	refused(t, n.fetcher("", fork), chartWant("1.3.0"), false, "fork")
	if got := n.asked(); len(got) > 0 {
		t.Errorf("asked %v", got)
	}
	had(t, n.fetcher("forks: {allow: ['https://charts.example.com/**']}", fork), chartWant("1.3.0"))
}

// A failure because of the asker's permissions or deadline is not remembered for the next one who asks.
func TestOwnFailures(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "https://other.example.com/charts/app-1.2.3.tgz")
	for _, name := range []string{"o/base.git", "o/sub.git"} {
		g.create(name)
		g.commit(name, "refs/heads/main", "a.yaml", "one")
	}
	g.git(g.work("o/base.git"), "-c", "protocol.file.allow=always", "submodule", "add", filepath.Join(g.root, "o/sub.git"),
		"sub")
	g.git(g.work("o/base.git"), "config", "-f", ".gitmodules", "submodule.sub.url", "https://git.example.com/o/sub.git")
	g.git(g.work("o/base.git"), "add", "-A")
	g.push("o/base.git", "refs/heads/main")
	n.serve("charts.example.com", r)
	n.serve("other.example.com", r)
	n.serve("git.example.com", g)
	n.serve("leads.example.com", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "https://other.example.com"+q.URL.Path, http.StatusFound)
	}))
	leads := remote.Want{Kind: remote.File, URL: "https://leads.example.com/charts/app-1.2.3.tgz"}
	nested := gitWant("main")
	nested.Submodules = true
	without := "allow: ['https://charts.example.com/**', 'https://leads.example.com/**', " +
		"'https://git.example.com/o/base.git']"
	for name, c := range map[string]struct {
		want    remote.Want
		sources string
		asker   func(*Options)
		words   string
	}{
		"an index": {chartWant("1.2.3"), without, func(*Options) {}, "the index points to"},
		"a fork": {chartWant("1.2.3"), "forks: {allow: ['https://charts.example.com/**']}",
			func(o *Options) { o.Fork = true }, "for a change from a fork"},
		"a redirect":  {leads, without, func(*Options) {}, "it redirects to"},
		"a submodule": {nested, without, func(*Options) {}, "its submodule sub cannot be fetched: it is not in the list"},
		"a deadline": {gitWant("main"), "", func(o *Options) { o.Deadline = time.Now().Add(-time.Second) },
			"the time limit for fetching remote sources"},
		"a submodule that is private": {nested, "", func(o *Options) {
			o.Token = func(ctxt, string) (string, error) { return "any", nil }
			o.MayRead = func(_ ctxt, address string) (bool, error) { return !strings.Contains(address, "sub"), nil }
		}, "may not read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := n.open(t.TempDir())
			refused(t, n.fetcher(c.sources, func(o *Options) { o.Store = s }, c.asker), c.want, false, c.words)
			other := n.fetcher("", func(o *Options) {
				c.asker(o)
				o.Store, o.Fork, o.Deadline, o.MayRead = s, false, time.Time{}, nil
			})
			had(t, other, c.want)
		})
	}
}

func TestOffline(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	s := n.open(t.TempDir())
	had(t, n.fetcher("", func(o *Options) { o.Store = s }), chartWant("1.x"))
	n.asked()
	n.pass(24 * time.Hour)
	f := n.fetcher("", func(o *Options) { o.Store, o.Offline = s, true })
	had(t, f, chartWant("1.x"))
	refused(t, f, chartWant("1.2.3"), false, "network is not used")
	// It is known without the network what there is, and that there is no more.
	wants := []remote.Want{chartWant("1.2.3"), chartWant("1.x")}
	fetched, err := f.Fetch(t.Context(), wants)
	known, err2 := f.Known(t.Context(), wants)
	if err != nil || err2 != nil || len(known) != 2 || !reflect.DeepEqual(known, fetched) {
		t.Errorf("known %+v, %v; fetched %+v, %v", known, err2, fetched, err)
	}
	// With the network, an old answer is none.
	f = n.fetcher("", func(o *Options) { o.Store = s })
	if known, err := f.Known(t.Context(), wants); len(known) > 0 || err != nil {
		t.Errorf("known %+v, %v", known, err)
	}
	if sizes, err := f.store.Sizes(); err != nil || len(sizes) != 1 || sizes[chartWant("1.x")] == 0 {
		t.Errorf("got %+v, %v", sizes, err)
	}
	if got := n.asked(); len(got) > 0 {
		t.Errorf("asked %v", got)
	}
}

func TestMirrors(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	r, c := newRegistry(), newRepository()
	r.push(t, "ghcr/charts/app", "1.2.3", packed(t, "app", "1.2.3", "one"))
	c.add(t, "app", "1.2.3", "one", "https://elsewhere.example.com/charts/app-1.2.3.tgz")
	n.serve("git-corp.example.com", g)
	n.serve("registry-corp.example.com", r)
	n.serve("charts-corp.example.com", c)
	f := n.fetcher(`
mirrors:
- {from: "https://git.example.com/", to: "https://git-corp.example.com/"}
- {from: "oci://registry.example.com/", to: "oci://registry-corp.example.com/ghcr/"}
- {from: "https://charts.example.com/", to: "https://charts-corp.example.com/"}
- {from: "https://elsewhere.example.com/", to: "https://charts-corp.example.com/"}
`)
	had(t, f, gitWant("main"))
	ssh := gitWant("main")
	ssh.URL = "git@git.example.com:o/base.git"
	had(t, f, ssh)
	had(t, f, ociWant("1.2.3"))
	had(t, f, chartWant("1.2.3"))
}

// Only the operator can allow private addresses and plain http.
func TestPrivateAddresses(t *testing.T) {
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	server := httptest.NewServer(r)
	defer server.Close()
	n := newInternet(t)
	n.serve("unused.example.com", http.NotFoundHandler())
	w := chartWant("1.2.3")
	w.URL = server.URL + "/charts"
	real := func(o *Options) { o.Web.Dial = (&net.Dialer{}).DialContext }
	refused(t, n.fetcher("", real), w, false, "plain http is not allowed")
	plain := "plainHTTP: ['" + server.URL + "/']"
	refused(t, n.fetcher(plain, real), w, false, "no public address")
	had(t, n.fetcher(plain+"\nprivate: [127.0.0.0/8]", real), w)
}

// With a proxy, the proxy dials. Addresses that are written as private IP addresses are refused nevertheless.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := newInternet(t)
	n.serve("unused.example.com", http.NotFoundHandler())
	f := n.fetcher("", func(o *Options) { o.Web.Proxy = http.ProxyURL(at) })
	refused(t, f, remote.Want{Kind: remote.File, URL: "https://169.254.169.254/x"}, false, "no public address")
	refused(t, f, remote.Want{Kind: remote.File, URL: "https://localhost/x"}, false, "no public address")
	refused(t, f, remote.Want{Kind: remote.File, URL: "https://files.example.com/x"}, false, "cannot be reached")
	if !slices.Contains(asked, "CONNECT files.example.com:443") || len(asked) != 3 {
		t.Errorf("asked %v", asked)
	}
}

// Endless answers are cut off.
func TestEndless(t *testing.T) {
	n := newInternet(t)
	var sent atomic.Int64
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = '#'
	}
	n.serve("charts.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "announced") {
			w.Header().Set("Content-Length", fmt.Sprint(1<<30))
		}
		for range 1 << 10 {
			if _, err := w.Write(block); err != nil {
				return
			}
			sent.Add(1 << 20)
		}
	}))
	f := n.fetcher("")
	refused(t, f, chartWant("1.2.3"), false, "larger than 50 MiB")
	if sent.Load() > 80<<20 {
		t.Errorf("%d MiB were sent", sent.Load()>>20)
	}
	sent.Store(0)
	refused(t, f, remote.Want{Kind: remote.File, URL: "https://charts.example.com/announced"}, false, "larger")
	if sent.Load() > 20<<20 {
		t.Errorf("%d MiB were sent", sent.Load()>>20)
	}
}

func TestSlow(t *testing.T) {
	n := newInternet(t)
	n.serve("registry.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "trickle") {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}))
	f := n.fetcher("", func(o *Options) { o.Timeout = 150 * time.Millisecond })
	for _, w := range []remote.Want{ociWant("1.2.3"), ociWant("1.x"),
		{Kind: remote.Git, URL: "https://registry.example.com/x", Ref: "main"},
		{Kind: remote.File, URL: "https://registry.example.com/trickle"}} {
		refused(t, f, w, false, "took longer than 150ms")
	}
}

// When the caller's context ends, that is no failure of the source. Failures say whether another try may help, also
// those that were noted before.
func TestTemporaryFailuresAreMarked(t *testing.T) {
	n := newInternet(t)
	n.serve("files.example.com", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var code int
		_, _ = fmt.Sscanf(q.URL.Path, "/%d", &code)
		if code == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(code)
	}))
	f := n.fetcher("")
	for path, want := range map[string]bool{"503": true, "429": true, "cut": true, "404": false, "401": false,
		"302": false} {
		for range 2 {
			e := get(t, f, remote.Want{Kind: remote.File, URL: "https://files.example.com/" + path})
			if e.Failure == nil || e.Failure.Passing != want {
				t.Errorf("%s: %+v", path, e.Failure)
			}
		}
	}
}

func TestCallerEnds(t *testing.T) {
	n := newInternet(t)
	ctx, cancel := cancellable(t)
	n.serve("registry.example.com", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	f := n.fetcher("")
	if lock, err := f.Fetch(ctx, []remote.Want{ociWant("1.2.3")}); !errors.Is(err, errEnough) || lock != nil {
		t.Errorf("%v, %v", lock, err)
	}
}

func TestArchives(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	good := file{name: "app/Chart.yaml", data: "apiVersion: v2\nname: ../../etc/app\nversion: 1.2.3\n"}
	for _, c := range []struct {
		name   string
		data   []byte
		broken bool
		words  string
	}{
		{"link", pack(t, good, file{name: "app/values.yaml", kind: tar.TypeSymlink, link: "/etc/passwd"}), false, "link"},
		{"hard link", pack(t, good, file{name: "app/x", kind: tar.TypeLink, link: "app/Chart.yaml"}), false, "link"},
		{"path", pack(t, good, file{name: "app/../../x", data: "x"}), true, "outside the chart"},
		{"absolute", pack(t, good, file{name: "app//etc/x", data: "x"}), true, "outside the chart"},
		{"device", pack(t, good, file{name: "app/x", kind: tar.TypeChar}), true, "no file"},
		{"no chart", pack(t, file{name: "app/values.yaml", data: "x"}), true, "no Chart.yaml"},
		{"no folder", pack(t, file{name: "Chart.yaml", data: "x"}), true, "not in a folder"},
		{"bomb", pack(t, good, file{name: "app/x", data: strings.Repeat("0", 3<<20)}), false, "too large"},
		{"no archive", []byte("hello"), true, "not a packed chart"},
		{"half an archive", pack(t, good)[:60], true, "not a packed chart"},
		{"file and folder", pack(t, good, file{name: "app/a", data: "x"}, file{name: "app/a/b", data: "x"}), true,
			"as a folder"},
	} {
		r.mu.Lock()
		r.index = "apiVersion: v1\nentries:\n  app:\n  - name: app\n    version: 1.2.3\n    urls: [app-1.2.3.tgz]\n"
		r.files["/charts/app-1.2.3.tgz"] = c.data
		r.mu.Unlock()
		f := n.fetcher("", func(o *Options) { o.Charts.Packed, o.Charts.Unpacked, o.Charts.Files = 10<<20, 1<<20, 100 })
		e := get(t, f, chartWant("1.2.3"))
		if e.Failure == nil || e.Failure.Broken != c.broken || !strings.Contains(e.Failure.Message, c.words) {
			t.Errorf("%s: %+v", c.name, e.Failure)
		}
	}
	// No file is named after the name in Chart.yaml.
	odd := file{name: "app/a \"b\"\\x\n.yaml", data: "odd"}
	r.mu.Lock()
	r.files["/charts/app-1.2.3.tgz"] = pack(t, good, odd, file{name: "app/.git/config", data: "x"})
	r.mu.Unlock()
	f := n.fetcher("")
	e := had(t, f, chartWant("1.2.3"))
	if got := contentOf(t, f, e, "Chart.yaml"); got != good.data {
		t.Errorf("got %q", got)
	}
	if got := contentOf(t, f, e, "a \"b\"/x\n.yaml"); got != "odd" {
		t.Errorf("got %q", got)
	}
}
