package results

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/output"
)

// Config is the configuration of a Handler. Store, Renderer and Guard are required.
type Config struct {
	Store    *Store
	Renderer Renderer
	Guard    Guard
	// Base is the path of the public address, "" or such as /lintel. Requests may come with or without it, since a
	// proxy may remove it.
	Base string
	Now  func() time.Time // default: time.Now
	Log  *slog.Logger     // default: discard
}

const (
	// lookupLife is how long answers of the store are cached, and therefore how long removed results are still shown.
	lookupLife = 5 * time.Second
	// overviewLife is the same for the pages of repositories and accounts, accountLife for the list of an account's
	// repositories.
	overviewLife = 10 * time.Second
	accountLife  = 30 * time.Second
	// lookups limits the concurrent requests to the store, maxWaiting the requests that wait for their turn, and
	// busyWait how long they wait. Few pages wait to be made, so that readers of many pages do not delay readers of
	// cached ones.
	lookups, maxWaiting = 16, 256
	pagesWaiting        = 32
	busyWait            = 2 * time.Second
	makeTimeout         = 20 * time.Second // of one page, requests to the store included
	maxLooked           = 32 << 20         // bytes, about
	pagesBytes          = 64 << 20         // of the pages that are kept, compressed
	maxReaders          = 512              // requests whose pages are looked for at a time
	retrySeconds        = "2"
	// maxPath is far above any path of ours.
	maxPath = 1024
)

// Handler serves the pages:
//
//	/r/OWNER/REPO/HEAD             the newest result of a commit
//	/r/OWNER/REPO/HEAD/ID          one result
//	/r/OWNER/REPO/HEAD/ID/PART     a part of its page
//	/o/OWNER                       the repositories of an account
//	/o/OWNER/REPO                  a repository
//	/static/NAME                   a file that pages refer to
//
// It answers 200, 304, 404 (for a missing page and for one that the reader may not see), 405, 500, and 503 with
// Retry-After if there are too many requests. A page is made once for all readers.
type Handler struct {
	config  Config
	pages   *store.Cache[string, *readyPage]
	looks   *store.Cache[string, any] // what the store said
	assets  map[string]asset          // by their names, which change with their content
	readers chan struct{}
	missing *readyPage
	busy    *readyPage
	failed  *readyPage
}

// readyPage is a page ready to be sent.
type readyPage struct {
	status int
	body   packed
	tag    string
}

// New makes a handler.
func New(c Config) *Handler {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Base = strings.TrimRight(c.Base, "/")
	renderings := max(1, runtime.GOMAXPROCS(0)/2) // webhooks have the other processors
	message := func(status int, title, text string) *readyPage {
		var b bytes.Buffer
		_ = writeMessage(&b, output.Frame{Static: c.Base + "/static/"}, title, text) // into memory, and of what is known here
		return newPage(status, b.Bytes())
	}
	assets := map[string]asset{}
	for _, a := range output.Assets() {
		assets[a.Name] = asset{newPacked(a.Data), a.Type}
	}
	return &Handler{config: c, assets: assets, readers: make(chan struct{}, maxReaders),
		pages: store.NewCache[string](store.CacheConfig[*readyPage]{Limit: pagesBytes, Weight: (*readyPage).size, Now: c.Now,
			Places: make(chan struct{}, renderings), Most: renderings + pagesWaiting, Wait: busyWait, Timeout: makeTimeout}),
		looks: store.NewCache[string](store.CacheConfig[any]{Limit: maxLooked, Weight: lookedSize, Now: c.Now,
			Places: make(chan struct{}, lookups), Most: lookups + maxWaiting, Wait: busyWait, Timeout: makeTimeout}),
		missing: message(http.StatusNotFound, "Not found", "This page does not exist, or you may not see it. Results "+
			"are kept for a limited time: re-run the check for a new one."),
		busy: message(http.StatusServiceUnavailable, "Busy", "There are too many requests at the moment. Try again "+
			"in a few seconds."),
		failed: message(http.StatusInternalServerError, "Not shown", "The page could not be created. The server's "+
			"log has the reason."),
	}
}

func (p *readyPage) size() int64 { return int64(len(p.body.data)) + 512 }

func newPage(status int, html []byte) *readyPage {
	return &readyPage{status: status, body: newPacked(html), tag: sumOf(html)[:24]}
}

// Patterns are those of http.ServeMux that the handler serves.
func (h *Handler) Patterns() (all []string) {
	for _, base := range slices.Compact([]string{"", h.config.Base}) {
		all = append(all, base+"/r/", base+"/o/", base+"/static/")
	}
	return all
}

// secure sets the headers of every answer. Pages load only styles and listed files of this server, run no inline
// scripts, are not framed, and tell other sites no address. Referrers stay within the site instead of being removed,
// since the form to sign out needs its origin.
func secure(h http.Header, besides string) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; "+besides+"; form-action 'self'; "+
		"frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header(), "script-src 'self'; img-src 'self' data:; connect-src 'self'")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	path, ok := h.path(r)
	if ok && path[0] == "static" {
		h.asset(w, r, path[1:])
		return
	}
	select {
	case h.readers <- struct{}{}:
	default:
		h.send(w, r, h.busy, "no-store")
		return
	}
	r = h.config.Guard.Once(r) // a reader is looked up once, however many repositories are on the page
	p, private, err := h.find(r, path, ok)
	<-h.readers // a slow reader then keeps no place: the page is made and shared
	switch {
	case err == nil && private:
		h.send(w, r, p, "private, no-store")
	case err == nil:
		// Who may see it can change at any moment, so it is asked for again each time.
		h.send(w, r, p, "private, no-cache")
	case errors.Is(err, store.ErrBusy):
		h.send(w, r, h.busy, "no-store")
	case errors.Is(err, ErrNone):
		if !h.config.Guard.Turn(w, r) {
			h.send(w, r, h.missing, "no-store")
		}
	case r.Context().Err() != nil: // the reader is gone
	default:
		h.config.Log.Error("a page could not be created", "error", err)
		h.send(w, r, h.failed, "no-store")
	}
}

// path returns the decoded parts of a path below Base. ok is false for a path that no page has.
func (h *Handler) path(r *http.Request) (parts []string, ok bool) {
	path := r.URL.EscapedPath()
	if rest, below := strings.CutPrefix(path, h.config.Base+"/"); h.config.Base != "" && below {
		path = "/" + rest
	}
	if len(path) > maxPath {
		return nil, false
	}
	for _, part := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		part, err := url.PathUnescape(part)
		if err != nil || part == "" {
			return nil, false
		}
		parts = append(parts, part)
	}
	return parts, len(parts) > 1
}

// send answers with a page.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, p *readyPage, cache string) {
	header := w.Header()
	header.Set("Cache-Control", cache)
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Vary", "Accept-Encoding, Cookie")
	if p.status == http.StatusServiceUnavailable {
		header.Set("Retry-After", retrySeconds)
	}
	if p.status != http.StatusOK {
		p.body.send(w, r, p.status)
		return
	}
	tag := `"` + p.tag + `"`
	if takesGzip(r) {
		tag = `"` + p.tag + `-gzip"`
	}
	header.Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), p.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	p.body.send(w, r, p.status)
}

// asset is a file that pages refer to.
type asset struct {
	body packed
	kind string
}

// asset answers with a file, which may be cached forever: a file with other content has another name.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request, name []string) {
	a, ok := h.assets[strings.Join(name, "/")]
	if !ok {
		h.send(w, r, h.missing, "no-store")
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Vary", "Accept-Encoding")
	a.body.send(w, r, http.StatusOK)
}

// packed is a body in compressed form: nearly all readers accept it, and for others it is decompressed each time.
type packed struct {
	data []byte
	size int // not compressed
}

func newPacked(plain []byte) packed { return packed{compress(plain), len(plain)} }

// send answers with the body in an encoding that the reader accepts.
func (p packed) send(w http.ResponseWriter, r *http.Request, status int) {
	size, gzipped := p.size, takesGzip(r)
	if gzipped {
		w.Header().Set("Content-Encoding", "gzip")
		size = len(p.data)
	}
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if gzipped {
		_, _ = w.Write(p.data) // who left does not want it
		return
	}
	if plain, err := gzip.NewReader(bytes.NewReader(p.data)); err == nil { // as it always is: we compressed it
		_, _ = io.Copy(w, plain)
	}
}

// takesGzip reads Accept-Encoding (RFC 9110, section 12.5.3); a weight of zero is a no.
func takesGzip(r *http.Request) bool {
	for _, entry := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(entry), ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, weighted := strings.CutPrefix(strings.TrimSpace(weight), "q=")
		value, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !weighted || err == nil && value > 0
	}
	return false
}

// matches reads If-None-Match (RFC 9110, section 13.1.2).
func matches(header, tag string) bool {
	for _, entry := range strings.Split(header, ",") {
		entry = strings.Trim(strings.TrimPrefix(strings.TrimSpace(entry), "W/"), `"`)
		if entry == "*" || strings.TrimSuffix(entry, "-gzip") == tag {
			return true
		}
	}
	return false
}

// Renderer writes HTML. It is called concurrently; its output is cached and sent to many readers.
type Renderer interface {
	// Result writes the page of a result, also of one whose Report is nil.
	Result(w io.Writer, r *Stored, v View) error
	// Part writes what the page of a result leaves to be loaded on demand, from an address below its own; ErrNone if
	// there is no such part.
	Part(w io.Writer, r *Stored, part string, v View) error
	// Repository writes the page of a repository. Organisation writes that of an account with the repositories that the
	// reader may see, those with the most violations first.
	Repository(w io.Writer, o *Overview, v View) error
	Organisation(w io.Writer, owner string, repositories []*Summary, v View) error
}

// View is the context of a page. Readers with an equal View share the cached page.
type View struct {
	Base     string // begins the addresses of all pages: "", or a path such as /lintel
	Here     string // path of this page, with Base
	SignedIn bool   // the reader could sign out
	Others   []Meta // all results of the same commit, newest first
	More     bool   // the account, or Previews, has more repositories that the reader may see
	// what pull requests of the repository would change in others that the reader may see, the newest first
	Previews []PreviewResult
	Withheld []string // URLs of what of Meta.Foreign the reader may not read
}

// Guard decides who may see the pages of a repository; *Access does.
type Guard interface {
	// Once returns a request for which the other methods identify the sender at most once.
	Once(r *http.Request) *http.Request
	// Level is what the sender of a request may see of a repository now. An error counts as Hidden.
	Level(r *http.Request, repository forge.Repository) (Level, error)
	// Reader is the login of the sender, if there is a session that could be ended.
	Reader(r *http.Request) (login string, signedIn bool)
	// Turn may answer a request for a page that does not exist or that the sender may not see, for example with a
	// sign-in. It returns false without an answer, and the answer is then 404.
	Turn(w http.ResponseWriter, r *http.Request) bool
}
