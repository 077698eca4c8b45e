package fetch

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/lintel-bot/lintel/render/remote"
)

func parse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := ParsePolicy("sources.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func address(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := remote.Address(raw)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return u
}

func TestAddress(t *testing.T) {
	for raw, want := range map[string]string{
		"https://GitHub.com/o/r.git":           "https://github.com/o/r.git",
		"HTTPS://user:pw@github.com:443/o/r#x": "https://github.com/o/r",
		"git@github.com:o/r.git":               "ssh://github.com/o/r.git",
		"github.com:o/r":                       "ssh://github.com/o/r",
		"git@github.com:/o/r":                  "ssh://github.com/o/r",
		"ssh://git@github.com:22/o/r":          "ssh://github.com/o/r",
		"ssh://git@github.com:2222/o/r":        "ssh://github.com:2222/o/r",
		"git+https://github.com/o/r":           "https://github.com/o/r",
		"oci://ghcr.io/o/c":                    "oci://ghcr.io/o/c",
		"https://example.com/?a=b":             "https://example.com/?a=b",
		"http://127.0.0.1:5000/x":              "http://127.0.0.1:5000/x",
		"https://[::1]:8443/x":                 "https://[::1]:8443/x",
	} {
		if u, err := remote.Address(raw); err != nil || u.String() != want {
			t.Errorf("%q: %v, %v, want %s", raw, u, err, want)
		}
	}
	for _, raw := range []string{"", "x", "/x", "-x", "https://", "https:///x", "https://-x/", "https://a b/",
		"https://a/\x00",
		"file:///x", "ext::x", "ext::sh -c x", "git://x/y", "https://x/../y", "https://x/a/%2e%2e/b", "https://x/a%2Fb",
		"https://ex\u00e4mple.com/", "https://x:port/", "mailto:", "javascript:", "https://x/" + strings.Repeat("a", 3000),
		"ssh://-oProxyCommand=x/y", "-oProxyCommand=x:y", "git@-x:y", "https://x\\y/"} {
		if u, err := remote.Address(raw); err == nil {
			t.Errorf("%q: %v", raw, u)
		} else if raw != "" && strings.Contains(err.Error(), raw) && len(raw) > 1 {
			t.Errorf("%q is repeated: %v", raw, err)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"https://**", "https://a.example.com/x/y", true}, {"https://**", "oci://a/x", false}, {"https://**", "https://a",
			true},
		{"https://a.example.com/**", "https://a.example.com/x/y", true}, {"https://a.example.com/**", "https://a.example.com",
			true},
		{"https://a.example.com/**", "https://a.example.com.evil.org/x", false},
		{"https://*.example.com/**", "https://a.example.com/x", true}, {"https://*.example.com/**",
			"https://evil.org/a.example.com/x", false},
		{"https://*.example.com/**", "https://example.com/x", false}, {"https://*.example.com/**",
			"https://a.example.com:8443/x", false},
		{"https://a.example.com:8443/**", "https://a.example.com:8443/x", true},
		{"https://github.com/org/*", "https://github.com/org/repo", true}, {"https://github.com/org/*",
			"https://github.com/org/a/b", false},
		{"https://github.com/org/**", "git@github.com:org/repo.git", true}, {"https://github.com/org/**",
			"ssh://git@github.com:22/org/x", true},
		{"https://github.com/org/**", "https://github.com/organisation/x", false},
		{"oci://ghcr.io/org/*", "oci://ghcr.io/org/chart", true}, {"https://A.example.com/X", "https://a.example.com/X",
			true},
		{"https://a.example.com/**", "https://a.example.com/x?y=z", true},
	} {
		g, err := remote.CompileGlobs([]string{c.pattern}...)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Match(address(t, c.address)); got != c.want {
			t.Errorf("%s fits %s: %v", c.pattern, c.address, got)
		}
	}
	for _, p := range []string{"", "**", "https://a.example.com", "https://a.example.com**", "https://**.example.com/**",
		"https://***", "ftp://x/**", "http://**", "file:///**", "https:///x"} {
		if _, err := remote.CompileGlobs([]string{p}...); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", p)) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestNarrow(t *testing.T) {
	p := parse(t, "allow: ['https://a.example.com/**', 'oci://**']")
	for _, c := range []struct {
		patterns []string
		address  string
		want     bool
	}{
		{nil, "https://a.example.com/x", true}, {nil, "https://b.example.com/x", false},
		{[]string{"https://**"}, "https://b.example.com/x", false}, {[]string{"https://**"}, "oci://x/y", false},
		{[]string{"https://a.example.com/x/**"}, "https://a.example.com/x/y", true},
		{[]string{"https://a.example.com/x/**"}, "https://a.example.com/z", false}, {[]string{}, "https://a.example.com/x",
			false},
	} {
		n, err := p.Narrow(c.patterns)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Allows(address(t, c.address)); got != c.want {
			t.Errorf("%v: %s: %v", c.patterns, c.address, got)
		}
	}
	if _, err := p.Narrow([]string{"x"}); err == nil {
		t.Error("a pattern that is none")
	}
}

func TestFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"allow: []\nalow: []\n":              `sources.yaml:2: the field "alow" is not known`,
		"forks: {allowed: []}":               `sources.yaml:1: the field "allowed" is not known`,
		"allow:\n- https://**\n- nonsense\n": `sources.yaml:3: "nonsense" is not a pattern`,
		"allow: https://**":                  "sources.yaml:1: the value has the wrong type",
		"allow:\n- {a: b}":                   "sources.yaml:2: a text is needed here",
		"mirrors:\n- from: https://a.example.com/x\n  to: https://b.example.com/\n": `sources.yaml:2: ` +
			`"https://a.example.com/x": the address has to end with /`,
		"mirrors:\n- from: https://a.example.com/\n  to: file:///x/\n": `sources.yaml:3: "file:///x/": the address`,
		"mirrors:\n- from: https://u:s3cret@a.example.com/x\n  to: https://b.example.com/\n": `sources.yaml:2: ` +
			`"https://a.example.com/x": the address has to end with /`,
		"private: [10.0.0.0/99]":        `sources.yaml:1: "10.0.0.0/99" is not a network`,
		"private:\n- 10.0.0.0/8\n- x\n": `sources.yaml:3: "x" is not a network`,
		"plainHTTP: ['https://x/']": `sources.yaml:1: "https://x/": the address has to begin with ` +
			"http://",
		"credentials:\n- prefix: https://x/\n": `sources.yaml:2: "https://x/": credentials need ` +
			"exactly one",
		"credentials:\n- {prefix: https://x/, tokenFile: a, basicAuthFile: b}\n": `sources.yaml:2: "https://x/": credentials need ` +
			"exactly one",
		"caFile: /nonexistent/ca.pem": "sources.yaml:1: caFile",
		"a: b: c":                     "sources.yaml:1:",
		"allow: []\n---\nallow: []\n": "more than one document",
		"- x":                         "sources.yaml:1:",
	} {
		if _, err := ParsePolicy("sources.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := LoadPolicy(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a file that is not there")
	}
	for _, text := range []string{"", "# nothing\n", "allow: []", "{}"} {
		p := parse(t, text)
		if got := p.Allows(address(t, "https://x/y")); got == strings.HasPrefix(text, "allow") {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMirror(t *testing.T) {
	p := parse(t, `mirrors:
- {from: "https://github.com/", to: "https://git.corp.example/github/"}
- {from: "https://github.com/org/", to: "https://git.corp.example/ours/"}
- {from: "oci://ghcr.io/", to: "oci://registry.corp.example/ghcr/"}
`)
	for from, want := range map[string]string{
		"https://github.com/a/b?x=y":    "https://git.corp.example/github/a/b?x=y",
		"https://github.com/org/b":      "https://git.corp.example/ours/b",
		"git@github.com:a/b":            "https://git.corp.example/github/a/b",
		"https://github.com.evil.org/a": "https://github.com.evil.org/a",
		"oci://ghcr.io/a/b":             "oci://registry.corp.example/ghcr/a/b", "https://ghcr.io/a": "https://ghcr.io/a",
	} {
		if got, err := p.Mirror(address(t, from)); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", from, got, err)
		}
	}
}

func TestCredential(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("basic", "me:pass:word\n")
	write("token", "tok\n")
	write("bad", "nothing")
	hub := base64.StdEncoding.EncodeToString([]byte("hub:pw"))
	write("docker.json", `{"auths":{"https://index.docker.io/v1/":{"auth":"`+hub+
		`"},"registry.corp.example":{"identitytoken":"refresh"}}}`)
	if _, err := ParsePolicy("x", []byte("credentials: [{prefix: 'oci://', dockerConfig: docker.json}]")); err == nil {
		t.Fatal("a prefix without a host")
	}
	p, err := ParsePolicy(filepath.Join(dir, "sources.yaml"), []byte(`credentials:
- {prefix: "https://charts.example.com/", basicAuthFile: basic}
- {prefix: "https://charts.example.com/team/", tokenFile: token}
- {prefix: "https://bad.example.com/", basicAuthFile: bad}
- {prefix: "https://gone.example.com/", tokenFile: gone}
- {prefix: "oci://registry-1.docker.io/", dockerConfig: docker.json}
- {prefix: "oci://registry.corp.example/", dockerConfig: docker.json}
- {prefix: "oci://other.example.com/", dockerConfig: docker.json}
`))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]auth.Credential{
		"https://charts.example.com/x":      {Username: "me", Password: "pass:word"},
		"https://charts.example.com":        {Username: "me", Password: "pass:word"},
		"https://charts.example.com/team/x": {AccessToken: "tok"},
		"oci://registry-1.docker.io/x/y":    {Username: "hub", Password: "pw"},
		"oci://registry.corp.example/x":     {RefreshToken: "refresh"},
	} {
		if got, err := p.Credential(address(t, at)); err != nil || got == nil || *got != want {
			t.Errorf("%s: %+v, %v", at, got, err)
		}
	}
	for _, at := range []string{"https://charts.example.com.evil.org/x", "http://charts.example.com/x",
		"https://charts.example.com:8443/"} {
		if got, err := p.Credential(address(t, at)); err != nil || got != nil {
			t.Errorf("%s: %+v, %v", at, got, err)
		}
	}
	for _, at := range []string{"https://bad.example.com/", "https://gone.example.com/", "oci://other.example.com/x"} {
		if got, err := p.Credential(address(t, at)); err == nil || strings.Contains(err.Error(), dir) ||
			strings.Contains(err.Error(), "nothing") {
			t.Errorf("%s: %+v, %v", at, got, err)
		}
	}
}

func TestPrivateAndPlain(t *testing.T) {
	p := parse(t, "private: [10.0.0.0/8, 'fd00::/8', 192.168.1.1]\nplainHTTP: ['http://127.0.0.1:5000/']\n")
	for a, want := range map[string]bool{"10.1.2.3": true, "11.0.0.1": false, "fd00::1": true, "192.168.1.1": true,
		"192.168.1.2": false} {
		if got := p.Private(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %v", a, got)
		}
	}
	for a, want := range map[string]bool{"http://127.0.0.1:5000/x": true, "oci://127.0.0.1:5000/x": true,
		"http://127.0.0.1:5001/x": false, "http://127.0.0.1:50000/": false} {
		if got := p.PlainHTTP(address(t, a)); got != want {
			t.Errorf("%s: %v", a, got)
		}
	}
}
