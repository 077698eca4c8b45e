package fetch

import (
	"net/netip"
	"testing"
)

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"93.184.216.34": true, "8.8.8.8": true, "2606:2800:220:1:248:1893:25c8:1946": true, "::ffff:8.8.8.8": true,
		"64:ff9b::8.8.8.8": true, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false,
		"127.0.0.1":       false,
		"127.255.255.254": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true,
		"192.0.0.1": false, "192.0.2.1": false, "192.168.0.1": false, "198.18.0.1": false, "203.0.113.1": false,
		"224.0.0.1": false,
		"240.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false, "::127.0.0.1": false,
		"::ffff:127.0.0.1":       false,
		"::ffff:169.254.169.254": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::10.0.0.1": false, "64:ff9b:1::1": false, "2001:db8::1": false,
		"2001::1":       false,
		"2002:7f00:1::": false, "fec0::1": false, "100::1": false, "5f00::1": false,
	} {
		if got := publicAddress(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %v", a, got)
		}
	}
	if publicAddress(netip.Addr{}) || publicAddress(netip.MustParseAddr("2606::1%eth0")) {
		t.Error("an address that is none")
	}
}
