package roots

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// filter selects roots by the settings' globs, and roots that are known to be deployed.
type filter struct {
	include, exclude []*regexp.Regexp
	deployed         []string // folders
}

func newFilter(include, exclude []string) (*filter, error) {
	f := &filter{}
	for i, g := range slices.Concat(include, exclude) {
		re, err := Glob(g)
		if err != nil {
			return nil, err
		}
		if i < len(include) {
			f.include = append(f.include, re)
		} else {
			f.exclude = append(f.exclude, re)
		}
	}
	return f, nil
}

func (f *filter) match(p string) bool {
	return !matchesAny(f.exclude, p) && (len(f.include) == 0 || matchesAny(f.include, p)) || f.isDeployed(p)
}

func (f *filter) excludes(p string) bool { return matchesAny(f.exclude, p) && !f.isDeployed(p) }

func (f *filter) isDeployed(p string) bool { return slices.Contains(f.deployed, p) }

func matchesAny(list []*regexp.Regexp, p string) bool {
	return slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return re.MatchString(p) })
}

// Glob compiles a path pattern: "*" and "?" stay within a path element, "**" crosses any number of them, and
// "dir/**" matches dir itself, too. A pattern without "**" that names a folder matches that folder only.
func Glob(pattern string) (*regexp.Regexp, error) {
	p := strings.Trim(strings.TrimPrefix(pattern, "./"), "/")
	if p == "" {
		return nil, fmt.Errorf("the pattern %q is empty", pattern)
	}
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(p); i++ {
		switch {
		case strings.HasPrefix(p[i:], "/**") && (i+3 == len(p) || p[i+3] == '/'):
			b.WriteString("(/.*)?")
			i += 2
		case strings.HasPrefix(p[i:], "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(p[i:], "**"):
			b.WriteString(".*")
			i++
		case p[i] == '*':
			b.WriteString("[^/]*")
		case p[i] == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		}
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be read: %w", pattern, err)
	}
	return re, nil
}

// MatchesChart reports whether a glob matches the folder of a chart.
func (x *Index) MatchesChart(glob string) bool {
	return Walk(x.Tree(), glob, func(dir string, _ tree.Entry) bool { return x.HasChart(dir) })
}

// Walk reports whether a glob matches a path of a tree for which is returns true (nil: any path). It stops at the first
// match, and only reads folders that the glob can match.
func Walk(t *tree.Tree, glob string, is func(p string, e tree.Entry) bool) bool {
	re, err := Glob(glob)
	if err != nil {
		return false
	}
	from := strings.Trim(strings.TrimPrefix(glob, "./"), "/")
	if i := strings.IndexAny(from, "*?"); i >= 0 {
		from = path.Dir(from[:i] + "x")
	}
	real, e, err := t.Lookup(from)
	if err != nil {
		return false
	}
	if re.MatchString(from) && (is == nil || is(from, e)) {
		return true
	}
	return e.Kind == tree.Dir && real == from && walk(t, from, re, is)
}

func walk(t *tree.Tree, dir string, re *regexp.Regexp, is func(string, tree.Entry) bool) bool {
	list, err := t.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range list {
		p := path.Join(dir, e.Name)
		if re.MatchString(p) && (is == nil || is(p, e)) || e.Kind == tree.Dir && walk(t, p, re, is) {
			return true
		}
	}
	return false
}
