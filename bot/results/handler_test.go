package results

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/output"
)

// house is a handler with test doubles.
type house struct {
	*Handler
	store    *Store
	index    *bucketDouble
	renderer *plain
	guard    *guardDouble
	now      time.Time
	mu       sync.Mutex
}

func newHouse(t *testing.T, c Config) *house {
	t.Helper()
	h := &house{renderer: &plain{}, guard: &guardDouble{seen: map[int64]Level{11: Public}}, now: clock}
	h.store, h.index, _, _ = newStore(Limits{})
	c.Store, c.Renderer, c.Guard, c.Now = h.store, h.renderer, h.guard, func() time.Time {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.now
	}
	h.Handler = New(c)
	return h
}

func (h *house) later(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) ask(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPages(t *testing.T) {
	h := newHouse(t, Config{Base: "/lintel"})
	r := resultOf("x", headA, clock)
	put(t, h.store, resultOf("y", headA, clock.Add(-time.Minute)))
	put(t, h.store, r)
	at := "/r/Octo-Org/fleet.gitops/" + headA
	result := fmt.Sprintf("result of Octo-Org/fleet.gitops at aaaaaaa: 2 violations; 2 of its commit; signed in false; here "+
		"/lintel%s/%s; outdated false; ", at, r.ID)
	for path, want := range map[string]string{
		at: result, at + "/" + r.ID: result, "/lintel" + at: result, "/r/octo-org/FLEET.gitops/" + headA: result,
		at + "/" + r.ID + "/diff-1":                       "part diff-1 of 2 violations",
		"/o/octo-org/fleet.gitops":                        "repository Octo-Org/fleet.gitops: 1 pulls, 0 reports; here /lintel/o/Octo-Org/fleet.gitops",
		"/lintel/o/octo-org":                              "account Octo-Org: fleet.gitops",
		"/static/" + output.Assets()[0].Name:              string(output.Assets()[0].Data),
		"/static/page-1.css":                              "404",
		"/static/../r":                                    "404",
		"/o/nobody":                                       "404",
		"/o/octo-org/none":                                "404",
		"/o/octo-org/":                                    "404",
		"/r/Octo-Org/fleet.gitops":                        "404",
		"/r/Octo-Org/fleet.gitops/" + headB:               "404",
		"/r/Octo-Org/fleet.gitops/main":                   "404",
		"/r/Octo-Org/none/" + headA:                       "404",
		at + "/" + ID("z"):                                "404",
		at + "/%2e%2e":                                    "404",
		at + "/" + r.ID + "/diff-2":                       "404",
		at + "/" + r.ID + "/diff/1":                       "404",
		at + "/" + r.ID + "/diff-1/x":                     "404",
		at + "/" + r.ID + "/":                             "404",
		"/r/Octo-Org/%zz/" + headA:                        "404",
		"/r/Octo-Org/" + strings.Repeat("a", 2000) + "/x": "404",
	} {
		r := &http.Request{Method: http.MethodGet, URL: httptest.NewRequest(http.MethodGet, "/", nil).URL, Header: http.Header{}}
		r.URL.Path, r.URL.RawPath = path, path
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		code := http.StatusOK
		if strings.HasPrefix(want, "404") {
			code = http.StatusNotFound
		}
		body := w.Body.String()
		if code == http.StatusNotFound && strings.Contains(body, "<h1") && strings.Contains(body, "Not found") {
			body = "404"
		}
		if w.Code != code || body != want {
			t.Errorf("%s: %d %q, want %q", path, w.Code, w.Body, want)
		}
		for name, value := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin"} {
			if w.Header().Get(name) != value {
				t.Errorf("%s: %s is %q", path, name, w.Header().Get(name))
			}
		}
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: CSP %q", path, csp)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, "BREW"} {
		for _, path := range []string{at, "/o/nobody"} {
			if w := h.ask(method, path); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
	if w := h.ask(http.MethodHead, at); w.Code != http.StatusOK || w.Body.Len() != 0 ||
		w.Header().Get("Content-Length") != fmt.Sprint(len(result)) {
		t.Errorf("HEAD: %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
}

// A page that the reader may not see gives the same answer as a missing page, whatever the reason.
func TestHidden(t *testing.T) {
	h := newHouse(t, Config{})
	r := resultOf("x", headA, clock)
	put(t, h.store, r)
	at := "/r/Octo-Org/fleet.gitops/" + headA
	missing := h.ask(http.MethodGet, "/r/Octo-Org/none/"+headA)
	same := func(what string, paths ...string) {
		t.Helper()
		for _, path := range paths {
			w := h.ask(http.MethodGet, path)
			if w.Code != http.StatusNotFound || w.Body.String() != missing.Body.String() ||
				fmt.Sprint(w.Header()) != fmt.Sprint(missing.Header()) {
				t.Errorf("%s: %s: %d %q %v", what, path, w.Code, w.Body, w.Header())
			}
		}
	}
	all := []string{at, at + "/" + r.ID, at + "/" + r.ID + "/diff-1", "/o/Octo-Org", "/o/Octo-Org/fleet.gitops", "/o/no/no"}
	for _, path := range all[:5] { // pages that were served before access ends
		if w := h.ask(http.MethodGet, path); w.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, w.Code)
		}
	}
	h.guard.seen[11] = Hidden
	same("hidden", all...)
	h.guard.seen[11], h.guard.err = Public, errors.New("GitHub: 502")
	same("nobody knows", all...)
	h.guard.err = nil
	for access, want := range map[Level]string{Private: "private, no-store", Public: "private, no-cache"} {
		h.guard.seen[11] = access
		for _, path := range all[:5] {
			if w := h.ask(http.MethodGet, path); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != want {
				t.Errorf("%s: %d, %q, want %q", path, w.Code, w.Header().Get("Cache-Control"), want)
			}
		}
	}
	h.guard.seen[11], h.guard.turns = Hidden, true
	for _, path := range all {
		if w := h.ask(http.MethodGet, path); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/auth/login" {
			t.Errorf("%s: %d, want to be asked to sign in", path, w.Code)
		}
	}
}

func TestConditionalAndCompressed(t *testing.T) {
	h := newHouse(t, Config{})
	h.renderer.fill = 10_000
	put(t, h.store, resultOf("x", headA, clock))
	at := "/r/Octo-Org/fleet.gitops/" + headA
	plain := h.ask(http.MethodGet, at)
	packed := h.ask(http.MethodGet, at, "Accept-Encoding", "br, gzip;q=0.8")
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > 1000 {
		t.Fatalf("%d bytes, %v", packed.Body.Len(), packed.Header())
	}
	reader, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(reader); err != nil || string(data) != plain.Body.String() {
		t.Errorf("%v, or another page", err)
	}
	if w := h.ask(http.MethodGet, at, "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("compressed against the reader's wish")
	}
	a, b := plain.Header().Get("ETag"), packed.Header().Get("ETag")
	if a == b || a == "" || !strings.Contains(plain.Header().Get("Vary"), "Accept-Encoding") {
		t.Errorf("tags %s and %s, %v", a, b, plain.Header())
	}
	for _, tag := range []string{a, b, "W/" + a, `"x", ` + b, "*"} {
		if w := h.ask(http.MethodGet, at, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s: %d", tag, w.Code)
		}
	}
	h.guard.seen[11] = Hidden
	if w := h.ask(http.MethodGet, at, "If-None-Match", a); w.Code != http.StatusNotFound {
		t.Errorf("hidden, with the tag of the page: %d", w.Code)
	}
	h.guard.seen[11] = Public
	put(t, h.store, resultOf("y", headA, clock.Add(time.Minute)))
	h.later(lookupLife)
	if w := h.ask(http.MethodGet, at, "If-None-Match", a); w.Code != http.StatusOK {
		t.Errorf("a newer result: %d", w.Code)
	}
}

// A page is rendered once for all readers, and the store is read again only after a while. A removed result disappears
// after that time at the latest.
func TestMadeOnce(t *testing.T) {
	h := newHouse(t, Config{})
	r := resultOf("x", headA, clock)
	put(t, h.store, r)
	at := "/r/Octo-Org/fleet.gitops/" + headA
	h.index.gets = 0
	var readers sync.WaitGroup
	for range 200 {
		readers.Go(func() {
			if w := h.ask(http.MethodGet, at); w.Code != http.StatusOK {
				t.Errorf("%d", w.Code)
			}
		})
	}
	readers.Wait()
	if len(h.renderer.made) != 1 || h.index.gets > 4 {
		t.Errorf("made %d times, with %d requests to the store", len(h.renderer.made), h.index.gets)
	}
	h.guard.signed = true
	if w := h.ask(http.MethodGet, at); !strings.Contains(w.Body.String(), "signed in true") {
		t.Errorf("signed in: %s", w.Body)
	}
	if err := h.store.Gone(t.Context(), 7, 11); err != nil {
		t.Fatal(err)
	}
	h.later(lookupLife)
	if w := h.ask(http.MethodGet, at); w.Code != http.StatusNotFound {
		t.Errorf("dropped: %d", w.Code)
	}
}

// If too many pages are rendered at the same time, requests are refused with a Retry-After header.
func TestTooManyAtATime(t *testing.T) {
	h := newHouse(t, Config{})
	h.readers = make(chan struct{}, 3)
	h.renderer.hold = make(chan struct{})
	h.pages = store.NewCache[string](store.CacheConfig[*readyPage]{Limit: 1 << 20, Weight: (*readyPage).size,
		Places: make(chan struct{}, 1), Wait: time.Millisecond, Timeout: time.Minute})
	for _, external := range []string{"a", "b", "c"} {
		put(t, h.store, resultOf(external, headA, clock))
	}
	at := "/r/Octo-Org/fleet.gitops/" + headA + "/"
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- h.ask(http.MethodGet, at+ID("a")) }()
	for h.renderer.count() == 0 {
		<-time.After(time.Millisecond)
	}
	w := h.ask(http.MethodGet, at+ID("b"))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a second page: %d, %v", w.Code, w.Header())
	}
	for len(h.readers) < cap(h.readers) {
		h.readers <- struct{}{}
	}
	if w := h.ask(http.MethodGet, at+ID("a")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a reader too many: %d", w.Code)
	}
	close(h.renderer.hold)
	if w := <-first; w.Code != http.StatusOK {
		t.Errorf("the first: %d", w.Code)
	}
}

func TestTrouble(t *testing.T) {
	h := newHouse(t, Config{})
	put(t, h.store, resultOf("x", headA, clock))
	at := "/r/Octo-Org/fleet.gitops/" + headA
	h.renderer.fails = errors.New("a secret reason")
	if w := h.ask(http.MethodGet, at); w.Code != http.StatusInternalServerError ||
		strings.Contains(w.Body.String(), "secret") {
		t.Errorf("a renderer that fails: %d %s", w.Code, w.Body)
	}
	h.renderer.fails = nil
	if w := h.ask(http.MethodGet, at); w.Code != http.StatusOK {
		t.Errorf("the next one: %d", w.Code)
	}
	h.index.fail = errors.New("no")
	h.later(lookupLife)
	if w := h.ask(http.MethodGet, at); w.Code != http.StatusInternalServerError {
		t.Errorf("a store that fails: %d %s", w.Code, w.Body)
	}
}
