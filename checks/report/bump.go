package report

import (
	"fmt"
	"strings"
)

// Bump is what other versions of things from outside do to one root: a chart, a remote base, a file.
type Bump struct {
	Root  string  `json:"root"`
	Moved []Moved `json:"moved"`

	Added   []Resource       `json:"added"`
	Removed []Resource       `json:"removed"`
	Changed []ResourceChange `json:"changed"`
	// Relabeled counts the resources in which nothing changes but what names the version: they are not in Changed.
	Relabeled int           `json:"relabeled"`
	Images    []ImageChange `json:"images"`
	CRDs      []CRDChange   `json:"crds"`
	Grants    []Grant       `json:"grants"` // what roles allow that they did not
	Values    []ValueChange `json:"values"` // the user's values that the new version treats otherwise
	// Violations counts the findings of this root that are new.
	Violations int `json:"violations"`
	// LeftOut counts the resources, images, CRDs and roles that are not listed for lack of space.
	LeftOut int `json:"leftOut,omitempty"`
	// Problem says why nothing can be compared; empty: it could be.
	Problem string `json:"problem,omitempty"`
}

// Moved is something from outside of which the change takes another version.
type Moved struct {
	Name  string  `json:"name"` // "podinfo", "github.com/acme/base"
	URL   string  `json:"url"`  // where it comes from
	From  Version `json:"from"`
	To    Version `json:"to"`
	Path  string  `json:"path"` // the line that chooses it, at the head
	Line  int     `json:"line"`
	Links []Link  `json:"links"` // for people, to compare; nothing was fetched from there
}

// Version is what is asked for, and what that came to.
type Version struct {
	Ref      string `json:"ref"`                // empty: the newest
	Revision string `json:"revision,omitempty"` // the version of a chart, the commit
}

// maxHash is how much of a commit's hash people are shown.
const maxHash = 7

// String is the version in words: "6.5.0", "^6 (6.5.0)", "main (1a2b3c4)".
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

// short cuts the hash of a commit or a digest.
func short(s string) string {
	algorithm, hash, isDigest := strings.Cut(s, ":")
	if !isDigest {
		algorithm, hash = "", s
	}
	if len(hash) < 40 || strings.Trim(hash, "0123456789abcdef") != "" {
		return s
	}
	if isDigest {
		return algorithm + ":" + hash[:maxHash]
	}
	return hash[:maxHash]
}

// Link is a web address.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// ResourceChange is a resource that is rendered in another way.
type ResourceChange struct {
	Resource
	// Diff is the difference as YAML in unified form, without the names of files. Secrets are in it without their values.
	Diff    string `json:"diff"`
	LeftOut int    `json:"leftOut,omitempty"` // lines of it that are not in Diff
}

// ImageChange is an image of a container. One that comes or goes has one side only.
type ImageChange struct {
	Resource  Resource `json:"resource"`
	Container string   `json:"container"`
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
}

// CRDChange is what changes about a kind of resources.
type CRDChange struct {
	Name string `json:"name"`
	// Says is what changes, each a few words: "version v1beta1 is no longer served".
	Says []string `json:"says"`
}

// Grant is what a role allows that it did not allow before.
type Grant struct {
	Resource Resource `json:"resource"`
	Added    bool     `json:"added,omitempty"` // the role itself is new
	Rules    []string `json:"rules"`           // "create, delete: secrets"
	LeftOut  int      `json:"leftOut,omitempty"`
}

// ValueChange is a value of the user that a new version treats otherwise.
type ValueChange struct {
	Name string `json:"name"` // "ingress.annotations"
	Path string `json:"path"`
	Line int    `json:"line"`
	Gone bool   `json:"gone"`           // nothing reads it any more
	Says string `json:"says,omitempty"` // what the chart's schema says about it
}

// String is the change in words.
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

// Resolved is what a reference that moves by itself came to: a branch, a range of versions, the newest.
type Resolved struct {
	Name     string `json:"name"`
	Ref      string `json:"ref"` // empty: the newest
	Revision string `json:"revision"`
	Path     string `json:"path"`
	Line     int    `json:"line"`
}

// String is the reference in words: "main of github.com/acme/base is 1a2b3c4".
func (r Resolved) String() string {
	ref := r.Ref
	if ref == "" {
		ref = "the newest"
	}
	return fmt.Sprintf("%s of %s is %s", ref, r.Name, short(r.Revision))
}
