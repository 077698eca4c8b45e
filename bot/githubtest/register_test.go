package githubtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// browser posts a manifest, and returns the status and the code of the redirect.
func browser(t *testing.T, s *Server, manifest string) (status int, code string) {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(s.URL()+"/organizations/octo-org/settings/apps/new?state=a%26b",
		url.Values{"manifest": {manifest}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if back, err := res.Location(); err == nil {
		if back.Host != "lintel.example.com" || back.Query().Get("x") != "1" || back.Query().Get("state") != "a&b" {
			t.Errorf("sent to %s", back)
		}
		code = back.Query().Get("code")
	}
	return res.StatusCode, code
}

const goodManifest = `{"url":"https://example.com","redirect_url":"https://lintel.example.com/back?x=1","hook_attributes":{"url":"https://lintel.example.com/webhook"},` +
	`"default_permissions":{"checks":"write"},"default_events":["push"]}`

func TestManifest(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ manifest, severity string }{
		{"", "error"},
		{"[]", "error"},
		{`{"url":"https://example.com"}`, "error"},
		{strings.Replace(goodManifest, `"write"`, `"all"`, 1), "error"},
		{strings.Replace(goodManifest, `"push"`, `"installation"`, 1), "warning"},
		{`{"typo":1,` + goodManifest[1:], "warning"},
		{goodManifest, ""},
	} {
		before := len(s.Violations())
		browser(t, s, c.manifest)
		found := s.Violations()[before:]
		if c.severity == "" && len(found) > 0 || c.severity != "" &&
			!slices.ContainsFunc(found, func(v Violation) bool { return v.Severity == c.severity }) {
			t.Errorf("%s: %v", c.manifest, found)
		}
	}
}

// A code is valid once, and for one hour.
func TestConversion(t *testing.T) {
	now := time.Now()
	s, err := New(Config{KeyBits: 1024, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	convert := func(code string) int {
		res, err := http.Post(s.URL()+"/api/v3/app-manifests/"+code+"/conversions", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	_, first := browser(t, s, goodManifest)
	_, second := browser(t, s, goodManifest)
	if got := []int{convert(first), convert(first), convert("unknown")}; !slices.Equal(got, []int{201, 404, 404}) {
		t.Errorf("answers %v", got)
	}
	now = now.Add(codeLife + time.Second)
	if got := convert(second); got != 404 {
		t.Errorf("after an hour: %d", got)
	}
}
