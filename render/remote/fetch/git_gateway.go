package fetch

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	secretHeader  = "X-Lintel-Gateway"
	gatewayPath   = "/repository"
	advertisement = "application/x-git-upload-pack-advertisement"
)

// gitGateway is the server that git connects to in place of the real one. It listens on loopback during one session,
// and forwards the two requests of a fetch to one repository. So git itself does not resolve names, connect elsewhere,
// follow redirects or see credentials, and the reason of a failure is known from the server's answer and not from git's
// messages.
type gitGateway struct {
	trip   *trip
	client *webClient
	ctx    context.Context
	secret string
	server *http.Server
	listen net.Listener
	max    int64        // the limit for all answers, in bytes
	passed atomic.Int64 // how many of them were passed on, or would have been
	unsure bool         // see gitSource

	mu       sync.Mutex
	upstream *url.URL // the repository; another one after info/refs was redirected
	failure  error    // the first one
}

// openGateway starts a gateway to a repository.
func (f *Fetcher) openGateway(ctx context.Context, src gitSource) (*gitGateway, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.New("git has no proxy to fetch through: listening on 127.0.0.1 failed")
	}
	trip := f.web.Trip()
	trip.Authorization = src.Authorization
	u := *src.URL
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	g := &gitGateway{trip: trip, client: f.web, ctx: ctx, secret: rand.Text(), listen: listener, upstream: &u,
		max: f.o.MaxGit, unsure: src.Unsure}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() { _ = g.server.Serve(listener) }()
	return g, nil
}

func (g *gitGateway) close() { _ = g.server.Close() }

// address is what git is told, and config what makes it show that it is the one that was told.
func (g *gitGateway) address() string { return "http://" + g.listen.Addr().String() + gatewayPath }

func (g *gitGateway) config() []string {
	return []string{"protocol.http.allow", "always", "http.extraHeader", secretHeader + ": " + g.secret,
		"http.followRedirects", "false", "http.proxy", ""}
}

// err returns why the session failed, nil if the server answered everything.
func (g *gitGateway) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

func (g *gitGateway) fail(w http.ResponseWriter, err error) {
	g.broke(err)
	http.Error(w, "", http.StatusForbidden) // 401 would make git look for credentials
}

// ServeHTTP implements http.Handler.
func (g *gitGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(g.secret)) != 1 {
		http.Error(w, "", http.StatusNotFound)
		return
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == gatewayPath+"/info/refs" &&
		r.URL.RawQuery == "service=git-upload-pack":
		g.refs(w, r)
	case r.Method == http.MethodPost && r.URL.Path == gatewayPath+"/git-upload-pack":
		g.pack(w, r)
	default:
		http.Error(w, "", http.StatusNotFound)
	}
}

// refs forwards the request for references. If it is redirected, the rest of the session uses the new address.
func (g *gitGateway) refs(w http.ResponseWriter, r *http.Request) {
	var resp *http.Response
	err := g.client.Retry(r.Context(), func() (err error) {
		if resp, err = g.ask(r, "/info/refs", nil); err != nil {
			return retry(r.Context(), err)
		}
		if err = statusFailure(resp.StatusCode); err != nil {
			resp.Body.Close()
		}
		return err
	})
	if f := failureOf(err); f != nil && f.Broken && g.unsure {
		err = undecided("it does not exist, or can only be read with a key for ssh")
	}
	if err != nil {
		g.fail(w, err)
		return
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != advertisement {
		g.fail(w, broken("it is not a git repository"))
		return
	}
	to := *resp.Request.URL
	if path, ok := strings.CutSuffix(to.Path, "/info/refs"); ok {
		to.Path, to.RawPath, to.RawQuery = path, "", g.upstream.RawQuery
		g.mu.Lock()
		g.upstream = &to
		g.mu.Unlock()
	}
	g.pass(w, resp)
}

// pack forwards a request for objects.
func (g *gitGateway) pack(w http.ResponseWriter, r *http.Request) {
	resp, err := g.ask(r, "/git-upload-pack", r.Body)
	if err != nil {
		g.fail(w, webFailure(r.Context(), err))
		return
	}
	defer resp.Body.Close()
	if err := statusFailure(resp.StatusCode); err != nil {
		g.fail(w, err)
		return
	}
	g.pass(w, resp)
}

func (g *gitGateway) ask(r *http.Request, path string, body io.Reader) (*http.Response, error) {
	g.mu.Lock()
	to := *g.upstream
	g.mu.Unlock()
	to.Path += path
	if r.URL.RawQuery != "" {
		to.RawQuery = r.URL.RawQuery
	}
	up, err := http.NewRequestWithContext(r.Context(), r.Method, to.String(), body)
	if err != nil {
		return nil, undecided("the address is not one that can be fetched")
	}
	if body != nil {
		up.ContentLength = r.ContentLength
	}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Accept", "Git-Protocol"} {
		if v := r.Header.Get(name); v != "" {
			up.Header.Set(name, v)
		}
	}
	up.Header.Set("User-Agent", "git/lintel")
	return g.trip.HTTP().Do(up)
}

// pass gives an answer to git, up to the size limit.
func (g *gitGateway) pass(w http.ResponseWriter, resp *http.Response) {
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		g.fail(w, undecided("its host compresses answers in a way that was not requested"))
		return
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if g.passed.Add(int64(n)) > g.max {
				g.broke(undecided("the repository is larger than %d MiB", g.max>>20))
				panic(http.ErrAbortHandler)
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			_ = flush.Flush()
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			g.broke(webFailure(g.ctx, err))
			panic(http.ErrAbortHandler) // git must not take a truncated answer for a complete one
		}
	}
}

func (g *gitGateway) broke(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure == nil {
		g.failure = err
	}
}
