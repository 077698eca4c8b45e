package report

import "strings"

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
