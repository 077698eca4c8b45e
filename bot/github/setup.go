package github

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // the page is a file of its own
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

const (
	pagePath     = "/setup"
	callbackPath = "/setup/callback"
	// tokenLife is how long after the start the page can be opened.
	tokenLife = time.Hour
	// stateLife is the lifetime of GitHub's code
	// (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest#3-you-exchange-the-temporary-code-to-retrieve-the-app-configuration).
	stateLife = time.Hour
	maxForm   = 16 << 10
	// maxAddress is much longer than any address in use.
	maxAddress = 512
)

// SetupConfig is what a Setup needs. Registrar, GitHubURL and DataDir are required.
type SetupConfig struct {
	Registrar *Registrar
	GitHubURL string // as configured; it is stored with the credentials
	DataDir   string // folder in which the credentials are stored
	// address at which GitHub and people reach this server; empty: the page asks for it. See ParseAddress.
	PublicURL string
	Log       *slog.Logger     // nil: none. Tokens, codes and credentials are never logged
	Now       func() time.Time // nil: time.Now
}

// Setup registers the GitHub App of a server that has none. It serves one page, protected by a token, that leads the
// operator through GitHub's manifest flow. It stores the credentials that GitHub issues.
//
//	GET  /setup?token=T           asks for the address of this server and the owner of the App
//	POST /setup                   shows the manifest; its button posts it to GitHub
//	GET  /setup/callback          where GitHub sends the browser back, with a code and our state
//
// Every request except the callback has the token, in the address or a hidden field. No cookie is needed, and no page
// of another site can post the forms. The callback is protected by the state, which only the holder of the token
// receives. The callback may therefore use another address of this server than the page.
//
// It answers HTTP until the App is registered. It is safe for concurrent use.
type Setup struct {
	config     SetupConfig
	mux        *http.ServeMux
	token      string
	state      string
	begun      time.Time
	registered chan struct{} // closed when result is set

	exchanging sync.Mutex // one exchange at a time

	until  atomic.Pointer[time.Time] // the state is valid until then; nil: it was not issued yet
	result *Credentials
}

// NewSetup makes a Setup with a new token. It fails if credentials could not be stored in the data directory.
func NewSetup(c SetupConfig) (*Setup, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	if err := probeDataDir(c.DataDir); err != nil {
		return nil, err
	}
	s := &Setup{config: c, mux: http.NewServeMux(), token: rand.Text(), state: rand.Text(), begun: c.Now(),
		registered: make(chan struct{})}
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	s.mux.HandleFunc("GET /readyz", s.ready)
	// GitHub records a failed delivery. The sweep requests it again once there is an App.
	s.mux.HandleFunc("/webhook", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no GitHub App is registered yet", http.StatusServiceUnavailable)
	})
	s.mux.HandleFunc("GET "+pagePath, s.ask)
	s.mux.HandleFunc("POST "+pagePath, s.offer)
	s.mux.HandleFunc("GET "+callbackPath, s.callback)
	for _, path := range []string{pagePath, callbackPath} { // 405 for other methods
		s.mux.HandleFunc(path, http.NotFound)
	}
	return s, nil
}

// Path is the path and query that opens the page. It contains the token: it is for the operator's eyes only.
func (s *Setup) Path() string { return pagePath + "?" + url.Values{"token": {s.token}}.Encode() }

// Wait returns the credentials once the App is registered, or the context's error.
func (s *Setup) Wait(ctx context.Context) (*Credentials, error) {
	select {
	case <-s.registered:
		return s.result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ServeHTTP implements http.Handler.
func (s *Setup) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Setup) ready(w http.ResponseWriter, _ *http.Request) {
	reason := "no GitHub App is registered yet: open the link that the server printed at its start"
	switch {
	case s.done():
		reason = "starting as the GitHub App"
	case s.expired():
		reason = "no GitHub App is registered, and the link to do it has expired: restart for a new one"
	}
	http.Error(w, "not ready: "+reason, http.StatusServiceUnavailable)
}

func (s *Setup) done() bool {
	select {
	case <-s.registered:
		return true
	default:
		return false
	}
}

func (s *Setup) expired() bool { return s.config.Now().After(s.begun.Add(tokenLife)) }

// admit returns true if the token is right and not expired. Otherwise it answers the request and returns false.
func (s *Setup) admit(w http.ResponseWriter, r *http.Request, token string) bool {
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 || s.done() {
		http.NotFound(w, r)
		return false
	}
	if s.expired() {
		s.show(w, http.StatusGone, setupPage{Title: "This link has expired", Text: "Restart the server; it prints a new one."})
		return false
	}
	return true
}

// ask shows the first page.
func (s *Setup) ask(w http.ResponseWriter, r *http.Request) {
	if !s.admit(w, r, r.URL.Query().Get("token")) {
		return
	}
	s.show(w, http.StatusOK, setupPage{Title: "Register Lintel at GitHub",
		Ask: &askPage{Token: s.token, Address: s.address(r), Fixed: s.config.PublicURL != ""}})
}

// address returns the configured address, or a proposal from the headers of browsers and proxies, which anybody can
// set.
func (s *Setup) address(r *http.Request) string {
	if s.config.PublicURL != "" {
		return s.config.PublicURL
	}
	scheme, host := "http", r.Host
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	if h := r.Header.Get("X-Forwarded-Host"); h != "" {
		host = h
	}
	address, err := ParseAddress(scheme + "://" + host)
	if err != nil {
		return ""
	}
	return address
}

// organizationPattern matches the names that GitHub allows, and a few more.
var organizationPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`) })

// offer shows the second page: the whole manifest, and the button that sends it to GitHub.
func (s *Setup) offer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.ParseForm() != nil {
		http.NotFound(w, r)
		return
	}
	if !s.admit(w, r, r.PostForm.Get("token")) {
		return
	}
	again := askPage{Token: s.token, Address: s.config.PublicURL, Fixed: s.config.PublicURL != "",
		Organization: strings.TrimSpace(r.PostForm.Get("organization")), Public: r.PostForm.Get("public") != ""}
	if !again.Fixed {
		again.Address = strings.TrimSpace(r.PostForm.Get("address"))
	}
	address, err := ParseAddress(again.Address)
	if err == nil && again.Organization != "" && !organizationPattern().MatchString(again.Organization) {
		err = errors.New("this is not the name of an organization")
	}
	if err != nil {
		again.Problem = err.Error()
		s.show(w, http.StatusUnprocessableEntity, setupPage{Title: "Register Lintel at GitHub", Ask: &again})
		return
	}
	manifest, enterprise := NewManifest(address), IsEnterpriseServer(s.config.GitHubURL)
	manifest.Public = again.Public
	if enterprise {
		manifest = manifest.withoutMergeQueues()
	}
	until := s.config.Now().Add(stateLife)
	s.until.Store(&until)
	s.show(w, http.StatusOK, setupPage{Title: "Register Lintel at GitHub", Offer: &offerPage{
		Action: s.config.Registrar.FormURL(again.Organization, s.state), Organization: again.Organization,
		Manifest: manifest, EnterpriseServer: enterprise}})
}

// callback exchanges the code. GitHub issues the credentials only once. Therefore, neither a closed browser nor a
// second request may interrupt the exchange before the credentials are stored.
func (s *Setup) callback(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(s.state)) != 1 {
		http.NotFound(w, r)
		return
	}
	s.exchanging.Lock()
	defer s.exchanging.Unlock()
	if until := s.until.Load(); s.done() || until == nil || s.config.Now().After(*until) {
		http.NotFound(w, r)
		return
	}
	c, installURL, err := s.config.Registrar.Convert(context.WithoutCancel(r.Context()), query.Get("code"))
	switch {
	case forge.IsGone(err):
		s.config.Log.Warn("the GitHub App was not registered", "error", err)
		s.show(w, http.StatusBadRequest, setupPage{Title: "GitHub does not know this code",
			Text: "The code was used before, or is older than an hour. If GitHub lists a new App in the settings of its " +
				"owner, delete it. Then open the link again that the server printed at its start."})
		return
	case err != nil:
		s.config.Log.Warn("the GitHub App was not registered", "error", err)
		s.show(w, http.StatusBadGateway, setupPage{Title: "GitHub did not provide the credentials", Text: "Reload this page " +
			"to try again; that works for an hour.", Problem: err.Error()})
		return
	}
	c.GitHubURL = s.config.GitHubURL
	if err := storeCredentials(s.config.DataDir, c); err != nil {
		s.config.Log.Error("the GitHub App was registered, but its credentials were not stored", "slug", c.Slug, "error", err)
		s.show(w, http.StatusInternalServerError, setupPage{Title: "The credentials could not be stored", Problem: err.Error(),
			Text: "GitHub provides them only once. Delete the App " + c.Slug + " in the settings of its owner, and repair " +
				"the data directory. Then open the link again that the server printed at its start."})
		return
	}
	s.result = c
	s.config.Log.Info("GitHub App registered", "app_id", c.AppID, "slug", c.Slug, "install", installURL)
	s.show(w, http.StatusOK, setupPage{Title: "Lintel is registered", Install: installURL})
	close(s.registered)
}

// hostPattern excludes hosts that url.Parse accepts, but that a Content-Security-Policy would read as more than a host.
var hostPattern = regexp.MustCompile(`^[0-9A-Za-z._:\[\]-]+$`)

// ParseAddress checks the address of a server, such as https://lintel.example.com, and returns it without a trailing
// slash. Its errors are texts for people.
func ParseAddress(raw string) (string, error) {
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	switch {
	case err != nil || u.Hostname() == "" || !hostPattern.MatchString(u.Host) || u.Scheme != "https" && u.Scheme != "http" ||
		len(raw) > maxAddress:
		return "", errors.New("the address must look like https://lintel.example.com")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("the address must not contain credentials, a query or a fragment")
	}
	return u.String(), nil
}

// Confidential reports whether nobody can read requests to an address of ParseAddress in transit: it uses https, or is
// on this machine.
func Confidential(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// Link returns the address of the page: below the public address if that is configured, otherwise below the address on
// which the server listens.
func (s *Setup) Link(listen net.Addr) string {
	if s.config.PublicURL != "" {
		return s.config.PublicURL + s.Path()
	}
	host, port, err := net.SplitHostPort(listen.String())
	if ip := net.ParseIP(host); err == nil && (ip == nil || ip.IsUnspecified()) {
		host = "localhost"
	}
	return fmt.Sprintf("http://%s%s", net.JoinHostPort(host, port), s.Path())
}

// setupPage is the data of a page. At most one of Ask, Offer and Install is set.
type setupPage struct {
	Title, Text, Problem string
	Ask                  *askPage
	Offer                *offerPage
	Install              string // address at which to install the registered App
}

type askPage struct {
	Token, Address, Organization, Problem string
	Fixed                                 bool // the address is configured
	Public                                bool // every account may install the App
}

type offerPage struct {
	Action           string // address at GitHub to which the form is posted
	Organization     string
	Manifest         Manifest
	EnterpriseServer bool
}

// JSON returns the manifest as it is posted.
func (o *offerPage) JSON() (string, error) {
	data, err := json.Marshal(o.Manifest)
	return string(data), err
}

// Host returns the host to which the form is posted, as text for people.
func (o *offerPage) Host() string {
	return strings.TrimPrefix(strings.TrimPrefix(schemeAndHost(o.Action), "https://"), "http://")
}

//go:embed setup.css
var setupStyle string

//go:embed setup.html
var setupMarkup string

var setupPages = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(setupStyle) }, // our own
}).Parse(setupMarkup))

// show sends a page. Pages run no scripts, are not cached, cannot be shown in a frame, and are not named to linked
// sites. Forms may be posted to this server and, from the page with the manifest, to GitHub. Some browsers apply this
// rule to redirects, too, so the address that GitHub redirects to is included.
func (s *Setup) show(w http.ResponseWriter, status int, p setupPage) {
	var body bytes.Buffer
	if err := setupPages.Execute(&body, p); err != nil {
		s.config.Log.Error("the setup page cannot be shown", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	forms := "'self'"
	if p.Offer != nil {
		forms += " " + schemeAndHost(p.Offer.Action) + " " + schemeAndHost(p.Offer.Manifest.RedirectURL)
	}
	sum := sha256.Sum256([]byte(setupStyle))
	h := w.Header()
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; form-action "+forms+
			"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// schemeAndHost returns the scheme and host of an address that was parsed before.
func schemeAndHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
