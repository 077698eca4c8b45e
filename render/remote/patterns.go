package remote

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

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
