package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// public is what stands at the public address, before the server, which can be another one by now.
type public struct {
	*httptest.Server
	target atomic.Pointer[url.URL]
	origin atomic.Pointer[string] // that the last form came from
}

func newPublic(t *testing.T) *public {
	p := &public{}
	p.Server = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if r.In.Method == http.MethodPost {
			origin := r.In.Header.Get("Origin")
			p.origin.Store(&origin)
		}
		r.SetURL(p.target.Load())
	}})
	t.Cleanup(p.Close)
	return p
}

// lead has the address lead to a server.
func (p *public) lead(to *process) {
	address, err := url.Parse(to.url)
	if err != nil {
		to.t.Fatal(err)
	}
	p.target.Store(address)
}

// page asks for an address as a browser would.
func page(t *testing.T, address string) (code int, body string, header http.Header) {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

// details is the details_url of the newest completed check run of a commit, once there are so many.
func (s *standin) details(sha string, count int) string {
	s.t.Helper()
	run := s.completed(s.repo, sha, count)
	var runs []struct {
		ID         int64
		DetailsURL string `json:"details_url"`
	}
	s.control(http.MethodGet, fmt.Sprintf("/check-runs?repo=%s&sha=%s", s.repo, sha), nil, &runs)
	for _, r := range runs {
		if r.ID == run.ID {
			return r.DetailsURL
		}
	}
	return ""
}

// Check runs lead to pages of a public repository: of each head, after a restart, after a renaming, until the App
// is taken away, and when it is back. Nothing of a private one is served.
func TestStandinPages(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	skipWithoutStandin(t)
	t.Parallel()
	binary := buildLintel(t)
	s := startStandin(t.Context(), t)
	app := s.register()
	front, data := newPublic(t), t.TempDir()
	at := hosting{s.base, app.ID, []byte(app.PEM), app.Secret}
	server := serve(t, binary, at, data, "LINTEL_PUBLIC_URL="+front.URL+"/lintel/")
	front.lead(server)
	s.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": server.url + "/webhook"}, nil)
	h := &hall{standin: s, server: server, files: folderFiles(t, sampleRepo)}
	open, closed := h.in(t, "open-org"), h.in(t, "closed-org")
	open.control(http.MethodPatch, "/repos/"+open.repo+"?wait=1", fields{"private": false}, nil)

	shown := func(address string, words ...string) {
		t.Helper()
		code, body, header := page(t, address)
		if code != http.StatusOK || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(body, w) }) {
			t.Errorf("%s: %d, want a page with %q:\n%s", address, code, words, body)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %v", address, header)
		}
	}
	form := regexp.MustCompile(`^` + regexp.QuoteMeta(front.URL) + `/lintel/r/open-org/fleet/[0-9a-f]{40}/[0-9a-f]{32}$`)
	first := open.push("change", folderFiles(t, sampleChange))
	open.pull("change")
	one := open.details(first, 1)
	if !form.MatchString(one) || !strings.Contains(one, first) {
		t.Fatalf("details_url %q", one)
	}
	shown(one, "disallow-latest-tag", patchPath)
	second := open.push("change", map[string]string{"platform/notes.txt": "more"})
	two := open.details(second, 1)
	shown(two)
	shown(one, "disallow-latest-tag")
	shown(front.URL+"/lintel/r/open-org/fleet/"+first, "disallow-latest-tag")
	tip := open.push("main", map[string]string{"platform/notes.txt": "main"}, fields{"user": "olga"})
	shown(open.details(tip, 1))
	shown(front.URL+"/lintel/o/open-org/fleet", "#1", "main")
	shown(front.URL+"/lintel/o/open-org", "open-org/fleet")

	private := closed.push("change", folderFiles(t, sampleChange))
	closed.pull("change")
	if got := closed.details(private, 1); strings.HasPrefix(got, front.URL) {
		t.Errorf("the details_url of a private repository is %s", got)
	}
	_, none, _ := page(t, front.URL+"/lintel/o/nobody/none")
	for _, path := range []string{"/o/closed-org", "/o/closed-org/fleet", "/r/closed-org/fleet/" + private} {
		if code, body, _ := page(t, front.URL+"/lintel"+path); code != http.StatusNotFound || body != none {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _, _ := page(t, front.URL+"/r/open-org/fleet/"+first); code != http.StatusOK {
		t.Errorf("behind a proxy that takes the path away: %d", code)
	}

	server.kill()
	server = serve(t, binary, at, data, "LINTEL_PUBLIC_URL="+front.URL+"/lintel", "LINTEL_SWEEP_INTERVAL=2s")
	front.lead(server)
	s.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": server.url + "/webhook"}, nil)
	h.server = server
	shown(one, "disallow-latest-tag", patchPath)
	shown(two)

	open.control(http.MethodPatch, "/repos/"+open.repo+"?wait=1", fields{"name": "renamed", "sender": "olga"}, nil)
	open.repo = "open-org/renamed"
	third := open.push("change", map[string]string{"platform/notes.txt": "moved"})
	if three := open.details(third, 1); !strings.Contains(three, "/open-org/renamed/"+third) {
		t.Errorf("details_url after a renaming: %s", three)
	} else {
		shown(three)
	}
	shown(one, "disallow-latest-tag")

	h.done(t, "^crash: .*/repos/open-org/fleet/.*not a git repository") // a sweep asks while the stand-in renames the repository
	s.control(http.MethodDelete, fmt.Sprintf("/installations/%d?wait=1", open.installation), nil, nil)
	until := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
			code, body, _ := page(t, one)
			if code == want && (code == http.StatusOK || body == none) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d, want %d: %s", code, want, body)
			}
		}
	}
	until(http.StatusNotFound)
	s.control(http.MethodPost, "/installations?wait=1", fields{"account": "open-org", "repositories": []string{open.repo}}, nil)
	until(http.StatusOK) // by the next sweep, without another check
	shown(two)
}
