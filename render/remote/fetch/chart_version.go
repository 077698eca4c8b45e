package fetch

import (
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/Masterminds/semver/v3"
)

var exactPattern = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+_-]+)?$`)

// exactVersion reports whether a reference is one version and not a range, so that it always means the same version.
func exactVersion(ref string) bool { return exactPattern.MatchString(ref) }

func parses(version string) bool {
	_, err := semver.NewVersion(version)
	return err == nil
}

// newestFirst sorts versions, all of which are valid. It makes exactly the call that Helm makes: the order of versions
// that differ only in build metadata depends on the sort algorithm.
func newestFirst[T any](list []T, version func(T) string) {
	c := byVersion[T]{list: list, parsed: make([]*semver.Version, len(list))}
	for i, e := range list {
		v, err := semver.NewVersion(version(e))
		if err != nil {
			v = &semver.Version{}
		}
		c.parsed[i] = v
	}
	sort.Sort(sort.Reverse(c))
}

type byVersion[T any] struct {
	list   []T
	parsed []*semver.Version
}

func (c byVersion[T]) Len() int           { return len(c.list) }
func (c byVersion[T]) Less(i, j int) bool { return c.parsed[i].LessThan(c.parsed[j]) }
func (c byVersion[T]) Swap(i, j int) {
	c.list[i], c.list[j] = c.list[j], c.list[i]
	c.parsed[i], c.parsed[j] = c.parsed[j], c.parsed[i]
}

// pickVersion returns which of the versions, sorted newest first, Helm takes for a reference: the one with exactly that
// text, otherwise the first in the range. Without a reference it takes the newest version that is no prerelease.
func pickVersion(versions []string, ref string) (int, error) {
	constraint, err := semver.NewConstraint(cmp.Or(ref, "*"))
	if err != nil {
		return 0, broken("%s is neither a version nor a range of versions", quote(ref))
	}
	if ref != "" {
		if n := slices.Index(versions, ref); n >= 0 {
			return n, nil
		}
	}
	for n, version := range versions {
		if v, err := semver.NewVersion(version); err == nil && constraint.Check(v) {
			return n, nil
		}
	}
	if ref == "" {
		return 0, broken("the chart has prerelease versions only")
	}
	return 0, broken("no version of the chart matches %s", quote(ref))
}

// versionsOfTags returns the versions that the tags of a registry mean, newest first. A tag has "_" in place of "+".
// Like Helm, it leaves out tags that are not whole versions.
func versionsOfTags(tags []string) []string {
	var versions []string
	for _, tag := range tags {
		if v, err := semver.StrictNewVersion(strings.ReplaceAll(tag, "_", "+")); err == nil {
			versions = append(versions, v.String())
		}
	}
	newestFirst(versions, func(v string) string { return v })
	return versions
}

// newestTag returns the tag with the newest version in a range. A version may start with "v". If short is set, versions
// of fewer than three numbers count, too.
func newestTag(tags []string, ref string, short bool) (string, error) {
	constraint, err := semver.NewConstraint(ref)
	if err != nil {
		return "", broken("%s is not a range of versions", quote(ref))
	}
	newest, found := -1, (*semver.Version)(nil)
	for n, tag := range tags {
		v, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
		if short {
			v, err = semver.NewVersion(tag)
		}
		if err == nil && constraint.Check(v) && (newest < 0 || v.GreaterThan(found)) {
			newest, found = n, v
		}
	}
	if newest < 0 {
		return "", broken("no tag is a version that matches %s", quote(ref))
	}
	return tags[newest], nil
}

// tagOf returns the tag of a version.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }
