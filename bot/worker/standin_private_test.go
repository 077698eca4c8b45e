package worker_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Check runs of a private repository lead to pages for those who may read it: they sign in, and out.
func TestStandinPrivatePages(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	t.Parallel()
	h := newSignInHall(t)
	s, front := h.standin, h.front
	s.control(http.MethodPut, "/users/mallory", fields{}, nil)
	closed := h.in(t, "closed-org")
	head := closed.push("change", folderFiles(t, sampleChange))
	closed.pull("change")
	address := closed.details(head, 1)
	if !strings.HasPrefix(address, front.URL+"/r/closed-org/fleet/"+head+"/") {
		t.Fatalf("details_url %q", address)
	}

	browser := func(login string) *http.Client { return h.browser(t, login) }
	get := func(b *http.Client, address string) (*http.Response, string) { return browse(t, b, address) }
	asked := func(b *http.Client, who string) {
		t.Helper()
		if res, body := get(b, address); res.Request.URL.Path != "/login/oauth/authorize" || strings.Contains(body, "disallow") {
			t.Errorf("%s is at %s: %d", who, res.Request.URL, res.StatusCode)
		}
	}
	asked(browser(""), "nobody")

	alice := browser("alice")
	res, body := get(alice, address)
	if res.StatusCode != http.StatusOK || res.Request.URL.String() != address || !strings.Contains(body, "disallow-latest-tag") ||
		!strings.Contains(body, "Sign out") || res.Header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("alice at %s: %d %v\n%s", res.Request.URL, res.StatusCode, res.Header, body)
	}
	if res, body := get(alice, front.URL+"/o/closed-org/fleet"); res.StatusCode != http.StatusOK || !strings.Contains(body, "#1") {
		t.Errorf("the repository: %d\n%s", res.StatusCode, body)
	}

	mallory := browser("mallory")
	res, denied := get(mallory, address)
	if res.StatusCode != http.StatusNotFound || strings.Contains(denied, "disallow") {
		t.Errorf("mallory: %d\n%s", res.StatusCode, denied)
	}
	if res, body := get(mallory, front.URL+"/r/closed-org/none/"+head); res.StatusCode != http.StatusNotFound || body != denied {
		t.Errorf("what does not exist: %d\n%s", res.StatusCode, body)
	}

	forged := browser("")
	at, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	var cookies []*http.Cookie
	for _, c := range alice.Jar.Cookies(at) {
		if strings.HasPrefix(c.Name, "lintel") {
			cookies = append(cookies, &http.Cookie{Name: c.Name, Value: strings.Repeat("A", len(c.Value)), Path: "/"})
		}
	}
	if len(cookies) == 0 {
		t.Fatal("alice has no session")
	}
	forged.Jar.SetCookies(at, cookies)
	asked(forged, "a forged cookie")

	form, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/auth/sign-out", nil)
	if err != nil {
		t.Fatal(err)
	}
	form.Header.Set("Origin", front.URL)
	if res, err := alice.Do(form); err != nil || res.StatusCode != http.StatusOK || res.Body.Close() != nil {
		t.Fatalf("sign-out: %v %v", res, err)
	}
	get(alice, s.base+"/logout")
	asked(alice, "alice, signed out,")
	h.done(t)
}
