package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

const (
	dialTimeout = 15 * time.Second
	maxAnswers  = 8 // addresses of one host that are tried
)

// dial resolves a host once, checks the addresses and connects to one of them, so that a changed DNS answer has no
// effect.
func (c *webClient) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, undecided("the address has no valid port")
	}
	addresses, err := c.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var usable []netip.Addr
	for _, a := range addresses {
		if c.mayDial(a) || c.policy.IsHost(address) {
			usable = append(usable, a.Unmap())
		}
	}
	if len(usable) == 0 {
		return nil, notPublic()
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for _, a := range usable[:min(len(usable), maxAnswers)] {
		var conn net.Conn
		if conn, err = c.Dial(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (c *webClient) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addresses, err := c.Resolve(ctx, host)
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound, err == nil && len(addresses) == 0:
		return nil, undecided("the name of its host is not known")
	case err != nil:
		return nil, err
	}
	return addresses, nil
}

func (c *webClient) mayDial(a netip.Addr) bool {
	return publicAddress(a) || c.policy.Private(a.Unmap()) || c.policy.Private(a)
}

func notPublic() error {
	return undecided("its host has no public address, and is not in the operator's list of private networks")
}

// reserved are networks of this machine, of private networks, or of nobody: RFC 6890 and later ones
// (https://www.iana.org/assignments/iana-ipv4-special-registry, and the same for IPv6).
var reserved = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/3",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

var (
	globalV6 = netip.MustParsePrefix("2000::/3")
	nat64    = netip.MustParsePrefix("64:ff9b::/96") // the last four bytes are the IPv4 address that is reached
)

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, t := range texts {
		list = append(list, netip.MustParsePrefix(t))
	}
	return list
}

// publicAddress reports whether an address is one of the public internet. For an IPv6 address that contains an IPv4
// address, the latter decides.
func publicAddress(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	if nat64.Contains(a) {
		b := a.As16()
		return publicAddress(netip.AddrFrom4([4]byte(b[12:])))
	}
	if a.Is6() && !globalV6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(n netip.Prefix) bool { return n.Contains(a) })
}

const (
	tries     = 3
	firstWait = time.Second
)

// webAnswer is the answer to a GET.
type webAnswer struct {
	Body       []byte
	ETag       string
	NotChanged bool // the ETag that was sent is still that of the content; there is no Body
}

// retryable is a failure that another try may resolve.
type retryable struct{ error }

// Unwrap returns the failure.
func (e retryable) Unwrap() error { return e.error }

// Get fetches an address, at most max bytes. It tries again if there is no answer or the status is 429 or 5xx.
func (t *trip) Get(ctx context.Context, u *url.URL, etag string, max int64) (*webAnswer, error) {
	var answer *webAnswer
	err := t.client.Retry(ctx, func() (err error) {
		answer, err = t.get(ctx, u, etag, max)
		return err
	})
	return answer, err
}

// Retry calls do until it succeeds, fails for good, or has failed three times.
func (c *webClient) Retry(ctx context.Context, do func() error) error {
	pause := firstWait
	for n := 1; ; n++ {
		err := do()
		again, ok := errors.AsType[retryable](err)
		if !ok {
			return err
		}
		if n == tries {
			return again.error
		}
		if err := c.Sleep(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

func (t *trip) get(ctx context.Context, u *url.URL, etag string, max int64) (*webAnswer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, undecided("the address is not one that can be fetched")
	}
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	resp, err := t.HTTP().Do(r)
	if err != nil {
		return nil, retry(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && etag != "" {
		return &webAnswer{ETag: etag, NotChanged: true}, nil
	}
	if err := statusFailure(resp.StatusCode); err != nil {
		return nil, err
	}
	body, err := readBounded(resp.Body, resp.ContentLength, max)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // when the connection ends, a server may end its answer as if it were complete
	}
	if err != nil {
		return nil, retry(ctx, err)
	}
	return &webAnswer{Body: body, ETag: resp.Header.Get("ETag")}, nil
}

// retry marks a network failure as one to try again. What was refused here is not tried again.
func retry(ctx context.Context, err error) error {
	var certificate *tls.CertificateVerificationError
	if failureOf(err) != nil || ctx.Err() != nil || errors.As(err, &certificate) {
		return webFailure(ctx, err)
	}
	return retryable{webFailure(ctx, err)}
}

// readBounded reads a body of at most max bytes. length is the announced length, -1 if there was none.
func readBounded(r io.Reader, length, max int64) ([]byte, error) {
	tooLarge := undecided("it is larger than %d MiB", max>>20)
	if length > max {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > max:
		return nil, tooLarge
	}
	return data, nil
}

// statusFailure returns the failure for an HTTP status, nil for success.
func statusFailure(code int) error {
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return broken("it does not exist (HTTP %d)", code)
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return undecided("it needs credentials that are not configured, or rejects them (HTTP %d)", code)
	case code == http.StatusTooManyRequests || code >= 500:
		return retryable{transient("its host reports an error of its own (HTTP %d)", code)}
	}
	return undecided("its host gave an unexpected answer (HTTP %d)", code)
}
