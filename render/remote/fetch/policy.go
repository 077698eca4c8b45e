package fetch

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/lintel-bot/lintel/render/remote"
)

// Policy is what the operator, and below that a repository, says about sources from outside: what may be fetched, from
// where instead, with which credentials, and which addresses may be dialled. The operator's file is LINTEL_SOURCES:
//
//	allow: ["https://**", "oci://**"]          # the default; * is anything but a slash, ** is anything
//	forks: {allow: []}                         # what a fork's change may have fetched, and not only read from the store
//	mirrors: [{from: "oci://ghcr.io/", to: "oci://registry.corp.example/ghcr/"}]
//	credentials:                               # exactly one file each; the longest prefix decides
//	- {prefix: "oci://registry.corp.example/", dockerConfig: docker.json}
//	- {prefix: "https://charts.corp.example/", basicAuthFile: charts}       # user:password
//	- {prefix: "https://git.corp.example/", tokenFile: token}               # shown as a bearer token
//	private: [10.0.0.0/8]                      # addresses that may be dialled though they are not public
//	plainHTTP: ["http://127.0.0.1:5000/"]      # prefixes for which http is used, oci addresses included
//	caFile: ca.pem                             # authorities besides those of the system
//
// Patterns see https addresses also where the tree has an ssh or an http one. Prefixes end with a slash. Files are
// relative to the folder of LINTEL_SOURCES. A policy is immutable.
type Policy struct {
	allow       []remote.Globs // all of them have to fit
	forks       remote.Globs
	mirrors     []mirror
	credentials []credential
	private     []netip.Prefix
	plain       []string
	own         *url.URL       // nil: none
	roots       *x509.CertPool // those of the system and the operator's; nil: those of the system
}

type mirror struct{ from, to string }

// DefaultPolicy allows everything public and has no credentials.
func DefaultPolicy() *Policy {
	p, err := ParsePolicy("", nil)
	if err != nil {
		panic(err) // the empty file is valid
	}
	return p
}

// Narrow returns a policy that also wants one of the patterns to fit; it can take away only. Nil patterns change
// nothing, an empty list refuses everything.
func (p *Policy) Narrow(patterns []string) (*Policy, error) {
	if patterns == nil {
		return p, nil
	}
	globs, err := remote.CompileGlobs(patterns...)
	if err != nil {
		return nil, err
	}
	c := *p
	c.allow = append(slices.Clone(p.allow), globs)
	return &c, nil
}

// Allows reports whether an address may be used.
func (p *Policy) Allows(u *url.URL) bool {
	return !slices.ContainsFunc(p.allow, func(g remote.Globs) bool { return !g.Match(u) })
}

// AllowsFork reports whether what a fork's change asks for may be fetched from an address.
func (p *Policy) AllowsFork(u *url.URL) bool { return p.forks.Match(u) }

// Mirror returns where an address is fetched from: the longest prefix decides. Mirrors are the operator's and need not
// be allowed.
func (p *Policy) Mirror(u *url.URL) (*url.URL, error) {
	for _, address := range []*url.URL{u, remote.HTTPS(u)} {
		full := remote.Comparable(address)
		for _, m := range p.mirrors {
			if rest, ok := strings.CutPrefix(full, m.from); ok {
				to, err := remote.Address(m.to + rest)
				if err == nil {
					to.RawQuery = u.RawQuery
				}
				return to, err
			}
		}
	}
	return u, nil
}

// WithHost returns a policy under which the host of an address may be reached as that has it: at whatever address, and
// by http where it begins with that. It is the operator's own host of git. What may be fetched from it stays the same.
func (p *Policy) WithHost(u *url.URL) *Policy {
	c := *p
	c.own = u
	return &c
}

// IsHost reports whether a host and port are those of WithHost.
func (p *Policy) IsHost(hostPort string) bool {
	if p.own == nil {
		return false
	}
	own := strings.ToLower(p.own.Host)
	if p.own.Port() == "" {
		own += remote.DefaultPorts[p.own.Scheme]
	}
	return strings.EqualFold(hostPort, own)
}

// PlainHTTP reports whether an http address may be used, or an oci one by http.
func (p *Policy) PlainHTTP(u *url.URL) bool {
	c := *u
	c.Scheme = "http"
	if p.own != nil && p.own.Scheme == "http" && p.own.Host == c.Host {
		return true
	}
	return slices.ContainsFunc(p.plain, func(prefix string) bool { return strings.HasPrefix(remote.Comparable(&c), prefix) })
}

// Private reports whether an address that is not public may be dialled.
func (p *Policy) Private(a netip.Addr) bool {
	return slices.ContainsFunc(p.private, func(n netip.Prefix) bool { return n.Contains(a) })
}

// readRoots adds the certificates of a file to those of the system.
func readRoots(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}

// longestFirst orders prefixes so that the first that fits is the one that says most.
func longestFirst(a, b string) int { return cmp.Compare(len(b), len(a)) }

// maxSecret is how large a file with credentials may be.
const maxSecret = 1 << 20

// credential names where the credentials for a prefix are. Exactly one file is set.
type credential struct {
	prefix                            string
	basicAuthFile, tokenFile, dockerF string
}

// authorization returns the value of an Authorization header.
func authorization(c *auth.Credential) string {
	if c.AccessToken != "" {
		return "Bearer " + c.AccessToken
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
}

// Credential returns the operator's credentials for an address, nil where there are none: the longest prefix decides.
// The files are read each time, so that they can be renewed. The error does not name their content.
func (p *Policy) Credential(u *url.URL) (*auth.Credential, error) {
	address := remote.Comparable(u)
	for _, c := range p.credentials {
		if !strings.HasPrefix(address, c.prefix) {
			continue
		}
		got, err := c.read(u.Host)
		if err != nil {
			return nil, fmt.Errorf("the operator's credentials cannot be used: %w", err)
		}
		return got, nil
	}
	return nil, nil
}

func (c credential) read(host string) (*auth.Credential, error) {
	text, err := secret(cmp.Or(c.basicAuthFile, c.tokenFile, c.dockerF))
	switch {
	case err != nil:
		return nil, err
	case c.tokenFile != "":
		return &auth.Credential{AccessToken: text}, nil
	case c.dockerF != "":
		return docker([]byte(text), host)
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok {
		return nil, errors.New("the file must contain user:password")
	}
	return &auth.Credential{Username: user, Password: password}, nil
}

// secret reads a file with something secret in it. Its errors have no path.
func secret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errors.New("the file cannot be read")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch text := strings.TrimSpace(string(data)); {
	case err != nil:
		return "", errors.New("the file cannot be read")
	case len(data) > maxSecret:
		return "", errors.New("the file is too large")
	case text == "":
		return "", errors.New("the file is empty")
	default:
		return text, nil
	}
}

// docker reads the entry of a host from a configuration of docker. Credential helpers are programs and not started.
func docker(data []byte, host string) (*auth.Credential, error) {
	type entry struct {
		Auth          string `json:"auth"`
		Username      string `json:"username"`
		Password      string `json:"password"`
		IdentityToken string `json:"identitytoken"`
		RegistryToken string `json:"registrytoken"`
	}
	var config struct {
		Auths map[string]entry `json:"auths"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, errors.New("the file is not a Docker configuration")
	}
	for name, e := range config.Auths {
		if dockerHost(name) != dockerHost(host) {
			continue
		}
		c := &auth.Credential{Username: e.Username, Password: e.Password, RefreshToken: e.IdentityToken,
			AccessToken: e.RegistryToken}
		if e.Auth != "" {
			both, err := base64.StdEncoding.DecodeString(e.Auth)
			if err != nil {
				return nil, errors.New("the entry of the registry is not base64")
			}
			c.Username, c.Password, _ = strings.Cut(strings.TrimRight(string(both), "\x00"), ":")
		}
		return c, nil
	}
	return nil, errors.New("the Docker configuration has no entry for this registry")
}

// dockerHost is the host of an entry, whose key can be an old address.
func dockerHost(name string) string {
	_, rest, ok := strings.Cut(name, "://")
	if !ok {
		rest = name
	}
	host, _, _ := strings.Cut(strings.ToLower(rest), "/")
	switch host {
	case "index.docker.io", "registry-1.docker.io", "docker.io":
		return "docker.io"
	}
	return host
}
