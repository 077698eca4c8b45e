package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

const (
	maxRedirects = 5
	maxHeader    = 64 << 10
	agent        = "lintel"
)

// WebOptions set how requests are made.
type WebOptions struct {
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)         // of a host name; nil: the system's
	Dial    func(ctx context.Context, network, address string) (net.Conn, error) // to an IP address; nil: net.Dialer
	Proxy   func(*http.Request) (*url.URL, error)                                // nil: http.ProxyFromEnvironment
	Sleep   func(ctx context.Context, d time.Duration) error                     // between tries; nil: a timer
}

// webClient makes requests. It is safe for concurrent use.
type webClient struct {
	WebOptions
	policy  *Policy
	direct  *http.Transport
	proxied *http.Transport
}

// newWeb returns a client; Close ends its connections.
func newWeb(policy *Policy, o WebOptions) *webClient {
	c := &webClient{WebOptions: o, policy: policy}
	dialer := &net.Dialer{Timeout: dialTimeout}
	if c.Resolve == nil {
		c.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if c.Dial == nil {
		c.Dial = dialer.DialContext
	}
	if c.Proxy == nil {
		c.Proxy = http.ProxyFromEnvironment
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	c.direct = &http.Transport{
		DialContext:           c.dial,
		TLSClientConfig:       &tls.Config{RootCAs: policy.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   4,
		// Compressed answers are not decompressed here, since that would have no size limit.
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
	}
	c.proxied = c.direct.Clone()
	c.proxied.DialContext, c.proxied.Proxy = dialer.DialContext, c.Proxy
	return c
}

// Close ends the idle connections.
func (c *webClient) Close() {
	c.direct.CloseIdleConnections()
	c.proxied.CloseIdleConnections()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// trip is the fetching of one thing, in one or more requests. It is the only way to make requests.
type trip struct {
	client *webClient
	// Authorization is sent only to the address of the first request, whatever requests follow.
	Authorization string
	// Pinned means that the digest of the content is known. Redirects may then lead to hosts that the allow-list does
	// not have, such as the storage hosts of registries. IP addresses are checked nevertheless.
	Pinned bool

	mu    sync.Mutex
	first *url.URL // where the first request went
	hosts []string // that redirects led to
}

// Trip begins a trip.
func (c *webClient) Trip() *trip { return &trip{client: c} }

// Hosts returns the addresses on other hosts that redirects led to and that the allow-list has.
func (t *trip) Hosts() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.hosts)
}

// HTTP returns a client of the standard library that makes the same checks.
func (t *trip) HTTP() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: t.redirect}
}

// RoundTrip implements http.RoundTripper for one request of a chain of redirects.
func (t *trip) RoundTrip(r *http.Request) (*http.Response, error) {
	c := t.client
	if err := c.scheme(r.URL); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", cmp.Or(r.Header.Get("User-Agent"), agent))
	r.Header.Set("Accept-Encoding", "identity")
	if began := t.began(r.URL); began && t.Authorization != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", t.Authorization)
	}
	by, err := c.Proxy(r)
	if err != nil {
		return nil, undecided("the proxy that is configured has no valid address")
	}
	if by == nil {
		return c.direct.RoundTrip(r)
	}
	host := r.URL.Hostname()
	a, err := netip.ParseAddr(host)
	if ((err == nil && !c.mayDial(a)) || host == "localhost") && !c.policy.IsHost(net.JoinHostPort(host, r.URL.Port())) {
		return nil, notPublic()
	}
	return c.proxied.RoundTrip(r)
}

// began reports whether an address is that of the first request, and sets it for the first one. Git continues at the
// new address after a redirect.
func (t *trip) began(u *url.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first = u
	}
	return sameOrigin(t.first, u)
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

func (c *webClient) scheme(u *url.URL) error {
	address, err := remote.Address(u.Scheme + "://" + u.Host + "/")
	switch {
	case err != nil:
		return undecided("%v", err)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http":
		if address.Path, address.RawPath = u.Path, ""; c.policy.PlainHTTP(address) {
			return nil
		}
	}
	return undecided("plain http is not allowed: use https, or have the operator list the address under plainHTTP")
}

// redirect decides whether a redirect is followed. Credentials for the first host are not sent to another one.
func (t *trip) redirect(r *http.Request, via []*http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return undecided("it redirects more than %d times", maxRedirects)
	}
	first := via[0].URL
	if sameOrigin(first, r.URL) {
		return nil
	}
	r.Header.Del("Authorization")
	r.Header.Del("Cookie")
	r.Header.Del("Referer")
	to, err := remote.Address(remote.WithoutSecrets(r.URL))
	if err != nil {
		return undecided("it redirects to an address that cannot be used: %v", err)
	}
	if first.Scheme == "https" && r.URL.Scheme != "https" {
		return undecided("it redirects from https to %s", to.Scheme)
	}
	if t.Pinned {
		return nil
	}
	if !t.client.policy.Allows(to) {
		return denied("it redirects to the host %s, which is not in the list of allowed sources", to.Host)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hosts = append(t.hosts, remote.WithoutSecrets(to))
	return nil
}

// webFailure returns the reason why a request failed in one sentence, without addresses. If ctx ended, it returns the
// error of ctx.
func webFailure(ctx context.Context, err error) error {
	if err == nil || failureOf(err) != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var timeout net.Error
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return transient("its host did not answer in time")
	case errors.As(err, &dns):
		return transient("the name of its host could not be resolved")
	case errors.As(err, &certificate):
		return undecided("the certificate of its host is not trusted")
	}
	return transient("its host cannot be reached, or broke the connection")
}
