package worker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeSignIn has a person sign in at the program itself, and out. Neither its logs nor its data folder keep
// anything of it that could be used again.
func TestServeSignIn(t *testing.T) {
	binary := buildLintel(t)
	hub := newHub(t)
	const public = "http://localhost"
	hub.SetCallbackURLs(public + "/auth/callback")
	app, data := hub.App(), t.TempDir()
	secret := filepath.Join(t.TempDir(), "client-secret")
	if err := os.WriteFile(secret, []byte(app.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serve(t, binary, hostingOf(hub), data, "LINTEL_PUBLIC_URL="+public, "LINTEL_GITHUB_CLIENT_ID="+app.ClientID,
		"LINTEL_GITHUB_CLIENT_SECRET_FILE="+secret)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var codes, bodies []string
	server := strings.TrimPrefix(p.url, "http://")
	browser := &http.Client{Jar: jar,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if code := r.URL.Query().Get("code"); code != "" {
				codes = append(codes, code)
			}
			return nil
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "localhost:") {
				address = server
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	ask := func(method, address string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", public)
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(body))
		return resp
	}
	session := func() string {
		u := &url.URL{Scheme: "http", Host: "localhost"}
		for _, c := range jar.Cookies(u) {
			if c.Name == "lintel-session" {
				_, key, _ := strings.Cut(c.Value, ".")
				return key
			}
		}
		return ""
	}
	ask(http.MethodGet, hub.URL()+"/login?user=alice&return_to=/login")
	if got := ask(http.MethodGet, public+"/auth/login?return=/healthz"); got.StatusCode != http.StatusOK ||
		got.Request.URL.String() != public+"/healthz" {
		t.Errorf("the sign-in ended at %s: %d", got.Request.URL, got.StatusCode)
	}
	id := session()
	if id == "" || len(codes) != 1 {
		t.Fatalf("session %q, codes %q", id, codes)
	}
	if got := ask(http.MethodPost, public+"/auth/sign-out"); got.StatusCode != http.StatusOK || session() != "" {
		t.Errorf("sign-out: %d", got.StatusCode)
	}
	// Who takes the authorization back at GitHub is signed out without coming here.
	query := ask(http.MethodGet, public+"/auth/login").Request.URL.Query()
	if query.Get("prompt") != "select_account" {
		t.Errorf("alice signed out, and GitHub does not ask who signs in: %v", query)
	}
	query.Del("prompt")
	ask(http.MethodGet, hub.URL()+"/login?"+url.Values{"user": {"alice"},
		"return_to": {"/login/oauth/authorize?" + query.Encode()}}.Encode())
	again := session()
	signedIn := func() bool {
		t.Helper()
		res := ask(http.MethodGet, public+"/auth/")
		return res.StatusCode == http.StatusOK && strings.Contains(bodies[len(bodies)-1], "Sign out")
	}
	if !signedIn() || again == "" {
		t.Error("alice is not signed in")
	}
	hub.SetHook(p.url + "/webhook")
	hub.RevokeAuthorization("alice")
	if err := hub.WaitHooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if signedIn() {
		t.Error("the authorization was revoked, and alice is signed in")
	}
	clean(t, hub)
	p.terminate()
	secrets := append(append(hub.IssuedSecrets(), codes...), id, again, app.ClientSecret)
	has := func(what string, data []byte) {
		for _, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s has %q", what, secret)
			}
		}
	}
	has("the log", []byte(p.logs.String()))
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		has(d.Name(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
