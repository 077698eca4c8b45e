package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/lintel-bot/lintel/checks/output/pagetest"
)

// site is a server with two pages that people open in a browser: one of a private repository, which alice may read and
// mallory may not, and one of a public repository.
type site struct {
	front, hub      string // addresses
	private, public string // of results; their repositories are closed and open
	closed, open    string // owner/name
	finding         string // that is on both
	pick            func(t *testing.T, b *pagetest.Tab, login string)
	posted          func() string // origin of the last form
}

// await waits until a script is true in the browser.
func await(t *testing.T, b *pagetest.Tab, script string) {
	t.Helper()
	b.Run(t, chromedp.ActionFunc(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var met bool
			if err := chromedp.Evaluate(script, &met).Do(ctx); err == nil && met { // an error: it is between two pages
				return nil
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				var at string
				_ = chromedp.Evaluate(`location.href + document.body.innerText`, &at).Do(context.WithoutCancel(ctx))
				return fmt.Errorf("never %s: %s", script, at)
			}
		}
	}))
}

func (s *site) at(t *testing.T, b *pagetest.Tab, address string) {
	t.Helper()
	await(t, b, fmt.Sprintf(`location.href === %q && document.readyState === "complete"`, address))
}

// asked requires that the browser is at GitHub's sign-in and shows nothing else.
func (s *site) asked(t *testing.T, b *pagetest.Tab, who string) {
	t.Helper()
	await(t, b, fmt.Sprintf(`location.href.startsWith(%q) && document.readyState === "complete"`, s.hub+"/login/oauth/authorize?"))
	if got := b.Text(t, `document.body.innerText`); strings.Contains(got, s.finding) {
		t.Errorf("%s: %s", who, got)
	}
}

// reads requires that the browser shows a result.
func (s *site) reads(t *testing.T, b *pagetest.Tab, address, control string) {
	t.Helper()
	s.at(t, b, address)
	if got := b.Text(t, `document.body.innerText`); !strings.Contains(got, s.finding) || !strings.Contains(got, control) {
		t.Errorf("%s without %q or %q: %s", address, s.finding, control, got)
	}
}

const status = `performance.getEntriesByType("navigation")[0].responseStatus`

// browse goes through all of it with one browser.
func (s *site) browse(t *testing.T, b *pagetest.Tab) {
	alice, mallory, forger, reader := b, b.Other(t), b.Other(t), b.Other(t)
	// To GitHub and back to the page.
	alice.Run(t, chromedp.Navigate(s.private))
	s.asked(t, alice, "nobody")
	s.pick(t, alice, "alice")
	s.reads(t, alice, s.private, "Sign out")
	if got := alice.Text(t, `document.cookie`); got != "" {
		t.Errorf("a script sees the cookies %q", got)
	}
	alice.Fits(t, "signin-result")

	// For a reader without access, the page does not exist.
	mallory.Run(t, chromedp.Navigate(s.private))
	s.pick(t, mallory, "mallory")
	s.at(t, mallory, s.private)
	const whole = `document.documentElement.outerHTML`
	denied := mallory.Text(t, whole)
	if got := mallory.Text(t, status); got != "404" || strings.Contains(denied, s.finding) || !strings.Contains(denied, "Not found") ||
		!strings.Contains(denied, "mallory") || !strings.Contains(denied, "Sign out") {
		t.Errorf("mallory: %s %s", got, denied)
	}
	owner, _, _ := strings.Cut(s.closed, "/")
	for _, path := range []string{"/o/" + s.closed, "/o/" + owner, "/o/nobody/none", "/o/nobody",
		strings.Replace(strings.TrimPrefix(s.private, s.front), s.closed, "nobody/none", 1)} {
		mallory.Run(t, chromedp.Navigate(s.front+path))
		if got := mallory.Text(t, whole); got != denied || mallory.Text(t, status) != "404" {
			t.Errorf("mallory at %s: %s", path, got)
		}
	}
	mallory.Fits(t, "signin-not-found")

	// An invalid session is treated as no session.
	for name, value := range map[string]string{"forged": "1." + strings.Repeat("A", 43), "tampered": tampered(t, alice, s.front)} {
		forger.Run(t, network.ClearBrowserCookies(), network.SetCookie("lintel-session", value).WithURL(s.front),
			chromedp.Navigate(s.private))
		s.asked(t, forger, name)
	}

	// A public page leads to the sign-in, and the sign-in back to it.
	reader.Run(t, chromedp.Navigate(s.public))
	s.reads(t, reader, s.public, "Sign in")
	reader.Run(t, chromedp.Click(`header a.button`))
	s.asked(t, reader, "a reader")
	s.pick(t, reader, "alice")
	s.reads(t, reader, s.public, "Sign out")

	// After signing out, neither Back nor the address shows anything.
	alice.Run(t, chromedp.Navigate(s.front+"/o/"+s.closed))
	s.at(t, alice, s.front+"/o/"+s.closed)
	alice.Run(t, chromedp.Navigate(s.private))
	s.reads(t, alice, s.private, "Sign out")
	alice.Run(t, chromedp.Click(`header form button`))
	await(t, alice, `location.pathname.endsWith("/auth/sign-out") && document.readyState === "complete"`)
	if got := alice.Text(t, `document.body.innerText`); !strings.Contains(got, "You are signed out") {
		t.Errorf("after the control: %s", got)
	}
	if got := s.posted(); got != s.front {
		t.Errorf("the form came from %q", got)
	}
	alice.Fits(t, "signin-signed-out")
	alice.Run(t, chromedp.Evaluate(`history.back()`, nil))
	s.asked(t, alice, "alice, back,")
	alice.Run(t, chromedp.Navigate(s.private))
	s.asked(t, alice, "alice, at the address,")
	s.pick(t, alice, "alice")
	s.reads(t, alice, s.private, "Sign out")
}

// tampered returns the browser's session with one changed character.
func tampered(t *testing.T, b *pagetest.Tab, front string) (value string) {
	t.Helper()
	b.Run(t, chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := network.GetCookies().WithURLs([]string{front}).Do(ctx)
		for _, c := range all {
			if c.Name == "lintel-session" {
				value = c.Value
				if !c.HTTPOnly || c.SameSite != network.CookieSameSiteLax {
					t.Errorf("the cookie of the session: %+v", c)
				}
			}
		}
		return err
	}))
	if value == "" {
		t.Fatal("there is no session")
	}
	last := "A"
	if strings.HasSuffix(value, last) {
		last = "B"
	}
	return value[:len(value)-1] + last
}

// clientSecret is a file with it.
func clientSecret(t *testing.T, secret string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "client-secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// People read the pages of the program with a browser: sign-in, no access, forged cookies, sign-out.
func TestBrowser(t *testing.T) {
	b := pagetest.Open(t)
	binary := buildLintel(t)
	hub, front := newHub(t), newPublic(t)
	hub.SetCallbackURLs(front.URL + "/auth/callback")
	app := hub.App()
	p := serve(t, binary, hostingOf(hub), t.TempDir(), "LINTEL_PUBLIC_URL="+front.URL, "LINTEL_GITHUB_CLIENT_ID="+app.ClientID,
		"LINTEL_GITHUB_CLIENT_SECRET_FILE="+clientSecret(t, app.ClientSecret))
	front.lead(p)
	hub.SetHook(p.url + "/webhook")
	s := &site{front: front.URL, hub: hub.URL(), closed: "closed-org/fleet", open: "open-org/fleet", finding: "disallow-latest-tag",
		posted: func() string { return *front.origin.Load() },
		pick: func(t *testing.T, b *pagetest.Tab, login string) {
			t.Helper()
			b.Run(t, chromedp.SendKeys(`input[name=user]`, login), chromedp.Click(`button`))
		}}
	for name, address := range map[string]*string{s.closed: &s.private, s.open: &s.public} {
		of := newScene(t, hub, name, sampleRepo)
		if name == s.open {
			if err := hub.SetPublic(name, true); err != nil {
				t.Fatal(err)
			}
		}
		head := of.push("change", folderFiles(t, sampleChange))
		of.open("change")
		*address = of.completed(head).DetailsURL
	}
	if err := hub.SetPermission(s.closed, "mallory", "none"); err != nil {
		t.Fatal(err)
	}
	s.browse(t, b)

	// The messages of a sign-in are read by everybody, too.
	hub.CancelSignIn(true)
	other := b.Other(t)
	other.Run(t, chromedp.Navigate(s.private))
	s.pick(t, other, "bob")
	await(t, other, `document.body.innerText.includes("cancelled")`)
	cancelled := other.Text(t, `location.href`)
	other.Fits(t, "signin-cancelled")
	t.Run("axe", func(t *testing.T) {
		script := pagetest.FetchAxe(t)
		other.Accessible(t, script, "cancelled: "+cancelled)
		for _, path := range []string{"/auth/", "/auth/callback", "/o/" + s.open} {
			other.Run(t, chromedp.Navigate(s.front+path))
			other.Accessible(t, script, path)
		}
		for _, address := range []string{s.private, s.front + "/o/" + s.closed, s.front + "/auth/", s.front + "/o/none"} {
			b.Run(t, chromedp.Navigate(address))
			b.Accessible(t, script, address)
		}
	})
	clean(t, hub)
}

// The same with the stand-in of GitHub.
func TestStandinBrowser(t *testing.T) {
	skipWithoutStandin(t)
	b := pagetest.Open(t)
	binary := buildLintel(t)
	hub := startStandin(t.Context(), t)
	app, front := hub.register(), newPublic(t)
	p := serve(t, binary, hosting{hub.base, app.ID, []byte(app.PEM), app.Secret}, t.TempDir(), "LINTEL_PUBLIC_URL="+front.URL,
		"LINTEL_GITHUB_CLIENT_ID="+app.ClientID, "LINTEL_GITHUB_CLIENT_SECRET_FILE="+clientSecret(t, app.ClientSecret))
	front.lead(p)
	hub.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": p.url + "/webhook",
		"callback_urls": []string{front.URL + "/auth/callback"}}, nil)
	hub.control(http.MethodPut, "/users/mallory", fields{}, nil)
	h := &hall{standin: hub, server: p, files: folderFiles(t, sampleRepo)}
	closed, open := h.in(t, "closed-org"), h.in(t, "open-org")
	hub.control(http.MethodPatch, "/repos/"+open.repo+"?wait=1", fields{"private": false}, nil)
	s := &site{front: front.URL, hub: hub.base, closed: closed.repo, open: open.repo, finding: "disallow-latest-tag",
		posted: func() string { return *front.origin.Load() },
		pick: func(t *testing.T, b *pagetest.Tab, login string) {
			t.Helper()
			b.Run(t, chromedp.Click(fmt.Sprintf(`a[href^="/login?user=%s&"]`, url.QueryEscape(login))))
		}}
	for in, address := range map[*standin]*string{closed: &s.private, open: &s.public} {
		head := in.push("change", folderFiles(t, sampleChange))
		in.pull("change")
		*address = in.details(head, 1)
	}
	s.browse(t, b)
	// A user who revokes the authorization is signed out at the next check of it.
	hub.control(http.MethodDelete, fmt.Sprintf("/users/alice/authorizations/%d?wait=1", app.ID), nil, nil)
	b.Run(t, chromedp.Navigate(s.front+"/auth/"))
	await(t, b, `document.body.innerText.includes("Sign in with GitHub")`)
	h.done(t)
}
