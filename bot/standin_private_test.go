package bot_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Check runs of a private repository lead to pages for those who may read it: they sign in, and out.
func TestStandinPrivatePages(t *testing.T) {
	skipWithoutStandin(t)
	t.Parallel()
	binary := buildLintel(t)
	s := startStandin(t.Context(), t)
	app := s.register()
	front, data := newPublic(t), t.TempDir()
	secret := filepath.Join(t.TempDir(), "client-secret")
	if err := os.WriteFile(secret, []byte(app.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, binary, hosting{s.base, app.ID, []byte(app.PEM), app.Secret}, data, "LINTEL_PUBLIC_URL="+front.URL,
		"LINTEL_GITHUB_CLIENT_ID="+app.ClientID, "LINTEL_GITHUB_CLIENT_SECRET_FILE="+secret)
	front.lead(server)
	s.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": server.url + "/webhook",
		"callback_urls": []string{front.URL + "/auth/callback"}}, nil)
	s.control(http.MethodPut, "/users/mallory", fields{}, nil)
	h := &hall{standin: s, server: server, files: folderFiles(t, sampleRepo)}
	closed := h.in(t, "closed-org")
	head := closed.push("change", folderFiles(t, sampleChange))
	closed.pull("change")
	address := closed.details(head, 1)
	if !strings.HasPrefix(address, front.URL+"/r/closed-org/fleet/"+head+"/") {
		t.Fatalf("details_url %q", address)
	}

	browser := func(login string) *http.Client {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &http.Client{Jar: jar}
		if login != "" {
			if res, err := b.Get(s.base + "/login?user=" + login + "&return_to=/login"); err != nil || res.Body.Close() != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	get := func(b *http.Client, address string) (*http.Response, string) {
		t.Helper()
		res, err := b.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
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
