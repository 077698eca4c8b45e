package results

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/github"
)

// After signing in, a reader goes to a path of this server, unchanged, or to its front page.
func TestTarget(t *testing.T) {
	for _, same := range []string{"/auth/", "/r/octo-org/fleet/abc", "/r/octo-org/fleet/abc?q=a%2Fb&x=https://a.example.com",
		"/o/octo-org/", "/r/%E4%B8%AD?x=%0a", "/authors"} {
		if got := target(same); got != same {
			t.Errorf("%q leads to %q", same, got)
		}
	}
	for _, wrong := range wrongTargets {
		if got := target(wrong); got != homePath {
			t.Errorf("%q leads to %q", wrong, got)
		}
	}
}

var wrongTargets = []string{"", "x", "/", "/?x", "//", "//?x", "//evil.example.com", "///evil.example.com", `/\evil.example.com`,
	`\\evil.example.com`, `/\/evil.example.com`, "https://evil.example.com", "https:evil.example.com",
	"javascript:alert(1)", "/x\r\nLocation: https://evil.example.com", "/\tevil.example.com", "/ /evil.example.com",
	"/\t/evil.example.com", "/%2f%2fevil.example.com", "/%2Fevil.example.com", "/%5cevil.example.com",
	"/%5C%5Cevil.example.com", "/x/..//evil.example.com", "/..//evil.example.com", "/./x", "/x/%2e%2e/y", "/%2E%2E//x",
	"/%252f%252fevil.example.com", "/x//y", "/%0d%0aSet-Cookie:a", "/%00", "/%09/evil.example.com", "/\u2028/x",
	"/auth/login", "/auth/sign-out", "/auth", "/x#y", "/%zz", "/\xff", "/\u00a0/evil.example.com", "@evil.example.com",
	"/" + strings.Repeat("a", maxTarget), " /x", "/x\x7f"}

// The same targets are safe in a whole sign-in.
func TestOpenRedirect(t *testing.T) {
	s := newScene(t, nil)
	for _, wrong := range wrongTargets {
		b := s.as("alice")
		got := b.get("/auth/login?return=" + url.QueryEscape(wrong))
		if got.status != http.StatusOK || !strings.Contains(got.body, "alice") || got.url.String() != s.url+homePath {
			t.Errorf("%q: %d at %s", wrong, got.status, got.url)
		}
	}
}

// Sign-in works whether or not a proxy removes the path of the public address from requests.
func TestBelowAPath(t *testing.T) {
	s := newScene(t, nil)
	s.hub.SetCallbackURLs(s.url + "/lintel" + github.CallbackPath)
	_, pages := s.serve(func(c *AccessConfig) { c.PublicURL += "/lintel" })
	for name, front := range map[string]http.Handler{"left": pages, "taken": http.StripPrefix("/lintel", pages)} {
		s.pages = front
		b := s.as("alice")
		if got := b.get("/lintel/r/fleet?q=1"); got.status != http.StatusOK || got.url.String() != s.url+"/lintel/r/fleet?q=1" ||
			!strings.Contains(got.body, theResult) {
			t.Errorf("%s: %d at %s", name, got.status, got.url)
		}
		if got := b.get("/lintel/auth/"); got.status != http.StatusOK || !strings.Contains(got.body, `action="/lintel/auth/sign-out"`) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if got := b.do(http.MethodPost, "/lintel/auth/sign-out", http.Header{"Origin": {s.url}}); got.status != http.StatusOK {
			t.Errorf("%s: sign-out: %d %s", name, got.status, got.body)
		}
		if got := b.stop("/lintel/r/fleet"); got.status != http.StatusSeeOther {
			t.Errorf("%s: signed out: %d", name, got.status)
		}
	}
	s.clean()
}

func FuzzTarget(f *testing.F) {
	for _, wrong := range wrongTargets {
		f.Add(wrong)
	}
	f.Add("/r/x?y=z")
	base, err := url.Parse("https://lintel.example.com/base/")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("/base//evil.example.com")
	f.Add("/base/base/r/x")
	below := &Access{base: "/base"}
	f.Fuzz(func(t *testing.T, raw string) {
		if got := below.back(raw); got != target(got) {
			t.Errorf("%q below a path leads to %q, and that to %q", raw, got, target(got))
		}
		got := target(raw)
		if got != target(got) {
			t.Errorf("%q leads to %q, and that to %q", raw, got, target(got))
		}
		// Resolve the target as a browser would without the public address in front: a stricter test than necessary.
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || !strings.HasPrefix(got, "/") ||
			strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t") {
			t.Errorf("%q leads to %q, %v", raw, got, err)
		}
	})
}
