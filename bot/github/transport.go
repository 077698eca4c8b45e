package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// maxAnswer bounds the body of one answer; the largest legitimate one (a page of 100 pull requests with
// long descriptions) is a tenth of it.
const maxAnswer = 64 << 20

// wire is the last step before the network. It lets requests go to GitHub's API only: credentials are added
// above it to every request, also to one that follows a redirect.
type wire struct {
	scheme, host string
	base         http.RoundTripper
	skew         *skew
	most         int64 // bytes of an answer
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != w.host || req.URL.Scheme != w.scheme {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errors.New("refusing to follow a redirect away from GitHub's API")
	}
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	w.skew.observe(resp)
	bound(resp, w.skew.now(), w.skew.value())
	resp.Body = http.MaxBytesReader(nil, resp.Body, w.most) // fails a longer one, rather than cutting it
	return resp, nil
}

// bound writes the times at which an answer ends a limit by our clock, which the library compares them with, and brings
// nearer what is longer than maxWait: the library sends nothing before.
func bound(resp *http.Response, now time.Time, skew time.Duration) {
	if n, err := strconv.ParseInt(resp.Header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
		resp.Header.Set("X-Ratelimit-Reset", strconv.FormatInt(n-int64(skew/time.Second), 10))
	}
	if at, err := http.ParseTime(resp.Header.Get("Retry-After")); err == nil {
		resp.Header.Set("Retry-After", strconv.Itoa(max(0, int(at.Add(-skew).Sub(now)/time.Second))))
	}
	for name, most := range map[string]int64{"X-Ratelimit-Reset": now.Add(maxWait).Unix(),
		"Retry-After": int64(maxWait / time.Second)} {
		if n, err := strconv.ParseInt(resp.Header.Get(name), 10, 64); err == nil && n > most {
			resp.Header.Set(name, strconv.FormatInt(most, 10))
		}
	}
}

// gate remembers until when GitHub wants no requests, so that none is sent that would be refused: GitHub may
// ban an integration that goes on asking
// (https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
type gate struct {
	now func() time.Time

	mu     sync.Mutex
	until  time.Time
	reason string
	last   forge.Budget
	known  bool
}

func (g *gate) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.until.Sub(g.now()); wait > 0 {
		return &forge.RetryLater{After: wait, Reason: g.reason}
	}
	return nil
}

// observe closes the gate if the answer asks to wait.
func (g *gate) observe(resp *http.Response) {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if limit, err := strconv.Atoi(resp.Header.Get("X-Ratelimit-Limit")); err == nil {
		remaining, _ := strconv.Atoi(resp.Header.Get("X-Ratelimit-Remaining"))
		reset, _ := strconv.ParseInt(resp.Header.Get("X-Ratelimit-Reset"), 10, 64)
		g.last, g.known = forge.Budget{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0)}, true
	}
	if wait, reason, ok := WaitOf(resp, now); ok && now.Add(wait).After(g.until) {
		g.until, g.reason = now.Add(wait), reason
	}
}

func (g *gate) budget() (forge.Budget, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last, g.known
}

// conn carries the requests of one identity: it keeps the gate, renews credentials that GitHub stopped
// accepting, and follows redirects of writes.
type conn struct {
	gate   *gate
	pace   *pace
	skew   *skew
	cache  answers // nil: none
	grants *grants // nil: there are no permissions, since it is no installation
	after  func(time.Duration) <-chan time.Time
	renew  func() http.RoundTripper

	mu      sync.Mutex
	current http.RoundTripper
}

// maxHops is how many redirects of a write are followed; a renamed repository is one.
const maxHops = 3

func (c *conn) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		// Every attempt sends a fresh copy of the body.
		defer req.Body.Close()
	}
	if err := c.gate.check(); err != nil {
		return nil, err
	}
	for hop := 0; ; hop++ {
		resp, err := c.authenticated(req)
		if err != nil {
			return nil, err
		}
		c.gate.observe(resp)
		if c.grants != nil { // answers to installations tell of GitHub's limits
			c.pace.observe(resp)
		}
		// net/http turns a redirected write into a GET on 301 and 302; GitHub answers so for a renamed repository.
		if resp.StatusCode/100 != 3 || resp.StatusCode == http.StatusNotModified || req.Method == http.MethodGet ||
			hop == maxHops {
			return resp, nil
		}
		target, err := resp.Location()
		if err != nil {
			return resp, nil
		}
		resp.Body.Close()
		req = req.Clone(req.Context())
		req.URL, req.Host = target, ""
	}
}

// stateWait gives an answer that names a secondary rate limit without saying how long the minute that GitHub
// asks for then. Otherwise the library would wait for the reset of the primary limit, up to an hour.
func stateWait(resp *http.Response) error {
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Retry-After") != "" ||
		resp.Header.Get("X-Ratelimit-Remaining") == "0" {
		return nil
	}
	data, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	var body struct {
		Documentation string `json:"documentation_url"`
	}
	if json.Unmarshal(data, &body) == nil && (strings.HasSuffix(body.Documentation, "secondary-rate-limits") ||
		strings.HasSuffix(body.Documentation, "#abuse-rate-limits")) {
		resp.Header.Set("Retry-After", strconv.Itoa(int(unknownWait/time.Second)))
	}
	return nil
}

// authenticated sends the request and, when the credentials are refused, once more with new ones: tokens can be
// revoked before they expire, may less than was granted since, and clocks differ.
func (c *conn) authenticated(req *http.Request) (*http.Response, error) {
	t := c.transport(nil)
	resp, err := c.send(t, req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && !c.forbidden(resp) {
		return resp, err
	}
	resp.Body.Close()
	return c.send(c.transport(t), req)
}

// transport returns the present transport, or a new one if the present one is known to be bad.
func (c *conn) transport(bad http.RoundTripper) http.RoundTripper {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || c.current == bad {
		c.current = c.renew()
	}
	return c.current
}

// send sends a request, and one that only reads again if the answer is a failure of GitHub's or does not arrive.
func (c *conn) send(t http.RoundTripper, req *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		resp, err := c.once(t, req)
		if req.Method != http.MethodGet || attempt == attempts || !passing(resp, err) {
			return resp, err
		}
		if resp != nil {
			resp.Body.Close()
		}
		if err := pause(req.Context(), c.after, attempt); err != nil {
			return nil, err
		}
	}
}

// passing reports whether what went wrong may pass within a second. Where GitHub says how long it takes, it does not.
func passing(resp *http.Response, err error) bool {
	if err != nil {
		return transient(err)
	}
	_, _, waits := WaitOf(resp, time.Time{})
	return momentary(resp.StatusCode) && !waits
}

// once sends a copy of the request: transports below change headers.
func (c *conn) once(t http.RoundTripper, req *http.Request) (*http.Response, error) {
	copied := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		copied.Body = body
	}
	roundTrip := t.RoundTrip
	if c.cache != nil && req.Method == http.MethodGet {
		roundTrip = func(req *http.Request) (*http.Response, error) { return conditional(c.cache, t, req) }
	}
	done, err := c.pace.await(req, c.after)
	if err != nil {
		return nil, err
	}
	resp, err := roundTrip(copied)
	done()
	if err == nil {
		err = stateWait(resp)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

const (
	// cachedAnswers is more than a sweep asks of an installation with five hundred repositories: with fewer, each
	// round would push out what the next one asks for, and none would be free of charge.
	cachedAnswers = 4096
	cachedBytes   = 32 << 20 // of all bodies of one installation
	cachedBody    = 256 << 10
)

type cached struct {
	etag   string
	header http.Header
	body   []byte
}

// weight has small answers weigh as much as so many of them may.
func (c *cached) weight() int64 { return max(int64(len(c.body)), cachedBytes/cachedAnswers) }

// answers are those of one installation, so nobody sees what another may see.
type answers = *store.Cache[string, *cached]

// conditional makes a request conditional: an answer of 304 costs nothing of the rate limit
// (https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#use-conditional-requests-if-appropriate).
func conditional(kept answers, t http.RoundTripper, req *http.Request) (*http.Response, error) {
	key := req.URL.String() + "\n" + req.Header.Get("Accept")
	known, ok := kept.Get(key)
	if ok {
		req.Header.Set("If-None-Match", known.etag)
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified && ok {
		resp.Body.Close()
		// Rate and date headers are those of the new answer, the page links those of the stored one.
		header := known.header.Clone()
		maps.Copy(header, resp.Header)
		if links := known.header.Values("Link"); len(links) > 0 {
			header["Link"] = links
		}
		resp.StatusCode, resp.Status, resp.Header = http.StatusOK, "200 OK", header
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(known.body)), int64(len(known.body))
		return resp, nil
	}
	etag := resp.Header.Get("Etag")
	if resp.StatusCode != http.StatusOK || etag == "" {
		return resp, nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, cachedBody+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(head) > cachedBody {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	kept.Put(key, &cached{etag: etag, header: resp.Header.Clone(), body: head}, store.Span{})
	resp.Body = io.NopCloser(bytes.NewReader(head))
	return resp, nil
}
