package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// internet is a network with names of its own: each host under example.com is a handler, reached by https.
type internet struct {
	t  *testing.T
	ca string

	mu       sync.Mutex
	names    map[string][]netip.Addr
	handlers map[string]http.Handler
	servers  map[string]*httptest.Server // by address
	requests []string                    // "GET https://host/path"
	headers  []http.Header
	dialled  []string
	resolved map[string]int
	now      time.Time
	slept    []time.Duration
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	return &internet{t: t, names: map[string][]netip.Addr{}, handlers: map[string]http.Handler{},
		servers: map[string]*httptest.Server{}, resolved: map[string]int{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// serve sets the handler of a host.
func (n *internet) serve(host string, h http.Handler) {
	n.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.requests = append(n.requests, r.Method+" https://"+r.Host+r.URL.RequestURI())
		n.headers = append(n.headers, r.Header.Clone())
		n.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	n.t.Cleanup(server.Close)
	n.mu.Lock()
	defer n.mu.Unlock()
	address := netip.AddrFrom4([4]byte{93, 184, 216, byte(len(n.servers) + 1)})
	n.names[host] = []netip.Addr{address}
	n.servers[address.String()] = server
	if n.ca == "" {
		n.ca = filepath.Join(n.t.TempDir(), "ca.pem")
		data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		if err := os.WriteFile(n.ca, data, 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
}

func (n *internet) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resolved[host]++
	list, ok := n.names[host]
	if !ok {
		return nil, &net.DNSError{Name: host, Err: "no such host", IsNotFound: true}
	}
	return list, nil
}

func (n *internet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.dialled = append(n.dialled, address)
	server := n.servers[host]
	n.mu.Unlock()
	if server == nil {
		return nil, fmt.Errorf("connection refused")
	}
	return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
}

func (n *internet) clock() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

func (n *internet) pass(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = n.now.Add(d)
}

func (n *internet) sleep(_ context.Context, d time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slept = append(n.slept, d)
	return nil
}

// asked returns the requests since the last call.
func (n *internet) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.requests
	n.requests, n.headers = nil, nil
	return list
}

// shown returns the credentials of each request since the last call of asked, by host and path.
func (n *internet) shown() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := map[string]string{}
	for i, r := range n.requests {
		m[strings.TrimPrefix(r, "GET ")] = n.headers[i].Get("Authorization")
	}
	return m
}

func (n *internet) open(dir string) *remote.Store {
	n.t.Helper()
	s, err := remote.OpenStore(n.t.Context(), remote.StoreOptions{Dir: dir, Clock: n.clock})
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// fetcher returns a fetcher with the given LINTEL_SOURCES. Its store is new unless the options have one.
func (n *internet) fetcher(sources string, change ...func(*Options)) *Fetcher {
	n.t.Helper()
	p, err := ParsePolicy(filepath.Join(n.t.TempDir(), "sources.yaml"), []byte(sources+"\ncaFile: "+n.ca+"\n"))
	if err != nil {
		n.t.Fatal(err)
	}
	o := Options{Policy: p, Timeout: time.Minute}
	o.Web.Resolve, o.Web.Dial, o.Web.Sleep = n.resolve, n.dial, n.sleep
	o.Web.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	for _, f := range change {
		f(&o)
	}
	if o.Store == nil {
		o.Store = n.open(n.t.TempDir())
	}
	f, err := New(o)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(f.Close)
	return f
}

// get fetches one thing.
func get(t *testing.T, f *Fetcher, w remote.Want) remote.Entry {
	t.Helper()
	lock, err := f.Fetch(t.Context(), []remote.Want{w})
	if err != nil {
		t.Fatal(err)
	}
	if len(lock) != 1 || lock[0].Want != w {
		t.Fatalf("got %+v", lock)
	}
	return lock[0]
}

// had fetches something that has to be there.
func had(t *testing.T, f *Fetcher, w remote.Want) remote.Entry {
	t.Helper()
	e := get(t, f, w)
	if e.Failure != nil {
		t.Fatalf("%s: %s", w, e.Failure.Message)
	}
	return e
}

// refused fetches something that must not be available, and checks that the reason has the given words.
func refused(t *testing.T, f *Fetcher, w remote.Want, broken bool, words string) {
	t.Helper()
	e := get(t, f, w)
	switch {
	case e.Failure == nil:
		t.Errorf("%s: is there", w)
	case e.Failure.Broken != broken || !strings.Contains(e.Failure.Message, words):
		t.Errorf("%s: broken %v, %q, want %v, %q", w, e.Failure.Broken, e.Failure.Message, broken, words)
	}
}

// contentOf reads a file of a fetched entry, as the renderer does.
func contentOf(t *testing.T, f *Fetcher, e remote.Entry, path string) string {
	t.Helper()
	objects, err := tree.Open(t.Context(), tree.Config{GitDir: f.o.Store.GitDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer objects.Close()
	top, err := objects.Tree(e.Tree)
	if err != nil {
		t.Fatal(err)
	}
	data, _, err := top.ReadFile(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(data)
}

// file is one entry of an archive.
type file struct {
	name, data string
	kind       byte // 0: a file
	link       string
}

func pack(t *testing.T, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data)), Typeflag: tar.TypeReg, Linkname: f.link}
		if f.kind != 0 {
			h.Typeflag = f.kind
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed is a chart with one template that says something.
func packed(t *testing.T, name, version, says string) []byte {
	return pack(t, file{name: name + "/Chart.yaml", data: "apiVersion: v2\nname: " + name + "\nversion: " + version +
		"\n"},
		file{name: name + "/templates/cm.yaml", data: says})
}

func sum(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

type ctxt = context.Context

var errEnough = errors.New("enough")

func cancellable(t *testing.T) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, func() { cancel(errEnough) }
}
