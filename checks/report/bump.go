package report

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Bump is what new versions of remote sources (charts, remote bases, files) change in one root.
type Bump struct {
	Root  string  `json:"root"`
	Moved []Moved `json:"moved"`

	Added   []Resource       `json:"added"`
	Removed []Resource       `json:"removed"`
	Changed []ResourceChange `json:"changed"`
	// Relabeled counts the resources in which only version labels change. They are not in Changed.
	Relabeled int           `json:"relabeled"`
	Images    []ImageChange `json:"images"`
	CRDs      []CRDChange   `json:"crds"`
	Grants    []Grant       `json:"grants"` // what roles allow that they did not
	Values    []ValueChange `json:"values"` // the user's values that the new version treats otherwise
	// Violations counts the new findings of this root.
	Violations int `json:"violations"`
	// LeftOut counts the resources, images, CRDs and roles that are not listed because of the limits.
	LeftOut int `json:"leftOut,omitempty"`
	// Problem says why the versions could not be compared; empty: they were.
	Problem string `json:"problem,omitempty"`
}

// Moved is a remote source whose version the change updates.
type Moved struct {
	Name  string  `json:"name"` // "podinfo", "github.com/acme/base"
	URL   string  `json:"url"`  // where it comes from
	From  Version `json:"from"`
	To    Version `json:"to"`
	Path  string  `json:"path"` // the line that chooses it, at the head
	Line  int     `json:"line"`
	Links []Link  `json:"links"` // for people, to compare; nothing was fetched from there
}

// Version is a requested version, and the revision that it was resolved to.
type Version struct {
	Ref      string `json:"ref"`                // empty: the newest
	Revision string `json:"revision,omitempty"` // the version of a chart, the commit
}

// String returns the version in words: "6.5.0", "^6 (6.5.0)", "main (1a2b3c4)".
func (v Version) String() string {
	ref, revision := short(v.Ref), short(v.Revision)
	switch {
	case ref == "" && revision == "":
		return "newest"
	case ref == "":
		return "newest (" + revision + ")"
	case revision == "" || revision == ref || strings.TrimPrefix(ref, "v") == strings.TrimPrefix(revision, "v"):
		return ref
	}
	return ref + " (" + revision + ")"
}

// hash matches the hash of a commit or a digest, and the part of it that is shown.
var hash = regexp.MustCompile(`^([^:]*:)?([0-9a-f]{7})[0-9a-f]{33,}$`)

func short(s string) string { return hash.ReplaceAllString(s, "$1$2") }

// Link is a web address.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// ResourceChange is a resource that renders differently.
type ResourceChange struct {
	Resource
	// Diff is the difference as YAML in unified format, without file names. It contains no values of Secrets.
	Diff    string `json:"diff"`
	LeftOut int    `json:"leftOut,omitempty"` // lines of it that are not in Diff
}

// ImageChange is a changed image of a container. A new or removed image has one side only.
type ImageChange struct {
	Resource  Resource `json:"resource"`
	Container string   `json:"container"`
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
}

// CRDChange is the changes of a kind of resources.
type CRDChange struct {
	Name string `json:"name"`
	// Says lists the changes, each in a few words: "version v1beta1 is no longer served".
	Says []string `json:"says"`
}

// Grant is what a role newly allows.
type Grant struct {
	Resource Resource `json:"resource"`
	Added    bool     `json:"added,omitempty"` // the role itself is new
	Rules    []string `json:"rules"`           // "create, delete: secrets"
	LeftOut  int      `json:"leftOut,omitempty"`
}

// ValueChange is a value of the user that the new version of a chart treats differently.
type ValueChange struct {
	Name string `json:"name"` // "ingress.annotations"
	Path string `json:"path"`
	Line int    `json:"line"`
	Gone bool   `json:"gone"`           // nothing reads it any more
	Says string `json:"says,omitempty"` // what the chart's schema says about it
}

// String returns the change in words.
func (v ValueChange) String() string {
	words := "the schema of the new version rejects " + v.Name + ": " + v.Says
	if v.Gone {
		words = "no template of the new version reads " + v.Name
		if v.Says != "" {
			words += " (" + v.Says + ")"
		}
	}
	return words
}

// Resolved is the revision of a reference that moves: a branch, a range of versions, or the newest version.
type Resolved struct {
	Name     string `json:"name"`
	Ref      string `json:"ref"` // empty: the newest
	Revision string `json:"revision"`
	Path     string `json:"path"`
	Line     int    `json:"line"`
}

// String returns the reference in words: "main of github.com/acme/base is 1a2b3c4".
func (r Resolved) String() string {
	return fmt.Sprintf("%s of %s is %s", cmp.Or(r.Ref, "the newest"), r.Name, short(r.Revision))
}
