package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/remote/fetch"
)

// outbound are the first requests of all that the server asks others for, with who makes them: GitHub's API, git for its
// repositories, and git and charts from outside.
var outbound = []string{"lintel GET /api/v3/app/installations", "real git GET /octo/svc.git/info/refs",
	"git GET /octo/base.git/info/refs", "lintel GET /charts/index.yaml"}

// TestBehindProxyChild makes those requests, in a process of its own: proxies are read from the environment once. What
// is asked for does not exist; that it was asked for is what counts.
func TestBehindProxyChild(t *testing.T) {
	address, key := os.Getenv("LINTEL_TEST_ADDRESS"), os.Getenv("LINTEL_TEST_KEY")
	if address == "" {
		t.Skip("it is run by TestBehindProxy")
	}
	ctx := t.Context()
	client, err := github.NewClient(github.Config{URL: address, AppID: 1, PrivateKey: []byte(key)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Installations(ctx); err != nil {
		t.Errorf("GitHub: %v", err)
	}
	mirrors, err := mirror.New(mirror.Config{Dir: t.TempDir(), Client: client})
	if err != nil {
		t.Fatal(err)
	}
	_, err = mirrors.Fetch(ctx, forge.Repo{Installation: 1, ID: 42, Owner: "octo", Name: "svc"},
		mirror.Want{BaseRef: "main", HeadSHA: strings.Repeat("1", 40)})
	t.Logf("git: %v", err)
	rules, err := fetch.ParsePolicy("sources.yaml", []byte("private: [127.0.0.0/8]\n"))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := remote.OpenStore(ctx, remote.StoreOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	sources, err := fetch.New(fetch.Options{Store: kept, Policy: rules})
	if err != nil {
		t.Fatal(err)
	}
	defer sources.Close()
	lock, err := sources.Fetch(ctx, []remote.Want{{Kind: remote.Git, URL: address + "/octo/base.git", Ref: "main"},
		{Kind: remote.Chart, URL: address + "/charts", Name: "app", Ref: "1.2.3"}})
	t.Logf("from outside: %+v, %v", lock, err)
}

// Everything goes through the proxy that HTTPS_PROXY names, but for what NO_PROXY has, and trusts the authority that
// SSL_CERT_FILE and GIT_SSL_CAINFO name. The host of the first case is known to the proxy alone.
func TestBehindProxy(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	var mu sync.Mutex
	var asked, tunnels []string
	note := func(list *[]string, text string) { mu.Lock(); defer mu.Unlock(); *list = append(*list, text) }
	hub := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent, _, _ := strings.Cut(r.UserAgent(), "/")
		if agent == "git" && r.UserAgent() != "git/lintel" {
			agent = "real git" // the other one is the server, in the name of git or to find out why git failed
		}
		note(&asked, agent+" "+r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/app/installations"):
			_, _ = io.WriteString(w, "[]")
		case strings.HasSuffix(r.URL.Path, "/access_tokens"):
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"token":"ghs_x","expires_at":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(hub.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(&tunnels, r.Method+" "+r.Host)
		if r.Method != http.MethodConnect || r.Host != "example.com:443" { // the name in the certificate of tests
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		tunnel(w, hub.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hub.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for name, c := range map[string]struct {
		address string
		by      bool // through the proxy
	}{
		"by the proxy": {"https://example.com", true},
		"NO_PROXY":     {hub.URL, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked, tunnels = nil, nil
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBehindProxyChild$", "-test.v")
			child.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(),
				"LINTEL_TEST_ADDRESS=" + c.address, "LINTEL_TEST_KEY=" + string(keyPEM), "HTTPS_PROXY=" + proxy.URL,
				"NO_PROXY=127.0.0.1", "SSL_CERT_FILE=" + authority, "GIT_SSL_CAINFO=" + authority}
			out, err := child.CombinedOutput()
			if err != nil {
				t.Errorf("%v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, want := range outbound {
				if !slices.Contains(asked, want) {
					t.Errorf("%s did not arrive", want)
				}
			}
			others := slices.ContainsFunc(tunnels, func(s string) bool { return s != "CONNECT example.com:443" })
			if c.by != (len(tunnels) > 0) || others {
				t.Errorf("the proxy was asked for %q", tunnels)
			}
			if t.Failed() {
				t.Logf("asked for %q\n%s", asked, out)
			}
		})
	}
}

// tunnel is a proxy's answer to CONNECT: what comes goes to an address, and back.
func tunnel(w http.ResponseWriter, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		to.Close()
		return
	}
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { defer to.Close(); _, _ = io.Copy(to, buffered) }()
	go func() { defer from.Close(); _, _ = io.Copy(from, to) }()
}
