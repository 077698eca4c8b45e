package fetch

import (
	"net/netip"
	"slices"
)

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
