// Package github connects the App to GitHub: a Client reads and writes as the App within GitHub's limits, a Webhook
// converts deliveries to jobs, SignIn identifies readers, and Setup registers the App. Errors of a Client's methods are
// *forge.RetryLater, *forge.Gone, or errors that a retry may fix.
package github

import (
	"cmp"
	"crypto/rsa"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v4"
	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// callTimeout limits one request, including a token that it may need first. GitHub itself gives up after 10 seconds
// (https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#timeouts).
const callTimeout = 30 * time.Second

// Config is what NewClient needs to speak as a GitHub App.
type Config struct {
	// https://github.com (the default), or the address of an Enterprise Server
	URL        string
	AppID      int64                                // the App's id, required
	PrivateKey []byte                               // the App's private key, PEM, required
	HTTP       http.RoundTripper                    // nil: http.DefaultTransport
	Now        func() time.Time                     // nil: time.Now
	After      func(time.Duration) <-chan time.Time // nil: time.After
}

// Client speaks to GitHub as a GitHub App. It is safe for concurrent use.
type Client struct {
	web      string   // where people and git go, without a trailing slash
	api      *url.URL // where the REST API is, with a trailing slash
	id       int64
	key      atomic.Pointer[rsa.PrivateKey]
	now      func() time.Time
	after    func(time.Duration) <-chan time.Time
	skew     *skew
	wire     http.RoundTripper
	asApp    *gh.Client // authenticated as the App itself
	replicas func() int // processes that share the limits, this one included
	pace     *pace      // of the App itself

	mu            sync.Mutex
	installations map[int64]*installation // authenticated as one installation each
}

// installation is the client of one installation with its rate window.
type installation struct {
	client *gh.Client
	conn   *conn
	git    *store.Cache[int64, string] // tokens for git, by the repository that they can read
}

// NewClient returns a Client for the App of c. It makes no request; a wrong id or key shows at the first one.
// Its errors name the setting that is wrong and never contain the key.
func NewClient(c Config) (*Client, error) {
	web, api, err := addresses(cmp.Or(c.URL, "https://github.com"))
	if err != nil {
		return nil, err
	}
	if c.AppID <= 0 {
		return nil, errors.New("the GitHub App's id must be a positive number")
	}
	key, err := parseKey(c.PrivateKey)
	if err != nil {
		return nil, err
	}
	a := &Client{web: web, api: api, id: c.AppID, now: c.Now, after: c.After,
		replicas: func() int { return 1 }, installations: map[int64]*installation{}}
	a.key.Store(key)
	if a.now == nil {
		a.now = time.Now
	}
	if a.after == nil {
		a.after = time.After
	}
	a.skew = &skew{now: a.now}
	base := cmp.Or(c.HTTP, http.DefaultTransport)
	a.wire = &wire{host: api.Host, scheme: api.Scheme, base: base, skew: a.skew, most: maxAnswer}
	gate := &gate{now: a.now}
	a.pace = newPace(a.now, a.count)
	a.asApp = a.client(&conn{gate: gate, pace: a.pace, skew: a.skew, after: a.after,
		renew: func() http.RoundTripper { return appAuth{a} }})
	return a, nil
}

// newStranger returns a client without an identity, for requests that need only a code or another kind of token, and
// for classifying errors. It limits answers to the size of a registration.
func newStranger(address string, transport http.RoundTripper) (*Client, error) {
	web, api, err := addresses(cmp.Or(address, "https://github.com"))
	if err != nil {
		return nil, err
	}
	clock := &skew{now: time.Now}
	return &Client{web: web, api: api, now: time.Now, skew: clock, wire: &wire{host: api.Host, scheme: api.Scheme,
		base: cmp.Or(transport, http.DefaultTransport), skew: clock, most: maxRegistration}}, nil
}

// SetPrivateKey replaces the App's key (PEM) for all further tokens, and reports whether the key changed. If it fails,
// the present key stays; the error does not contain the key.
func (a *Client) SetPrivateKey(pem []byte) (changed bool, err error) {
	key, err := parseKey(pem)
	if err != nil {
		return false, err
	}
	return !a.key.Swap(key).Equal(key), nil
}

func parseKey(pem []byte) (*rsa.PrivateKey, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM(pem)
	if err != nil {
		return nil, errors.New("the GitHub App's private key is not an RSA key in PEM form")
	}
	return key, nil
}

// addresses derives the web address and the API's root from the configured URL
// (https://docs.github.com/en/enterprise-server/rest/using-the-rest-api/getting-started-with-the-rest-api).
func addresses(raw string) (web string, api *url.URL, err error) {
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", nil, errors.New("the GitHub URL must look like https://github.com")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", nil, errors.New("the GitHub URL must not contain credentials, a query or a fragment")
	}
	web, api = u.String(), &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path + "/api/v3/"}
	switch host := strings.ToLower(u.Hostname()); {
	case host == "github.com" || host == "www.github.com":
		web, api = "https://github.com", &url.URL{Scheme: "https", Host: "api.github.com", Path: "/"}
	case strings.HasSuffix(host, ".ghe.com"): // GitHub Enterprise Cloud with data residency
		api = &url.URL{Scheme: u.Scheme, Host: "api." + u.Host, Path: "/"}
	}
	return web, api, nil
}

// IsEnterpriseServer reports whether an address, see Config.URL, is that of a GitHub Enterprise Server.
func IsEnterpriseServer(address string) bool {
	_, api, err := addresses(address)
	return err == nil && strings.HasSuffix(api.Path, "/api/v3/")
}

// client wraps a transport in go-github.
func (a *Client) client(t http.RoundTripper) *gh.Client {
	c := gh.NewClient(&http.Client{Transport: t, Timeout: callTimeout})
	c.BaseURL = a.api
	c.UserAgent = "lintel"
	return c
}

// installed returns the client of an installation.
func (a *Client) installed(id int64) *installation {
	a.mu.Lock()
	defer a.mu.Unlock()
	if in, ok := a.installations[id]; ok {
		return in
	}
	answers := store.NewCache[string](store.CacheConfig[*cached]{Limit: cachedBytes, Weight: (*cached).weight})
	c := &conn{gate: &gate{now: a.now}, pace: newPace(a.now, a.count), skew: a.skew, after: a.after,
		cache: answers, grants: &grants{}}
	in := &installation{conn: c, client: a.client(c),
		git: store.NewCache[int64](store.CacheConfig[string]{Limit: maxGitTokens, Now: a.now})}
	c.renew = func() http.RoundTripper {
		in.git.Clear() // what ended the token of the API ended those, too
		return &installationAuth{Client: a, id: id, grants: c.grants}
	}
	a.installations[id] = in
	return in
}

func (a *Client) of(repo forge.Repo) *gh.Client { return a.installed(repo.Installation).client }

// Budget returns the rate limit of an installation according to the latest answer; false before the first one. After
// the window ended, the whole limit is available.
func (a *Client) Budget(installation int64) (forge.Budget, bool) {
	c := a.installed(installation).conn
	b, known := c.gate.budget()
	b.CheckRuns, b.Wait = c.pace.left()
	if !a.now().Before(b.Reset) {
		b.Remaining = b.Limit
	}
	return b, known
}

// Budgets returns the Budget of every installation with a request since the start, by id.
func (a *Client) Budgets() map[int64]forge.Budget {
	a.mu.Lock()
	known := maps.Clone(a.installations)
	a.mu.Unlock()
	all := map[int64]forge.Budget{}
	for id := range known {
		if b, ok := a.Budget(id); ok {
			all[id] = b
		}
	}
	return all
}
