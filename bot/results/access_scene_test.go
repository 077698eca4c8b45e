package results

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/githubtest"
	"github.com/lintel-bot/lintel/bot/store"
)

const (
	fleet     = "octo-org/fleet"
	theResult = "the result of fleet"
)

// setClock is a clock that a test sets.
type setClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *setClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *setClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logs is a log that can be read while it is written.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// scene is GitHub with a private repository, and a server with pages about the repository.
type scene struct {
	t      *testing.T
	hub    *githubtest.Server
	clock  *setClock
	log    *logs
	data   string
	jobs   *store.Queue
	url    string
	access *Access
	pages  http.Handler
	repo   forge.Repository // the repository of /r/fleet
}

func newScene(t *testing.T, change func(*AccessConfig)) *scene {
	t.Helper()
	s := &scene{t: t, clock: &setClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, log: &logs{}, data: t.TempDir()}
	var err error
	if s.hub, err = githubtest.New(githubtest.Config{Now: s.clock.Now, KeyBits: 1024}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.hub.Close)
	if _, err := s.hub.AddRepo(t.Context(), fleet, ""); err != nil {
		t.Fatal(err)
	}
	s.repo = forge.Repository{Repo: forge.Repo{Owner: "octo-org", Name: "fleet"}, Private: true}
	s.repo.ID, s.repo.Installation = s.hub.RepositoryID(fleet)
	s.permit("alice", "read")
	s.permit("mallory", "none")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.pages.ServeHTTP(w, r) // s.pages may be replaced during a test
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.hub.SetCallbackURLs(s.url + github.CallbackPath)
	s.open()
	t.Cleanup(func() { s.jobs.Close() })
	s.access, s.pages = s.serve(change)
	return s
}

// open opens the queue in the data folder.
func (s *scene) open() {
	s.t.Helper()
	var err error
	if s.jobs, err = store.Open(s.t.Context(), store.Config{Dir: filepath.Join(s.data, "queue")}); err != nil {
		s.t.Fatal(err)
	}
}

// serve starts another server, like a replica.
func (s *scene) serve(change func(*AccessConfig)) (*Access, http.Handler) {
	s.t.Helper()
	app := s.hub.App()
	now := make(chan time.Time)
	close(now)
	client, err := github.NewClient(github.Config{URL: s.hub.URL(), AppID: app.ID, PrivateKey: app.PrivateKey,
		Now: s.clock.Now, After: func(time.Duration) <-chan time.Time { return now }})
	if err != nil {
		s.t.Fatal(err)
	}
	signIn, err := github.NewSignIn(github.SignInConfig{URL: s.hub.URL(), ClientID: app.ClientID,
		ClientSecret: app.ClientSecret})
	if err != nil {
		s.t.Fatal(err)
	}
	sessions, used, err := s.jobs.Sessions(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	c := AccessConfig{Hub: client, PublicURL: s.url, SignIn: signIn, Sessions: sessions, Used: used, Now: s.clock.Now,
		Log: slog.New(slog.NewJSONHandler(s.log, nil))}
	if change != nil {
		change(&c)
	}
	a, err := NewAccess(c)
	if err != nil {
		s.t.Fatal(err)
	}
	mux := http.NewServeMux()
	a.Routes(mux)
	turn := func(w http.ResponseWriter, r *http.Request) {
		if !a.Turn(w, r) {
			a.show(w, http.StatusNotFound, notice{Title: "Not found"})
		}
	}
	for _, base := range slices.Compact([]string{"", a.base}) {
		mux.HandleFunc("GET "+base+"/r/fleet", func(w http.ResponseWriter, r *http.Request) {
			r = a.Once(r)
			switch level, err := a.Level(r, s.repo); {
			case err != nil && level != Hidden:
				s.t.Errorf("level %d with %v", level, err)
			case err != nil:
				a.show(w, http.StatusServiceUnavailable, notice{})
			case level == Hidden:
				turn(w, r)
			default:
				login, _ := a.Reader(r)
				_, _ = io.WriteString(w, theResult+" for "+login)
			}
		})
		mux.HandleFunc("GET "+base+"/r/", turn)
	}
	return a, mux
}

func (s *scene) permit(login, permission string) {
	s.t.Helper()
	if err := s.hub.SetPermission(fleet, login, permission); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) public(public bool) {
	s.t.Helper()
	if err := s.hub.SetPublic(fleet, public); err != nil {
		s.t.Fatal(err)
	}
}

// asked counts the requests to GitHub whose path has a suffix.
func (s *scene) asked(suffix string) (n int) {
	for _, r := range s.hub.Requests() {
		if strings.HasSuffix(r.Path, suffix) {
			n++
		}
	}
	return n
}

// browser keeps cookies for both GitHub and the server, which are on one host.
type browser struct {
	s      *scene
	client *http.Client
	follow bool
}

func (s *scene) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &browser{s: s, follow: true}
	b.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		if b.follow {
			return nil
		}
		return http.ErrUseLastResponse
	}}
	return b
}

// as returns a browser in which a person is signed in at GitHub.
func (s *scene) as(login string) *browser {
	s.t.Helper()
	b := s.browser()
	b.get(s.hub.URL() + "/login?user=" + login + "&return_to=/login")
	return b
}

type seen struct {
	status int
	header http.Header
	body   string
	url    *url.URL
}

func (b *browser) get(address string) seen { return b.do(http.MethodGet, address, nil) }

// stop requests a page without following redirects.
func (b *browser) stop(address string) seen {
	b.follow = false
	defer func() { b.follow = true }()
	return b.get(address)
}

func (b *browser) do(method, address string, header http.Header) seen {
	b.s.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.s.url + address
	}
	req, err := http.NewRequestWithContext(context.Background(), method, address, nil)
	if err != nil {
		b.s.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.s.t.Fatal(err)
	}
	return seen{resp.StatusCode, resp.Header, string(data), resp.Request.URL}
}

// cookie returns the value of the server's cookie, "" if there is none.
func (b *browser) cookie(prefix string) string {
	u, err := url.Parse(b.s.url)
	if err != nil {
		b.s.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(u) {
		if strings.HasPrefix(c.Name, prefix) {
			return c.Value
		}
	}
	return ""
}

func (b *browser) set(name, value string) {
	u, err := url.Parse(b.s.url)
	if err != nil {
		b.s.t.Fatal(err)
	}
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// sees requires a status of the repository's page, without following redirects.
func (b *browser) sees(what string, status int) seen {
	b.s.t.Helper()
	got := b.stop("/r/fleet")
	if got.status != status || (status == http.StatusOK) != strings.Contains(got.body, theResult) {
		b.s.t.Errorf("%s: %d %s, want %d", what, got.status, got.body, status)
	}
	if status != http.StatusOK {
		b.s.strictly(what, got)
	}
	return got
}

// strictly requires the security headers of this server's own answers.
func (s *scene) strictly(what string, got seen) {
	s.t.Helper()
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		"Cache-Control": "private, no-store"} {
		if got.header.Get(name) != want {
			s.t.Errorf("%s: %s is %q", what, name, got.header.Get(name))
		}
	}
	policy := got.header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") ||
		strings.Contains(policy, "unsafe") {
		s.t.Errorf("%s: policy %q", what, policy)
	}
}

func (s *scene) clean() {
	s.t.Helper()
	for _, v := range s.hub.Violations() {
		s.t.Error(v)
	}
}
