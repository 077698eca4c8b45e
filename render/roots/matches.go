package roots

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// Matches reports whether a glob matches a root. It looks at the folders that the glob can match, up to the first that
// is one.
func (s *Set) Matches(glob string) bool {
	return s.matchesEntry(glob) || Walk(s.Tree(), glob, func(dir string, e tree.Entry) bool {
		return e.Kind == tree.Dir && (s.stands(Root{Path: dir}) || s.stands(Root{Path: dir, Kind: Folder}) ||
			len(s.Noted(deployers, dir)) > 0)
	})
}

// MatchesDeployer reports whether a glob matches a file with objects of Argo CD or Flux.
func (s *Set) MatchesDeployer(glob string) bool {
	re, err := Glob(glob)
	return err == nil && slices.ContainsFunc(s.deployersOf(), re.MatchString)
}

// Walk reports whether a tree has something that a glob matches and that is meant; nil: whatever it is. It goes where
// the glob can match, and no further than to the first.
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
