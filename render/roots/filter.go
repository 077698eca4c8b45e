package roots

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/tree"
)

// filter selects roots by the settings' globs, and roots that are known to be deployed.
type filter struct {
	include, exclude []*regexp.Regexp
	deployed         []string // folders
}

func newFilter(include, exclude []string) (*filter, error) {
	var all []*regexp.Regexp
	for _, g := range slices.Concat(include, exclude) {
		re, err := Glob(g)
		if err != nil {
			return nil, err
		}
		all = append(all, re)
	}
	return &filter{include: all[:len(include)], exclude: all[len(include):]}, nil
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
	return e.Kind == tree.Dir && real == from &&
		anyBelow(t, from, func(p string, e tree.Entry) bool { return re.MatchString(p) && (is == nil || is(p, e)) })
}

// anyBelow reports whether is returns true for an entry of a folder or of folders below it. It stops at the first.
func anyBelow(t *tree.Tree, dir string, is func(p string, e tree.Entry) bool) bool {
	list, _ := t.ReadDir(dir) // nil where the folder cannot be read
	return slices.ContainsFunc(list, func(e tree.Entry) bool {
		p := path.Join(dir, e.Name)
		return is(p, e) || e.Kind == tree.Dir && anyBelow(t, p, is)
	})
}

// maxAliases limits how many files below linked folders are visited.
const maxAliases = 200_000

// maxLinkSteps limits through how many nested symlinks a changed file is followed.
const maxLinkSteps = 8

// aliases lists the paths through symlinks to changed files, and the targets of changed symlinks. A symlink to one of
// its own parent folders is skipped.
func (x *Index) aliases(changed, links []string) (list []string) {
	is := setOf(links)
	var leads [][2]string // pairs of a symlink and its target
	for _, l := range x.Links() {
		real, e, err := x.Tree().Lookup(l)
		if err != nil || real == "." || strings.HasPrefix(l, real+"/") {
			continue
		}
		leads = append(leads, [2]string{l, real})
		switch {
		case is[l] && e.Kind == tree.Dir:
			filesBelow(x.Tree(), l, &list)
		case is[l] && e.Kind == tree.File:
			list = append(list, l)
		}
	}
	found := slices.Concat(changed, list)
	for range maxLinkSteps {
		var more []string
		for _, lead := range leads {
			l, real := lead[0], lead[1]
			for _, p := range found {
				if len(list)+len(more) >= maxAliases {
					return append(list, more...)
				}
				if rest, below := strings.CutPrefix(p, real+"/"); below {
					more = append(more, path.Join(l, rest))
				} else if p == real {
					more = append(more, l)
				}
			}
		}
		if len(more) == 0 {
			break
		}
		list, found = append(list, more...), more
	}
	return list
}

// filesBelow adds the files of a folder and of folders below it.
func filesBelow(t *tree.Tree, dir string, list *[]string) {
	anyBelow(t, dir, func(p string, e tree.Entry) bool {
		if e.Kind != tree.Dir && len(*list) < maxAliases {
			*list = append(*list, p)
		}
		return len(*list) >= maxAliases
	})
}

// movedByLink reports whether a path leads through a symlink to a manifest that is part of a root at its own place,
// unless that is in the folder of another cluster.
func (x *Index) movedByLink(p string) bool {
	real, _, err := x.Tree().Lookup(p)
	return err == nil && real != p && x.Selects(path.Dir(real)) && x.Unreferenced(real) &&
		!gitops.ClusterOfFolder(path.Dir(p)).Apart(gitops.ClusterOfFolder(path.Dir(real)))
}

// Dangling reports whether a path is a symlink with the name of a manifest, or to a folder of manifests, whose target
// does not exist in the repository.
func (x *Index) Dangling(p string) bool {
	e, err := x.Tree().Entry(p)
	if err != nil || e.Kind != tree.Symlink || x.concealed(p) || ofChart(x, p) {
		return false
	}
	_, _, err = x.Tree().Lookup(p)
	if !errors.Is(err, tree.ErrNotExist) {
		return false
	}
	dir := path.Dir(p)
	return x.owner(dir) == Folder && (x.unreferenced(p) || path.Ext(p) == "" && len(x.manifests(dir, 1)) > 0)
}
