package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

const (
	dialTimeout = 15 * time.Second
	maxAnswers  = 8 // addresses of one host that are tried
)

// Resolver returns the addresses of a host name.
type Resolver func(ctx context.Context, host string) ([]netip.Addr, error)

// Dialer connects to an IP address.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

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
