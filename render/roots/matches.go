package roots

import (
	"path"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

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
