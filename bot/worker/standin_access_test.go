package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

// readers is a server with a page about the stand-in's repository, and a clock of its own.
type readers struct {
	*standin
	url  string
	repo forge.Repository
	data string
	logs *logs

	mu    sync.Mutex
	ahead time.Duration
	codes []string // that came back from GitHub
}

func (s *readers) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead)
}

func (s *readers) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// TestStandinAccess has people sign in with the stand-in as GitHub, which checks each step of it.
func TestStandinAccess(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	skipWithoutStandin(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	s := &readers{standin: startStandin(ctx, t), data: t.TempDir(), logs: &logs{}}
	secret := s.start()
	const page = "/r/fleet"
	alice, mallory, nobody := s.browser("alice"), s.browser("mallory"), s.browser("")
	see := func(b *http.Client, what string, status int) string {
		t.Helper()
		got, body := s.get(b, page)
		if got.StatusCode != status || (status == http.StatusOK) != (body == "the result") {
			t.Errorf("%s: %d %s", what, got.StatusCode, body)
		}
		return body
	}
	see(alice, "signs in", http.StatusOK)
	denied := see(mallory, "no access", http.StatusNotFound)
	if got, body := s.get(mallory, "/r/none"); got.StatusCode != http.StatusNotFound || body != denied {
		t.Errorf("what does not exist: %d %s", got.StatusCode, body)
	}
	if got, body := s.get(nobody, page); got.Request.URL.Path != "/login/oauth/authorize" ||
		!strings.Contains(body, "Sign in to GitHub") {
		t.Errorf("nobody is at %s: %s", got.Request.URL, body)
	}

	// Removed at GitHub, and back.
	s.control(http.MethodDelete, "/orgs/octo-org/members/alice", nil, nil)
	s.add(results.DefaultAccessTTL - time.Minute)
	see(alice, "removed, remembered", http.StatusOK)
	s.add(time.Minute)
	see(alice, "removed", http.StatusNotFound)
	s.control(http.MethodPut, "/repos/octo-org/fleet/collaborators/alice", fields{"permission": "read"}, nil)
	s.add(results.DefaultAccessTTL)
	see(alice, "invited", http.StatusOK)

	// Made public, and private again; renamed.
	private := func(private bool) {
		s.control(http.MethodPatch, "/repos/octo-org/fleet", fields{"private": private}, nil)
		s.add(results.DefaultAccessTTL)
	}
	private(false)
	see(nobody, "public", http.StatusOK)
	private(true)
	if got, _ := s.get(nobody, page); got.Request.URL.Path != "/login/oauth/authorize" {
		t.Errorf("private again: %s", got.Request.URL)
	}
	s.control(http.MethodPatch, "/repos/octo-org/fleet", fields{"name": "armada"}, nil)
	s.add(results.DefaultAccessTTL)
	see(alice, "renamed", http.StatusOK)

	// GitHub fails.
	bob := s.browser("bob")
	s.get(bob, "/auth/login")
	s.control(http.MethodPost, "/faults", fields{"do": "status", "status": 502, "times": nil,
		"match": fields{"scope": "api", "path": "^(/api/v3)?/repos/"}}, nil)
	see(alice, "remembered", http.StatusOK)
	see(bob, "not let in before", http.StatusServiceUnavailable)
	s.add(results.DefaultAccessTTL)
	see(alice, "forgotten", http.StatusServiceUnavailable)
	s.control(http.MethodDelete, "/faults", nil, nil)
	s.add(2 * time.Second)
	see(alice, "over", http.StatusOK)
	see(bob, "over", http.StatusOK)

	// Signed out, cancelled, and a day later.
	form, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/auth/sign-out", nil)
	if err != nil {
		t.Fatal(err)
	}
	form.Header.Set("Origin", s.url)
	if got, err := bob.Do(form); err != nil || got.StatusCode != http.StatusOK || got.Body.Close() != nil {
		t.Errorf("sign-out: %+v, %v", got, err)
	}
	s.control(http.MethodPatch, "/settings", fields{"authorize": "deny"}, nil)
	got, body := s.get(bob, page)
	choice := regexp.MustCompile(`href="(/login\?user=bob&amp;[^"]*)"`).FindStringSubmatch(body)
	if got.Request.URL.Path != "/login/oauth/authorize" || choice == nil {
		t.Fatalf("signed out, bob is not asked who signs in: %s %s", got.Request.URL, body)
	}
	cancelled, err := bob.Get(s.base + html.UnescapeString(choice[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer cancelled.Body.Close()
	if body, err := io.ReadAll(cancelled.Body); err != nil || cancelled.StatusCode != http.StatusOK ||
		!strings.Contains(string(body), "was cancelled") {
		t.Errorf("cancelled: %d %s %v", cancelled.StatusCode, body, err)
	}
	see(alice, "still signed in", http.StatusOK)
	s.add(25 * time.Hour)
	if _, body := s.get(alice, page); !strings.Contains(body, "was cancelled") {
		t.Errorf("a day later: %s", body)
	}
	s.control(http.MethodPatch, "/settings", fields{"authorize": "allow"}, nil)
	see(alice, "again", http.StatusOK)
	// Uninstalled.
	s.control(http.MethodDelete, fmt.Sprintf("/installations/%d", s.installation), nil, nil)
	s.add(results.DefaultAccessTTL)
	see(alice, "uninstalled", http.StatusNotFound)

	for _, side := range []string{"side=app&severity=error", "side=standin", "side=app&kind=login"} {
		var violations []fields
		s.control(http.MethodGet, "/violations?"+side, nil, &violations)
		for _, v := range violations {
			t.Errorf("%s: %v", side, v)
		}
	}
	s.nothingKept(append(s.codes, secret, "ghu_", "ghr_"))
}

// start registers the App with its callback, and starts the server. It returns the client secret.
func (s *readers) start() string {
	s.t.Helper()
	var pages http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := r.URL.Query().Get("code"); code != "" {
			s.mu.Lock()
			s.codes = append(s.codes, code)
			s.mu.Unlock()
		}
		pages.ServeHTTP(w, r)
	}))
	s.t.Cleanup(server.Close)
	s.url = server.URL
	var app struct {
		ID           int64
		PEM          string
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	s.control(http.MethodPost, "/apps", fields{"name": "Lintel", "owner": "octo-org",
		"hook_url": "http://127.0.0.1:9/webhook", "hook_active": false,
		"callback_urls": []string{s.url + github.CallbackPath},
		"permissions":   fields{"metadata": "read", "contents": "read"}, "events": []string{}}, &app)
	s.control(http.MethodPut, "/orgs/octo-org", fields{"members": []string{"alice", "bob"}, "owners": []string{"olga"},
		"default_repository_permission": "read"}, nil)
	s.control(http.MethodPut, "/users/mallory", fields{}, nil)
	var repo, installed struct{ ID int64 }
	s.control(http.MethodPost, "/repos", fields{"full_name": "octo-org/fleet", "files": fields{"a.yaml": "a: 1\n"}}, &repo)
	s.control(http.MethodPost, "/installations", fields{"account": "octo-org", "repositories": []string{"octo-org/fleet"}},
		&installed)
	s.installation = installed.ID
	s.repo = forge.Repository{Repo: forge.Repo{ID: repo.ID, Installation: installed.ID, Owner: "octo-org", Name: "fleet"}, Private: true}

	client, err := github.NewClient(github.Config{URL: s.base, AppID: app.ID, PrivateKey: []byte(app.PEM)})
	if err != nil {
		s.t.Fatal(err)
	}
	signIn, err := github.NewSignIn(github.SignInConfig{URL: s.base, ClientID: app.ClientID,
		ClientSecret: app.ClientSecret})
	if err != nil {
		s.t.Fatal(err)
	}
	jobs, err := store.Open(s.ctx, store.Config{Dir: filepath.Join(s.data, "queue")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(jobs.Close)
	sessions, used, err := jobs.Sessions(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	guard, err := results.NewAccess(results.AccessConfig{Hub: client, PublicURL: s.url, SignIn: signIn, Sessions: sessions, Used: used, Now: s.now,
		Log: slog.New(slog.NewJSONHandler(s.logs, nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	mux := http.NewServeMux()
	guard.Routes(mux)
	mux.HandleFunc("GET /r/fleet", func(w http.ResponseWriter, r *http.Request) {
		switch level, err := guard.Level(r, s.repo); {
		case err != nil:
			http.Error(w, "unavailable", http.StatusServiceUnavailable)
		case level == results.Hidden:
			guard.Turn(w, r)
		default:
			_, _ = io.WriteString(w, "the result")
		}
	})
	mux.HandleFunc("GET /r/", func(w http.ResponseWriter, r *http.Request) { guard.Turn(w, r) })
	pages = mux
	return app.ClientSecret
}

// browser is one in which somebody is signed in at GitHub; with no login, nobody.
func (s *readers) browser(login string) *http.Client {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if login != "" {
		u, err := url.Parse(s.base)
		if err != nil {
			s.t.Fatal(err)
		}
		jar.SetCookies(u, []*http.Cookie{{Name: "user_session", Value: login, Path: "/"}})
	}
	return &http.Client{Jar: jar}
}

// get opens a page, as a browser follows redirects.
func (s *readers) get(b *http.Client, path string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := b.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(data)
}

// nothingKept requires that no secret is in the log or in the data folder.
func (s *readers) nothingKept(secrets []string) {
	s.t.Helper()
	if len(s.codes) == 0 {
		s.t.Error("no code came back from GitHub")
	}
	has := func(what string, data []byte) {
		for _, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				s.t.Errorf("%s has %q", what, secret)
			}
		}
	}
	has("the log", []byte(s.logs.String()))
	err := filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		has(d.Name(), data)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
