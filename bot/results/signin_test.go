package results

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// A reader goes from a page to GitHub and back to the same page. The server keeps nothing of the sign-in but a session.
func TestSignIn(t *testing.T) {
	s := newScene(t, nil)
	alice := s.as("alice")
	first := alice.stop("/r/fleet?q=%C3%A9#x")
	if want := s.url + "/auth/login?return=%2Fr%2Ffleet%3Fq%3D%25C3%25A9"; first.status != http.StatusSeeOther ||
		first.header.Get("Location") != want {
		t.Fatalf("%d to %s, want %s", first.status, first.header.Get("Location"), want)
	}
	second := alice.stop(first.header.Get("Location"))
	s.strictly("the way to GitHub", second)
	there, err := url.Parse(second.header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	query := there.Query()
	if there.Path != "/login/oauth/authorize" || query.Get("redirect_uri") != s.url+"/auth/callback" ||
		len(query.Get("state")) < 16 || query.Get("code_challenge_method") != "S256" ||
		len(query.Get("code_challenge")) != 43 {
		t.Errorf("GitHub is asked with %s", there)
	}
	third := alice.stop(there.String())
	back, err := url.Parse(third.header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	last := alice.stop(back.String())
	if last.status != http.StatusSeeOther || last.header.Get("Location") != s.url+"/r/fleet?q=%C3%A9" {
		t.Fatalf("%d to %s: %s", last.status, last.header.Get("Location"), last.body)
	}
	s.strictly("the way back", last)
	for _, c := range append(cookies(second), cookies(last)...) {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
			!strings.HasPrefix(c.Name, "lintel-") {
			t.Errorf("cookie %s", c)
		}
	}
	got := alice.get(last.header.Get("Location"))
	if got.status != http.StatusOK || got.body != theResult+" for alice" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if alice.cookie("lintel-sign-in") != "" {
		t.Error("the cookie of the sign-in is still there")
	}
	s.clean()

	app := s.hub.App()
	secrets := append(s.hub.IssuedSecrets(), app.ClientSecret, query.Get("state"),
		strings.Split(alice.cookie("lintel-session"), ".")[1], back.Query().Get("code"))
	if len(secrets) != 6 {
		t.Fatalf("secrets %q", secrets)
	}
	s.jobs.Close()
	err = filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range secrets {
			if secret == "" || bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s has %q", d.Name(), secret)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append(secrets, "/auth/callback", "code=") {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	s.open()
}

func cookies(got seen) []*http.Cookie { return (&http.Response{Header: got.header}).Cookies() }

// With https, browsers accept the cookies from this host only.
func TestSecureCookies(t *testing.T) {
	s := newScene(t, func(c *AccessConfig) { c.PublicURL = "https://lintel.example.com/base" })
	w := httptest.NewRecorder()
	s.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/auth/login?return=/r/fleet", nil))
	c := w.Result().Cookies()
	if len(c) != 1 || !strings.HasPrefix(c[0].Name, "__Host-lintel-sign-in-") || !c[0].Secure || !c[0].HttpOnly ||
		c[0].Path != "/" || c[0].MaxAge != 600 || c[0].SameSite != http.SameSiteLaxMode {
		t.Errorf("cookies %v", c)
	}
	u, err := url.Parse(w.Header().Get("Location"))
	if err != nil || u.Query().Get("redirect_uri") != "https://lintel.example.com/base/auth/callback" {
		t.Errorf("to %s", w.Header().Get("Location"))
	}
	r := httptest.NewRequest(http.MethodGet, "/r/fleet", nil)
	r.AddCookie(&http.Cookie{Name: "lintel-session", Value: "7." + secret()})
	if name, _ := s.access.sessionName(r); name != "" {
		t.Error("a cookie without the prefix counts")
	}
}

func TestOrigin(t *testing.T) {
	for address, want := range map[string]string{"https://Lintel.example.com:443/base": "https://lintel.example.com",
		"http://127.0.0.1:80": "http://127.0.0.1", "http://127.0.0.1:443": "http://127.0.0.1:443",
		"https://[::1]:8443/": "https://[::1]:8443", "https://[::1]:443": "https://[::1]"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := originOf(u); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

// A script that requests a part of a page is not redirected to another site.
func TestPartsWithoutSession(t *testing.T) {
	s := newScene(t, nil)
	for mode, want := range map[string]int{"navigate": http.StatusSeeOther, "cors": http.StatusUnauthorized,
		"same-origin": http.StatusUnauthorized} {
		b := s.browser()
		b.follow = false
		if got := b.do(http.MethodGet, "/r/fleet", http.Header{"Sec-Fetch-Mode": {mode}}); got.status != want {
			t.Errorf("%s: %d", mode, got.status)
		}
	}
}

// returned is the address at which GitHub sends a browser back.
func (b *browser) returned() *url.URL {
	b.s.t.Helper()
	there := b.stop("/auth/login?return=/r/fleet").header.Get("Location")
	u, err := url.Parse(b.stop(there).header.Get("Location"))
	if err != nil || u.Query().Get("state") == "" {
		b.s.t.Fatalf("GitHub sends back to %s", u)
	}
	return u
}

// Only the browser that started a sign-in can finish it, once, and in time.
func TestCallbackRefuses(t *testing.T) {
	s := newScene(t, nil)
	change := func(u *url.URL, name, value string) string {
		query := u.Query()
		query.Del(name)
		if value != "" {
			query.Set(name, value)
		}
		return "/auth/callback?" + query.Encode()
	}
	for name, address := range map[string]func(b *browser) string{
		"no state":      func(b *browser) string { return change(b.returned(), "state", "") },
		"another state": func(b *browser) string { return change(b.returned(), "state", secret()) },
		"short state":   func(b *browser) string { return change(b.returned(), "state", "x") },
		"another start, same cookie": func(b *browser) string {
			u := b.returned()
			return change(u, "state", u.Query().Get("state")[:8]+secret()[8:])
		},
		"two states": func(b *browser) string { return b.returned().RequestURI() + "&state=" + secret() },
		"two codes":  func(b *browser) string { return b.returned().RequestURI() + "&code=x" },
		"no code":    func(b *browser) string { return change(b.returned(), "code", "") },
		"odd code":   func(b *browser) string { return change(b.returned(), "code", "../x") },
		"a code that GitHub does not know": func(b *browser) string {
			return change(b.returned(), "code", "x")
		},
		"somebody else's code": func(b *browser) string { // PKCE: the code belongs to another verifier
			return change(b.returned(), "code", s.as("bob").returned().Query().Get("code"))
		},
		"another browser": func(*browser) string { return s.as("alice").returned().RequestURI() },
		"too late": func(b *browser) string {
			address := b.returned().RequestURI()
			s.clock.add(attemptLife)
			return address
		},
		"changed cookie": func(b *browser) string {
			u := b.returned()
			name := "sign-in-" + u.Query().Get("state")[:8]
			kept := b.cookie("lintel-" + name)
			other := "A"
			if kept[0] == 'A' {
				other = "B"
			}
			b.set("lintel-"+name, other+kept[1:])
			return u.RequestURI()
		},
		"cookie of another sign-in": func(b *browser) string {
			u := b.returned()
			other := s.as("bob")
			v := other.returned()
			b.set("lintel-sign-in-"+u.Query().Get("state")[:8], other.cookie("lintel-sign-in-"+v.Query().Get("state")[:8]))
			return u.RequestURI()
		},
		"nothing": func(*browser) string { return "/auth/callback" },
		"broken":  func(b *browser) string { return b.returned().RequestURI() + "&x=%zz" },
		"used": func(b *browser) string {
			u := b.returned()
			name := "lintel-sign-in-" + u.Query().Get("state")[:8]
			kept := b.cookie(name)
			if got := b.stop(u.String()); got.status != http.StatusSeeOther {
				t.Errorf("the first time: %d %s", got.status, got.body)
			}
			b.do(http.MethodPost, "/auth/sign-out", nil)
			b.set(name, kept) // the browser kept the cookie, and GitHub would issue another code
			return change(u, "code", s.as("alice").returned().Query().Get("code"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := s.as("alice")
			got := b.stop(address(b))
			if got.status != http.StatusBadRequest || b.cookie("lintel-session") != "" ||
				!strings.Contains(got.body, "cannot be completed") {
				t.Errorf("%d %s", got.status, got.body)
			}
			s.strictly(name, got)
			b.sees(name, http.StatusSeeOther)
		})
	}
	b := s.as("alice")
	u := b.returned()
	if got := b.do(http.MethodHead, u.String(), nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD: %d", got.status)
	}
	if got := b.get(u.String()); got.status != http.StatusOK || !strings.Contains(got.body, theResult) {
		t.Errorf("after HEAD: %d %s", got.status, got.body)
	}
}

// Two tabs can sign in at the same time, and the cookies of many tabs do not pile up.
func TestTabs(t *testing.T) {
	s := newScene(t, nil)
	b := s.as("alice")
	one, two := b.returned(), b.returned()
	for _, u := range []*url.URL{one, two} {
		if got := b.get(u.String()); got.status != http.StatusOK || !strings.Contains(got.body, theResult) {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	for range 3 * maxAttempts {
		b.returned()
	}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range b.client.Jar.Cookies(u) {
		if strings.HasPrefix(c.Name, "lintel-sign-in") {
			n++
		}
	}
	if n > maxAttempts {
		t.Errorf("%d cookies", n)
	}
}

func TestCancelled(t *testing.T) {
	s := newScene(t, nil)
	s.hub.CancelSignIn(true)
	b := s.as("alice")
	got := b.get("/r/fleet")
	if got.status != http.StatusOK || !strings.Contains(got.body, "The sign-in was cancelled") ||
		strings.Contains(got.body, theResult) || b.cookie("lintel-session") != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.strictly("cancelled", got)
	s.hub.CancelSignIn(false)
	link := regexp.MustCompile(`<a class="button" href="([^"]*)"`).FindStringSubmatch(got.body)
	if link == nil {
		t.Fatal("no link to begin again")
	}
	if got := b.get(strings.ReplaceAll(link[1], "&amp;", "&")); got.status != http.StatusOK ||
		!strings.Contains(got.body, theResult) {
		t.Errorf("again: %d %s", got.status, got.body)
	}
	// GitHub reports another error, whose text has markup.
	u := b.returned()
	got = b.stop("/auth/callback?error=<script>alert(1)</script>&state=" + u.Query().Get("state"))
	if got.status != http.StatusBadGateway || strings.Contains(got.body+s.log.String(), "script>") {
		t.Errorf("another error: %d %s", got.status, got.body)
	}
	s.clean()
}

// If GitHub fails during a sign-in, nobody is signed in, and another attempt succeeds.
func TestGitHubFailsDuringSignIn(t *testing.T) {
	for name, c := range map[string]struct {
		fault githubtest.Fault
		want  int
	}{
		"no token":                    {githubtest.Fault{Path: "/login/oauth/access_token", Status: 502}, 503},
		"token cut off":               {githubtest.Fault{Path: "/login/oauth/access_token", Reset: true}, 503},
		"truncated answer with token": {githubtest.Fault{Path: "/login/oauth/access_token", Truncate: true}, 503},
		"token answer is not JSON":    {githubtest.Fault{Path: "/login/oauth/access_token", Status: 200, Body: "<html>"}, 503},
		"empty token":                 {githubtest.Fault{Path: "/login/oauth/access_token", Status: 200, Body: "{}"}, 503},
		"no user":                     {githubtest.Fault{Path: "/user", Status: 500, Times: -1}, 503},
		"user without id":             {githubtest.Fault{Path: "/user", Status: 200, Body: `{"login":"alice"}`}, 503},
		"token expired":               {githubtest.Fault{Path: "/user", Status: 401, Times: -1}, 503},
		"no verified address": {githubtest.Fault{Path: "/login/oauth/access_token", Status: 200,
			Body: `{"error":"unverified_user_email"}`}, 403},
		"wrong secret": {githubtest.Fault{Path: "/login/oauth/access_token", Status: 200,
			Body: `{"error":"incorrect_client_credentials"}`}, 502},
		"wrong client": {githubtest.Fault{Path: "/login/oauth/access_token", Status: 404}, 502},
		"redirected": {githubtest.Fault{Path: "/login/oauth/access_token", Status: 307,
			Header: http.Header{"Location": {"https://evil.example.com/"}}}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			b := s.as("alice")
			s.hub.Inject(c.fault)
			got := b.get("/r/fleet")
			if got.status != c.want || b.cookie("lintel-session") != "" || strings.Contains(got.body, theResult) {
				t.Errorf("%d %s", got.status, got.body)
			}
			s.strictly(name, got)
			for _, secret := range append(s.hub.IssuedSecrets(), s.hub.App().ClientSecret) {
				if strings.Contains(s.log.String()+got.body, secret) {
					t.Errorf("%q is in the log or on the page:\n%s", secret, s.log)
				}
			}
			s.hub.ClearFaults()
			if got := b.get("/r/fleet"); got.status != http.StatusOK {
				t.Errorf("again: %d %s", got.status, got.body)
			}
		})
	}
}

// If too many browsers return from GitHub, not all of their codes are sent to GitHub.
func TestExchangesAreBounded(t *testing.T) {
	s := newScene(t, nil)
	b := s.as("alice")
	u := b.returned()
	for s.access.exchanges.AllowN(s.clock.Now(), 1) {
	}
	before := s.asked("/access_token")
	if got := b.get(u.String()); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if s.asked("/access_token") != before {
		t.Error("GitHub was asked")
	}
	s.clock.add(time.Second)
	if got := b.get("/r/fleet"); got.status != http.StatusOK {
		t.Errorf("a second later: %d", got.status)
	}
}
