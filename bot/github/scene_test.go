package github

import (
	"bytes"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// setupScene is GitHub, a server without an App, and a browser.
type setupScene struct {
	t     *testing.T
	hub   *githubtest.Server
	setup *Setup
	url   string // of the server
	data  string // its data directory
	log   *bytes.Buffer
	now   time.Time
}

// newSetupScene starts a server; it writes its log without a lock, so a test reads it when no request is under way.
func newSetupScene(t *testing.T, change func(*SetupConfig)) *setupScene {
	t.Helper()
	s := &setupScene{t: t, hub: newSetupHub(t), data: t.TempDir(), log: &bytes.Buffer{},
		now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	registrar, err := NewRegistrar(s.hub.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := SetupConfig{Registrar: registrar, GitHubURL: s.hub.URL(), DataDir: s.data,
		Log: slog.New(slog.NewJSONHandler(s.log, nil)), Now: func() time.Time { return s.now }}
	if change != nil {
		change(&c)
	}
	if s.setup, err = NewSetup(c); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.setup)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// response is an answer that was read.
type response struct {
	code   int
	header http.Header
	body   string
	url    *url.URL // where it came from, after redirects
}

func (s *setupScene) do(req *http.Request, err error) response {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{res.StatusCode, res.Header, string(body), res.Request.URL}
}

func (s *setupScene) get(path string) response {
	s.t.Helper()
	return s.do(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil))
}

func (s *setupScene) post(address string, form url.Values) response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return s.do(req, err)
}

var (
	formAction = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	inputs     = regexp.MustCompile(`<input ([^>]*)>`)
	attribute  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// form is the form of a page: where it goes, and its fields as they are filled in.
func (s *setupScene) form(page response) (string, url.Values) {
	s.t.Helper()
	action := formAction.FindStringSubmatch(page.body)
	if page.code != http.StatusOK || action == nil {
		s.t.Fatalf("no form: %d\n%s", page.code, page.body)
	}
	target, err := page.url.Parse(html.UnescapeString(action[1]))
	if err != nil {
		s.t.Fatal(err)
	}
	fields := url.Values{}
	for _, input := range inputs.FindAllStringSubmatch(page.body, -1) {
		if strings.Contains(input[1], `type="checkbox"`) && !strings.HasSuffix(input[1], " checked") {
			continue
		}
		var name, value string
		for _, a := range attribute.FindAllStringSubmatch(input[1], -1) {
			switch a[1] {
			case "name":
				name = a[2]
			case "value":
				value = html.UnescapeString(a[2])
			}
		}
		fields.Set(name, value)
	}
	return target.String(), fields
}

// offered goes through the first form and answers the second one.
func (s *setupScene) offered() (string, url.Values) {
	s.t.Helper()
	return s.form(s.post(s.form(s.get(s.setup.Path()))))
}

// callback gets a code from GitHub and returns the path it sends the browser to.
func (s *setupScene) callback() string {
	s.t.Helper()
	address, fields := s.offered()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(address, fields)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = res.Body.Close()
	back, err := res.Location()
	if err != nil || !strings.HasPrefix(back.String(), s.url+"/setup/callback?") {
		s.t.Fatalf("GitHub sends the browser to %v, %v", back, err)
	}
	return back.RequestURI()
}

// stored is whether credentials are in the data directory.
func (s *setupScene) stored() bool {
	s.t.Helper()
	c, err := LoadCredentials(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	return c != nil
}
