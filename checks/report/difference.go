package report

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Difference is the difference of one rendered resource.
type Difference struct {
	Roots     []string `json:"roots"` // those that deploy it, all with the same difference
	Resource  Resource `json:"resource"`
	Operation string   `json:"operation"` // as of a Finding
	// Replaces is the deleted resource that this created one replaces; the difference is between the two. A generated
	// ConfigMap or Secret has a hash of its content in its name.
	Replaces *Resource `json:"replaces,omitempty"`
	// From is the root that deployed the resource at the base and no longer does; the difference is between the two
	// versions. Without hunks, it only moves. Its deployer may delete it and create it again.
	From     string     `json:"from,omitempty"`
	Hunks    []DiffHunk `json:"hunks"`
	LeftOut  int        `json:"leftOut,omitempty"`  // lines that Hunks leaves out for lack of space
	Withheld int        `json:"withheld,omitempty"` // lines that the reader may not see: see Report.Withhold
	Clusters []string   `json:"clusters,omitempty"` // those of the roots, where the settings know any
}

// RootChange is the changes of the resources of one root.
type RootChange struct {
	Root     string        `json:"root"`
	Clusters []string      `json:"clusters,omitempty"` // those of the root, where the settings know any
	Added    int           `json:"added,omitempty"`    // resources; likewise the others
	Changed  int           `json:"changed,omitempty"`  // also one in place of another, or of another root
	Removed  int           `json:"removed,omitempty"`
	Images   []ImageChange `json:"images,omitempty"`
}

// DiffHunk is a part of a resource with a difference and a few lines around.
type DiffHunk struct {
	Path  string     `json:"path"` // where that is, for people: spec.template.spec.containers[app]; empty: at the top
	Lines []DiffLine `json:"lines"`
}

// Head returns the first line of the hunk in unified format.
func (h *DiffHunk) Head() string {
	if h.Path == "" {
		return "@@ @@"
	}
	return "@@ " + h.Path + " @@"
}

// String returns the difference in unified format, without file names.
func (h *DiffHunk) String() string {
	var b strings.Builder
	b.WriteString(h.Head() + "\n")
	for _, l := range h.Lines {
		b.WriteString(l.Sign + l.Text + "\n")
	}
	return b.String()
}

// DiffLine is one line of a resource as YAML, without values of Secrets.
type DiffLine struct {
	Sign  string `json:"sign"`  // " ", "-" or "+"
	Text  string `json:"text"`  // indented as in the whole resource; of a very long line, what is around the difference
	Field string `json:"field"` // JSON Pointer (RFC 6901), of a line that is taken out into the earlier version
	// Origin is where a differing line is written: at the merge base for a removed line, otherwise at the head. It is
	// nil if the place is unknown, and for equal lines.
	Origin *Origin `json:"origin,omitempty"`
	Part   int     `json:"-"` // of a text of several lines, which of them this is, from 1, until its place is known; else 0
}

// Added counts the listed added lines.
func (d *Difference) Added() int { return d.count("+") }

// Removed counts the listed removed lines.
func (d *Difference) Removed() int { return d.count("-") }

func (d *Difference) count(sign string) (n int) {
	for _, h := range d.Hunks {
		for _, l := range h.Lines {
			if l.Sign == sign {
				n++
			}
		}
	}
	return n
}

// Differences is the differences of the rendered resources, and the parts that are unknown. Its JSON is the stable
// output of "lintel diff -o json".
type Differences struct {
	Differences []Difference  `json:"differences"`
	More        int           `json:"moreDifferences,omitempty"`
	Relabeled   int           `json:"relabeled,omitempty"`
	Images      []ImageChange `json:"images"`
	Clusters    []string      `json:"clusters,omitempty"`
	RootChanges []RootChange  `json:"rootChanges,omitempty"`
	Others      int           `json:"others,omitempty"` // roots that the change reaches and that were not asked for
	Errors      []Problem     `json:"errors"`           // what cannot be rendered: its differences are not known
	NotChecked  []NotChecked  `json:"notChecked,omitempty"`
	Warnings    []Problem     `json:"warnings,omitempty"`
}

// Rendered returns the part of a report about rendered resources.
func (r *Report) Rendered() *Differences {
	return &Differences{Differences: r.Differences, More: r.MoreDifferences, Relabeled: r.Relabeled, Images: r.Images,
		Clusters: r.Clusters, RootChanges: r.RootChanges, Others: r.Stats.Others, Errors: r.Errors, NotChecked: r.NotChecked, Warnings: r.Warnings}
}

// Any reports whether anything differs.
func (d *Differences) Any() bool { return len(d.Differences)+d.More+d.Relabeled > 0 }

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
