package chart

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/lintel-bot/lintel/fetch/fault"
)

var exact = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+_-]+)?$`)

// Exact reports whether a reference is one version and no range: what it comes to does not change.
func Exact(ref string) bool { return exact.MatchString(ref) }

func parses(version string) bool {
	_, err := semver.NewVersion(version)
	return err == nil
}

// newestFirst orders versions; what is none comes last.
func newestFirst(a, b string) int {
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	switch {
	case errX != nil && errY != nil:
		return 0
	case errX != nil:
		return 1
	case errY != nil:
		return -1
	}
	return y.Compare(x)
}

// Pick returns which of the versions, newest first, Helm takes for a reference: the one of exactly that text, else the
// first in the range. No reference takes the newest that is no prerelease.
func Pick(versions []string, ref string) (int, error) {
	constraint, err := semver.NewConstraint(orAny(ref))
	if err != nil {
		return 0, fault.Broken("%s is neither a version nor a range of versions", Quote(ref))
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
		return 0, fault.Broken("there is no version of the chart that is no prerelease")
	}
	return 0, fault.Broken("there is no version of the chart that %s fits", Quote(ref))
}

func orAny(ref string) string {
	if ref == "" {
		return "*"
	}
	return ref
}

// FromTags returns the versions that tags of a registry stand for, newest first: a tag has "_" for "+". Tags that are no
// whole versions are left out, as Helm does.
func FromTags(tags []string) []string {
	var versions []string
	for _, tag := range tags {
		if v, err := semver.StrictNewVersion(strings.ReplaceAll(tag, "_", "+")); err == nil {
			versions = append(versions, v.String())
		}
	}
	slices.SortStableFunc(versions, newestFirst)
	return versions
}

// Tag returns the tag that stands for a version.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "_") }
