package github

import (
	"context"
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// The whole way, with an HTTP client that follows forms and redirects as the browser.
func TestFlow(t *testing.T) {
	s := newSetupScene(t, nil)
	first := s.get(s.setup.Path())
	second := s.post(s.form(first))
	last := s.post(s.form(second))
	if last.code != http.StatusOK || !strings.Contains(last.body, s.hub.URL()+"/github-apps/lintel/installations/new") {
		t.Fatalf("%s: %d\n%s", last.url, last.code, last.body)
	}
	app := s.hub.App()
	want := Credentials{GitHubURL: s.hub.URL(), AppID: app.ID, Slug: "lintel", PrivateKey: string(app.PrivateKey),
		WebhookSecret: app.Secret, ClientID: app.ClientID, ClientSecret: app.ClientSecret}
	got, err := s.setup.Wait(t.Context())
	if err != nil || *got != want {
		t.Errorf("registered as %+v, %v", got, err)
	}
	if got, err := LoadCredentials(s.data); err != nil || got == nil || *got != want {
		t.Errorf("stored is %+v, %v", got, err)
	}

	// Used up.
	for _, path := range []string{s.setup.Path(), last.url.RequestURI()} {
		if again := s.get(path); again.code != http.StatusNotFound {
			t.Errorf("GET %s afterwards: %d", path, again.code)
		}
	}
	if ready := s.get("/readyz"); ready.code != http.StatusServiceUnavailable ||
		!strings.Contains(ready.body, "starting") {
		t.Errorf("readiness afterwards: %d %s", ready.code, ready.body)
	}

	for _, page := range []response{first, second, last} {
		if h := page.header; h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has the headers %v", page.url, h)
		}
		if strings.Contains(page.body, "PRIVATE KEY") || strings.Contains(page.body, app.Secret) ||
			strings.Contains(page.body, "client secret") {
			t.Errorf("%s shows a secret", page.url)
		}
	}
	query := last.url.Query()
	for what, secret := range map[string]string{"private key": "PRIVATE KEY", "webhook secret": app.Secret,
		"client secret": "client secret", "token": s.setup.token,
		"state": query.Get("state"), "code": query.Get("code")} {
		if secret == "" || strings.Contains(s.log.String(), secret) {
			t.Errorf("the log has the %s %q:\n%s", what, secret, s.log)
		}
	}
	if !strings.Contains(s.log.String(), `"slug":"lintel"`) {
		t.Errorf("the log does not tell of the App:\n%s", s.log)
	}
	for _, v := range s.hub.Violations() {
		t.Error(v)
	}
}

// The policy of each page allows its own style and the ways of its form, also where a browser follows redirects.
func TestContentSecurityPolicy(t *testing.T) {
	s := newSetupScene(t, func(c *SetupConfig) { c.PublicURL = "https://lintel.example.com/base" })
	first := s.get(s.setup.Path())
	second := s.post(s.form(first))
	const rest = "; frame-ancestors 'none'; base-uri 'none'"
	for _, c := range []struct {
		page response
		ends string
	}{
		{first, "; form-action 'self'" + rest},
		{second, "; form-action 'self' " + s.hub.URL() + " https://lintel.example.com" + rest},
	} {
		policy := c.page.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || !strings.HasSuffix(policy, c.ends) {
			t.Errorf("%s: policy %s", c.page.url, policy)
		}
		if !strings.Contains(c.page.body, "<style>"+setupStyle+"</style>") {
			t.Errorf("%s: the style is not the one that the policy allows", c.page.url)
		}
	}
	_, fields := s.form(second)
	var manifest Manifest
	if err := json.Unmarshal([]byte(fields.Get("manifest")), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Hook.URL != "https://lintel.example.com/base/webhook" ||
		manifest.RedirectURL != "https://lintel.example.com/base/setup/callback" {
		t.Errorf("the manifest has %+v and %s", manifest.Hook, manifest.RedirectURL)
	}
	if strings.Contains(second.body, s.setup.token) {
		t.Error("the page that GitHub is asked from has the token")
	}
}

// Without the token, and with any deviation from the flow, nothing is shown.
func TestNothingWithoutToken(t *testing.T) {
	s := newSetupScene(t, nil)
	good := s.setup.token
	early := "/setup/callback?code=x&state=" + s.setup.state
	if got := s.get(early); got.code != http.StatusNotFound {
		t.Errorf("a state that nobody was given: %d", got.code)
	}
	back := s.callback()
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	code, state := u.Query().Get("code"), u.Query().Get("state")
	for _, c := range []struct {
		method, path string
		form         url.Values
	}{
		{"GET", "/", nil},
		{"GET", "/metrics", nil},
		{"GET", "/setup", nil},
		{"GET", "/setup?token=", nil},
		{"GET", "/setup?token=" + good[:len(good)-1], nil},
		{"GET", "/setup?token=" + good + "A", nil},
		{"GET", "/setup?token=" + strings.ToLower(good), nil},
		{"GET", "/setup?state=" + state, nil},
		{"GET", "/setup/?token=" + good, nil},
		{"DELETE", "/setup?token=" + good, nil},
		{"POST", "/setup", url.Values{"address": {"https://lintel.example.com"}}},
		{"POST", "/setup", url.Values{"token": {state}, "address": {"https://lintel.example.com"}}},
		{"POST", "/setup?token=" + good, url.Values{"address": {"https://lintel.example.com"}}},
		{"POST", "/setup", url.Values{"token": {good}, "x": {strings.Repeat("x", maxForm)}}},
		{"POST", "/setup", nil},
		{"GET", "/setup/callback", nil},
		{"GET", "/setup/callback?code=" + code, nil},
		{"GET", "/setup/callback?code=" + code + "&state=" + state + "A", nil},
		{"GET", "/setup/callback?code=" + code + "&state=" + good, nil},
		{"POST", back, nil},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.path, strings.NewReader(c.form.Encode()))
		if err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if got := s.do(req, err); got.code != http.StatusNotFound || got.body != "404 page not found\n" {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.code, got.body)
		}
	}
	for _, r := range s.hub.Requests() {
		if strings.HasSuffix(r.Path, "/conversions") {
			t.Errorf("GitHub was asked: %v", r)
		}
	}
	// None of that ended the setup.
	if got := s.get(back); got.code != http.StatusOK || !s.stored() {
		t.Errorf("the callback: %d", got.code)
	}
}

func TestWaiting(t *testing.T) {
	s := newSetupScene(t, nil)
	for _, c := range []struct {
		path, says string
		code       int
	}{
		{"/healthz", "ok\n", 200},
		{"/readyz", "not ready: no GitHub App is registered yet: open the link that the server printed at its start\n", 503},
		{"/webhook", "no GitHub App is registered yet\n", 503},
	} {
		if got := s.get(c.path); got.code != c.code || got.body != c.says {
			t.Errorf("GET %s: %d %q", c.path, got.code, got.body)
		}
	}
	if got := s.post(s.url+"/webhook", url.Values{"payload": {"{}"}}); got.code != http.StatusServiceUnavailable {
		t.Errorf("a webhook: %d", got.code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := s.setup.Wait(ctx); c != nil || err == nil {
		t.Errorf("Wait: %v, %v", c, err)
	}
}

// The link expires after an hour; a person who is at GitHub by then has as long as GitHub's code is valid.
func TestExpiry(t *testing.T) {
	s := newSetupScene(t, nil)
	s.now = s.now.Add(time.Hour)
	back := s.callback()
	s.now = s.now.Add(time.Second)
	if got := s.get(s.setup.Path()); got.code != http.StatusGone || !strings.Contains(got.body, "Restart the server") {
		t.Errorf("the link after an hour: %d\n%s", got.code, got.body)
	}
	if got := s.post(s.url+"/setup", url.Values{"token": {s.setup.token},
		"address": {s.url}}); got.code != http.StatusGone {
		t.Errorf("the form after an hour: %d", got.code)
	}
	if got := s.get("/setup?token=wrong"); got.code != http.StatusNotFound {
		t.Errorf("a wrong token after an hour: %d", got.code)
	}
	if got := s.get("/readyz"); !strings.Contains(got.body, "restart for a new one") {
		t.Errorf("readiness after an hour: %s", got.body)
	}
	s.now = s.now.Add(time.Hour - time.Second)
	begun := s.now
	s.now = begun.Add(time.Second)
	if got := s.get(back); got.code != http.StatusNotFound {
		t.Errorf("the callback an hour after the form: %d", got.code)
	}
	s.now = begun
	if got := s.get(back); got.code != http.StatusOK || !s.stored() {
		t.Errorf("the callback within the hour: %d", got.code)
	}
}

// An unexpected answer of GitHub is reported, stores nothing, and can be retried while GitHub's code is valid.
func TestGitHubErrors(t *testing.T) {
	const valid = `"id":7,"slug":"lintel","webhook_secret":"s"`
	for name, c := range map[string]struct {
		fault githubtest.Fault
		code  int
		says  string
		again int // the same callback once more
	}{
		"gone":         {githubtest.Fault{Status: 404}, 400, "The code was used before, or is older than an hour", 200},
		"answer lost":  {githubtest.Fault{Status: 502, Commit: true}, 502, "Bad Gateway", 400},
		"unavailable":  {githubtest.Fault{Status: 503}, 502, "Reload this page to try again", 200},
		"server error": {githubtest.Fault{Status: 500}, 502, "GitHub answered 500", 200},
		"refused": {githubtest.Fault{Status: 422, Body: `{"message":"<script>no</script>"}`}, 502,
			"&lt;script&gt;no&lt;/script&gt;", 200},
		"rate limit": {githubtest.PrimaryLimit(time.Now().Add(time.Hour)), 502, "github asks to wait", 200},
		"cut":        {githubtest.Fault{Reset: true}, 502, "Reload this page", 200},
		"half":       {githubtest.Fault{Truncate: true}, 502, "Reload this page", 400},
		"redirect": {githubtest.Fault{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, 502,
			"refusing to follow a redirect", 200},
		"no JSON": {githubtest.Fault{Status: 201, Body: "<html>"}, 502, "Reload this page", 200},
		"empty":   {githubtest.Fault{Status: 201, Body: "{}"}, 502, "lacks the App&#39;s id", 200},
		"no webhook secret": {githubtest.Fault{Status: 201,
			Body: `{"id":7,"slug":"lintel","webhook_secret":null,"pem":"x"}`}, 502, "lacks the App&#39;s id", 200},
		"strange slug": {githubtest.Fault{Status: 201, Body: `{"id":7,"slug":"a/../b","webhook_secret":"s","pem":"x"}`},
			502, "lacks the App&#39;s id", 200},
		"no key": {githubtest.Fault{Status: 201, Body: "{" + valid + "}"}, 502, "not an RSA key", 200},
		"bad key": {githubtest.Fault{Status: 201, Body: "{" + valid + `,"pem":"very secret"}`}, 502,
			"not an RSA key", 200},
		"huge": {githubtest.Fault{Status: 201, Body: `{"pem":"` + strings.Repeat("x", 2<<20) + `"}`}, 502,
			"larger than 1 MB", 200},
		"huge error": {githubtest.Fault{Status: 500, Body: strings.Repeat(" ", 2<<20)}, 502, "GitHub answered 500",
			200},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetupScene(t, nil)
			back := s.callback()
			c.fault.Path = "/conversions"
			s.hub.Inject(c.fault)
			got := s.get(back)
			if got.code != c.code || !strings.Contains(got.body, c.says) {
				t.Errorf("%d, want %d and %q:\n%s", got.code, c.code, c.says, got.body)
			}
			if s.stored() {
				t.Error("something is stored")
			}
			u, err := url.Parse(back)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{s.log.String(), got.body} {
				if strings.Contains(text, u.Query().Get("code")) || strings.Contains(text, "very secret") {
					t.Errorf("a secret is shown:\n%s", text)
				}
			}
			if got := s.get(back); got.code != c.again || s.stored() != (c.again == 200) {
				t.Errorf("again: %d, want %d\n%s", got.code, c.again, got.body)
			}
		})
	}
}

// A browser that leaves while GitHub is slow does not lose the credentials, and a second request with the code does not
// exchange it again.
func TestSlowGitHub(t *testing.T) {
	s := newSetupScene(t, nil)
	back := s.callback()
	release := make(chan struct{})
	s.hub.Inject(githubtest.Fault{Path: "/conversions", Hang: true, Release: release})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+back, nil)
	if err != nil {
		t.Fatal(err)
	}
	var browser sync.WaitGroup
	asked := make(chan struct{})
	if s.setup.config.Registrar, err = NewRegistrar(s.hub.URL(), watched(asked)); err != nil {
		t.Fatal(err)
	}
	browser.Go(func() {
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			t.Error("GitHub does not hang")
		}
	})
	<-asked
	leave()
	browser.Wait()
	close(release)
	if got := s.get(back); got.code != http.StatusNotFound {
		t.Errorf("the second request: %d", got.code)
	}
	if _, err := s.setup.Wait(t.Context()); err != nil || !s.stored() {
		t.Errorf("the credentials are lost: %v", err)
	}
	count := 0
	for _, r := range s.hub.Requests() {
		if strings.HasSuffix(r.Path, "/conversions") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d exchanges", count)
	}
}

// watched is closed at the first exchange.
type watched chan struct{}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	close(w)
	return http.DefaultTransport.RoundTrip(r)
}

// If the credentials that GitHub returns only once cannot be stored, that is reported.
func TestCannotStore(t *testing.T) {
	s := newSetupScene(t, nil)
	back := s.callback()
	folder := filepath.Join(s.data, folderName)
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.get(back)
	if got.code != http.StatusInternalServerError || !strings.Contains(got.body, "Delete the App lintel") ||
		strings.Contains(got.body, s.data) || strings.Contains(s.log.String(), s.data) {
		t.Errorf("%d\n%s\n%s", got.code, got.body, s.log)
	}
	if got := s.get(s.setup.Path()); got.code != http.StatusOK {
		t.Errorf("the link afterwards: %d", got.code)
	}
	if _, err := NewSetup(SetupConfig{Registrar: s.setup.config.Registrar, DataDir: s.data}); err == nil ||
		strings.Contains(err.Error(), s.data) {
		t.Errorf("a start that cannot store: %v", err)
	}
}

// Other users cannot read any file of the setup.
func TestFileModes(t *testing.T) {
	s := newSetupScene(t, nil)
	if got := s.get(s.callback()); got.code != http.StatusOK {
		t.Fatalf("the callback: %d", got.code)
	}
	found := map[string]fs.FileMode{}
	err := filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == s.data {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(s.data, path)
		found[filepath.ToSlash(name)] = info.Mode()
		return err
	})
	if err != nil || len(found) != 2 || found["app"] != fs.ModeDir|0o700 || found["app/credentials.json"] != 0o600 {
		t.Errorf("files %v, %v", found, err)
	}
}

// The first form accepts its input, and shows it again after an error.
func TestSetupFormKeepsAndRefusesInput(t *testing.T) {
	s := newSetupScene(t, nil)
	for _, c := range []struct {
		address, organization, says string
	}{
		{"lintel.example.com", "", "must look like"},
		{"ftp://lintel.example.com", "", "must look like"},
		{"https://", "", "must look like"},
		{"https://a;script-src", "", "must look like"},
		{"https://lintel.example.com?x=1", "", "must not contain"},
		{"https://me:pw@lintel.example.com", "", "must not contain"},
		{"https://lintel.example.com", "octo org", "not the name of an organization"},
		{"https://lintel.example.com", "../..", "not the name of an organization"},
	} {
		got := s.post(s.url+"/setup", url.Values{"token": {s.setup.token}, "address": {c.address},
			"organization": {c.organization}})
		if got.code != http.StatusUnprocessableEntity || !strings.Contains(got.body, c.says) ||
			!strings.Contains(got.body, html.EscapeString(c.address)) {
			t.Errorf("%+v: %d\n%s", c, got.code, got.body)
		}
	}
	action, fields := s.form(s.post(s.url+"/setup", url.Values{"token": {s.setup.token},
		"address": {" https://lintel.example.com/ "}, "organization": {"octo-org"}}))
	if want := s.hub.URL() + "/organizations/octo-org/settings/apps/new?state=" + s.setup.state; action != want {
		t.Errorf("the form goes to %s, want %s", action, want)
	}
	if !strings.Contains(fields.Get("manifest"), `"redirect_url":"https://lintel.example.com/setup/callback"`) {
		t.Errorf("manifest %s", fields.Get("manifest"))
	}

	// A guess is only a guess.
	for _, c := range []struct{ proto, host, want string }{
		{"", "", s.url},
		{"https", "", "https" + strings.TrimPrefix(s.url, "http")},
		{"https", "lintel.example.com", "https://lintel.example.com"},
		{"gopher", "lintel.example.com", "http://lintel.example.com"},
		{"https", "a.example.com, b.example.com", ""},
		{"https", `"><script>`, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+s.setup.Path(), nil)
		if err == nil {
			req.Header.Set("X-Forwarded-Proto", c.proto)
			req.Header.Set("X-Forwarded-Host", c.host)
		}
		if _, fields := s.form(s.do(req, err)); fields.Get("address") != c.want {
			t.Errorf("%+v: proposes %s", c, fields.Get("address"))
		}
	}
}

// A request cannot change a configured address.
func TestConfiguredAddress(t *testing.T) {
	s := newSetupScene(t, func(c *SetupConfig) { c.PublicURL = "https://lintel.example.com" })
	action, fields := s.form(s.get(s.setup.Path()))
	if fields.Has("address") {
		t.Error("the form asks for the address")
	}
	fields.Set("address", "https://evil.example.com")
	if page := s.post(action, fields); page.code != http.StatusOK || strings.Contains(page.body, "evil") {
		t.Errorf("%d\n%s", page.code, page.body)
	}
}

// The manifest is public where somebody asks for that only, and asks an Enterprise Server for no event that it lacks.
func TestManifestFits(t *testing.T) {
	for _, c := range []struct {
		github, public string
		isPublic       bool
		queues         bool
	}{
		{"https://github.com", "", false, true},
		{"https://github.com", "yes", true, true},
		{"https://octo.ghe.com", "", false, true},
		{"https://github.example.com", "", false, false},
	} {
		s := newSetupScene(t, func(conf *SetupConfig) { conf.GitHubURL = c.github })
		answers := url.Values{"token": {s.setup.token}, "address": {"https://lintel.example.com"}}
		if c.public != "" {
			answers.Set("public", c.public)
		}
		_, fields := s.form(s.post(s.url+"/setup", answers))
		var m Manifest
		if err := json.Unmarshal([]byte(fields.Get("manifest")), &m); err != nil {
			t.Fatal(err)
		}
		event, permission := slices.Contains(m.Events, mergeGroupEvent), m.Permissions[mergeQueuesPermission] != ""
		if m.Public != c.isPublic || event != c.queues || permission != c.queues || len(m.Events) < 6 || len(m.Permissions) < 5 {
			t.Errorf("%+v: %+v", c, m)
		}
	}
	// What was ticked stays so when something else is wrong.
	s := newSetupScene(t, nil)
	wrong := s.post(s.url+"/setup", url.Values{"token": {s.setup.token}, "address": {"x"}, "public": {"yes"}})
	if !strings.Contains(wrong.body, `value="yes" checked`) {
		t.Errorf("not ticked any more:\n%s", wrong.body)
	}
}
