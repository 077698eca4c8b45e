package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/remote"
)

// text is a scalar with its line number.
type text struct {
	value string
	line  int
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *text) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: a text is needed here", n.Line)}}
	}
	t.value, t.line = n.Value, n.Line
	return nil
}

// policyFile is the content of LINTEL_SOURCES.
type policyFile struct {
	Allow *[]text `yaml:"allow"`
	Forks struct {
		Allow []text `yaml:"allow"`
	} `yaml:"forks"`
	Mirrors []struct {
		From text `yaml:"from"`
		To   text `yaml:"to"`
	} `yaml:"mirrors"`
	Credentials []struct {
		Prefix        text `yaml:"prefix"`
		DockerConfig  text `yaml:"dockerConfig"`
		BasicAuthFile text `yaml:"basicAuthFile"`
		TokenFile     text `yaml:"tokenFile"`
	} `yaml:"credentials"`
	Private   []text `yaml:"private"`
	PlainHTTP []text `yaml:"plainHTTP"`
	CAFile    text   `yaml:"caFile"`
}

// LoadPolicy reads LINTEL_SOURCES. Files that it names are relative to its folder. The error names file and line.
func LoadPolicy(path string) (*Policy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the sources file: %w", err)
	}
	return ParsePolicy(path, data)
}

// ParsePolicy reads the content of LINTEL_SOURCES; name is for errors and what relative files are next to. Fields that are
// not known are errors: one that is misspelled would silently allow more than was meant.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	var f policyFile
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, located(name, err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: holds more than one document", name)
	}
	r := policyReader{name: name, folder: filepath.Dir(name)}
	p := r.policy(f)
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

var (
	yamlLine     = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unknownField = regexp.MustCompile(`^field (\S+) not found in type .*$`)
	wrongType    = regexp.MustCompile(`^cannot unmarshal (\S+).* into .*$`)
)

// located puts the file and line in front of a decoder's error.
func located(name string, err error) error {
	said := err.Error()
	if several, ok := errors.AsType[*yaml.TypeError](err); ok && len(several.Errors) > 0 {
		said = several.Errors[0]
	}
	m := yamlLine.FindStringSubmatch(said)
	if m == nil {
		return fmt.Errorf("%s:1: %s", name, strings.TrimPrefix(said, "yaml: ")) // the decoder leaves out the first line
	}
	what := unknownField.ReplaceAllString(m[2], `the field "$1" is not known`)
	what = wrongType.ReplaceAllString(what, "the value has the wrong type ($1)")
	return fmt.Errorf("%s:%s: %s", name, m[1], what)
}

// policyReader turns a file into a policy and keeps its first error.
type policyReader struct {
	name, folder string
	err          error
}

func (r *policyReader) fail(t text, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s:%d: %s", r.name, t.line, fmt.Sprintf(format, args...))
	}
}

func (r *policyReader) policy(f policyFile) *Policy {
	p := &Policy{}
	allow := []text{{value: "https://**"}, {value: "oci://**"}}
	if f.Allow != nil {
		allow = *f.Allow
	}
	p.allow, p.forks = []remote.Globs{r.globs(allow)}, r.globs(f.Forks.Allow)
	for _, m := range f.Mirrors {
		p.mirrors = append(p.mirrors, mirror{from: r.prefix(m.From, "https", "oci", "ssh"),
			to: r.prefix(m.To, "https", "oci", "http")})
	}
	slices.SortStableFunc(p.mirrors, func(a, b mirror) int { return longestFirst(a.from, b.from) })
	for _, c := range f.Credentials {
		got := credential{prefix: r.prefix(c.Prefix, "https", "oci", "http"), basicAuthFile: r.path(c.BasicAuthFile),
			tokenFile: r.path(c.TokenFile), dockerF: r.path(c.DockerConfig)}
		files := []string{got.basicAuthFile, got.tokenFile, got.dockerF}
		if len(slices.DeleteFunc(files, func(name string) bool { return name == "" })) != 1 {
			r.fail(c.Prefix, "%q: credentials need exactly one of basicAuthFile, tokenFile and dockerConfig",
				remote.Redacted(c.Prefix.value))
		}
		p.credentials = append(p.credentials, got)
	}
	slices.SortStableFunc(p.credentials, func(a, b credential) int { return longestFirst(a.prefix, b.prefix) })
	for _, t := range f.Private {
		p.private = append(p.private, r.network(t))
	}
	for _, t := range f.PlainHTTP {
		p.plain = append(p.plain, r.prefix(t, "http"))
	}
	if f.CAFile.value != "" {
		roots, err := readRoots(r.path(f.CAFile))
		if err != nil {
			r.fail(f.CAFile, "caFile: %v", err)
		}
		p.roots = roots
	}
	return p
}

func (r *policyReader) globs(patterns []text) remote.Globs {
	globs := remote.Globs{}
	for _, t := range patterns {
		g, err := remote.CompileGlobs(t.value)
		if err != nil {
			r.fail(t, "%v", err)
		}
		globs = append(globs, g...)
	}
	return globs
}

// prefix reads the prefix of addresses. It has to end with a slash, or it would match longer names as well.
func (r *policyReader) prefix(t text, schemes ...string) string {
	u, err := remote.Address(t.value)
	fail := func(format string, args ...any) {
		address, _, _ := strings.Cut(remote.Redacted(t.value), "?")
		r.fail(t, "%q: %s", address, fmt.Sprintf(format, args...))
	}
	switch {
	case t.value == "":
		r.fail(t, "an address is missing here")
	case err != nil:
		fail("%v", err)
	case !slices.Contains(schemes, u.Scheme):
		fail("the address has to begin with %s://", strings.Join(schemes, ":// or "))
	case u.RawQuery != "":
		fail("the address has a query")
	case !strings.HasSuffix(remote.Comparable(u), "/"):
		fail("the address has to end with /: without it, longer names would match, too")
	default:
		return remote.Comparable(u)
	}
	return ""
}

func (r *policyReader) path(t text) string {
	if t.value == "" || filepath.IsAbs(t.value) {
		return t.value
	}
	return filepath.Join(r.folder, t.value)
}

func (r *policyReader) network(t text) netip.Prefix {
	n, err := netip.ParsePrefix(t.value)
	if err != nil {
		if a, err := netip.ParseAddr(t.value); err == nil && a.Zone() == "" {
			return netip.PrefixFrom(a, a.BitLen())
		}
		r.fail(t, "%q is not a network such as 10.0.0.0/8", t.value)
	}
	return n.Masked()
}
