package gitops

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// repositoryName normalizes a clone URL, so that spellings can be compared: host and path in lower case, without
// scheme, user, port and ".git".
func repositoryName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if strings.Contains(s, "://") {
		if u, err := url.Parse(s); err == nil {
			s = u.Hostname() + "/" + strings.TrimPrefix(u.Path, "/")
		}
	} else if host, rest, ok := strings.Cut(s, ":"); ok && !strings.Contains(host, "/") {
		s = host[strings.IndexByte(host, '@')+1:] + "/" + strings.TrimPrefix(rest, "/")
	}
	return strings.TrimSuffix(strings.Trim(s, "/"), ".git")
}

// SameRepository reports whether two clone URLs are spellings of the same one.
func SameRepository(a, b string) bool { return repositoryName(a) == repositoryName(b) }

// Match reports whether a clone URL is one of this repository.
func (h RepoNames) Match(repository string) bool {
	name := repositoryName(repository)
	return slices.ContainsFunc(h.URLs, func(u string) bool {
		known := repositoryName(u)
		return known != "" && (name == known || strings.Count(known, "/") <= 1 && strings.HasSuffix(name, "/"+known))
	})
}

// Current reports whether a revision of this repository may be that of the tree, judging by its name. A revision with a
// variable or a template may be.
func (h RepoNames) Current(revision string) bool {
	revision = strings.TrimPrefix(revision, "refs/heads/")
	switch {
	case revision == "", revision == "HEAD", strings.Contains(revision, "${"), strings.Contains(revision, "{{"):
		return true
	case len(h.Branches) > 0:
		return slices.Contains(h.Branches, revision)
	}
	return !noBranch.MatchString(revision)
}

// noBranch matches commits, versions, ranges of versions, and references that are not branches.
var noBranch = regexp.MustCompile(`\A([0-9a-f]{7,64}|v?[0-9]+(\.[0-9x*]+)*([-+].*)?|[~^<>=*].*|.*\*.*|refs/.*)\z`)

// ours reports whether a source is this repository. If the repository's or the source's address is not known, it is if
// its path exists.
func (r *reader) ours(repository, dir string) bool {
	if len(r.Repo.URLs) > 0 && repository != "" && !strings.Contains(repository, "{{") {
		return r.Repo.Match(repository)
	}
	clean, ok := tree.Clean(dir)
	return ok && exists(r.Tree, clean)
}

// exists reports whether a path exists. A path that cannot be read counts, so that the error is reported when it is
// read.
func exists(t Tree, p string) bool {
	_, _, err := t.Lookup(p)
	return !errors.Is(err, tree.ErrNotExist)
}

// resolved returns the folder that a path with symlinks leads to.
func resolved(t Tree, dir string) string {
	if real, _, err := t.Lookup(dir); err == nil {
		return real
	}
	return dir
}

func isKind(t Tree, p string, kind tree.Kind) bool {
	_, e, err := t.Lookup(p)
	return err == nil && e.Kind == kind
}

// kustomizationIn returns the path of a folder's kustomization file, empty where it has none.
func kustomizationIn(t Tree, dir string) string {
	for _, name := range kustomizationNames {
		if p := path.Join(dir, name); isKind(t, p, tree.File) {
			return p
		}
	}
	return ""
}

func otherRepository(repository string) string {
	return fmt.Sprintf("the source is another repository, %.200s: what is deployed from it is not checked",
		cmp.Or(repository, "which nothing in this repository names"))
}

func otherRevision(revision string) string {
	return fmt.Sprintf("the source is another revision of this repository, %.200s, which is not the one to be "+
		"merged: what is deployed from it is not checked", revision)
}
