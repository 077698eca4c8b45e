package remote

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxAddress is the maximum length of an address.
const maxAddress = 2048

var (
	// hostName matches a host: a name or an address, perhaps with a port. It never starts like a command-line option.
	hostName = regexp.MustCompile(`^([a-z0-9_][a-z0-9._-]*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
	// scpLike is git's short form of an ssh address: user@host:path.
	scpLike = regexp.MustCompile(`^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9_][A-Za-z0-9._-]*):([^/:].*|/[^/].*)$`)
)

// DefaultPorts are left out of an address.
var DefaultPorts = map[string]string{"https": ":443", "http": ":80", "oci": ":443", "ssh": ":22"}

// Address makes an address canonical: scheme and host in lower case, without default port, user, password and fragment.
// Git's user@host:path becomes an ssh address. The error says what is wrong, without the address.
func Address(raw string) (*url.URL, error) {
	if raw == "" || len(raw) > maxAddress || strings.HasPrefix(raw, "-") || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errors.New("the address is not one that can be fetched")
	}
	if m := scpLike.FindStringSubmatch(raw); m != nil && !strings.Contains(raw, "://") {
		raw = "ssh://" + m[1] + "/" + strings.TrimPrefix(m[2], "/")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return nil, errors.New("the address is not one that can be fetched")
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch u.Scheme {
	case "git+https", "git+ssh", "git+http":
		u.Scheme = strings.TrimPrefix(u.Scheme, "git+")
	}
	port, known := DefaultPorts[u.Scheme]
	if !known {
		return nil, errors.New("only https and oci addresses are fetched")
	}
	u.Host = strings.TrimSuffix(u.Host, port)
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	if !hostName.MatchString(u.Host) {
		return nil, errors.New("the address names no valid host")
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return nil, errors.New("the address holds a relative path")
		}
	}
	if strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") || strings.Contains(u.Path, `\`) {
		return nil, errors.New("the address holds an escaped path")
	}
	return u, nil
}

// WithoutSecrets returns an address without its query, which can hold secrets.
func WithoutSecrets(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// Comparable returns an address for comparison with patterns and prefixes: it always has a path.
func Comparable(u *url.URL) string {
	s := WithoutSecrets(u)
	if u.Path == "" {
		s += "/"
	}
	return s
}

// HTTPS returns the https address for an ssh or http one. All git servers use the same path for both, and allow-lists
// contain https addresses.
func HTTPS(u *url.URL) *url.URL {
	if u.Scheme != "ssh" && u.Scheme != "http" {
		return u
	}
	c := *u
	if c.Scheme == "ssh" {
		c.Host, _, _ = strings.Cut(c.Host, ":")
	}
	c.Scheme = "https"
	return &c
}

// Globs are patterns for addresses: * matches anything except a slash, ** matches anything.
type Globs []*regexp.Regexp

// validPattern matches scheme://host/path, or scheme://** for a whole scheme. A slash must follow the host, because
// otherwise a pattern would match longer names.
var validPattern = regexp.MustCompile(`^(https|oci)://(\*\*|[A-Za-z0-9._:*\[\]-]+/.*)$`)

// CompileGlobs parses patterns. The error names the first invalid one.
func CompileGlobs(patterns ...string) (Globs, error) {
	globs := Globs{}
	for _, p := range patterns {
		g, err := compile(p)
		if err != nil {
			return nil, err
		}
		globs = append(globs, g)
	}
	return globs, nil
}

func compile(pattern string) (*regexp.Regexp, error) {
	m := validPattern.FindStringSubmatch(pattern)
	if m == nil || (m[2] != "**" && strings.HasPrefix(m[2], "**")) {
		return nil, fmt.Errorf("%q is not a pattern of addresses: write https://**, oci://registry.example.com/charts/** "+
			"or the like", pattern)
	}
	host, path, _ := strings.Cut(m[2], "/")
	if host != "**" && strings.Contains(host, "**") {
		return nil, fmt.Errorf("%q has ** in the host: write *", pattern)
	}
	var b strings.Builder
	b.WriteString("^" + m[1] + "://")
	if m[2] == "**" {
		b.WriteString(".*$")
		return regexp.Compile(b.String())
	}
	host = strings.TrimSuffix(strings.ToLower(host), ":443")
	b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(host), `\*`, `[^/:]*`) + "/")
	quoted := strings.ReplaceAll(regexp.QuoteMeta(path), `\*\*`, `.*`)
	b.WriteString(strings.ReplaceAll(quoted, `\*`, `[^/]*`) + "$")
	return regexp.Compile(b.String())
}

// Match reports whether a pattern matches an address.
func (g Globs) Match(u *url.URL) bool {
	address := Comparable(HTTPS(u))
	return slices.ContainsFunc(g, func(re *regexp.Regexp) bool { return re.MatchString(address) })
}
