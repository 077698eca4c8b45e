package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// CauseKind is the kind of a cause.
type CauseKind string

// The kinds of causes.
const (
	CauseSource  CauseKind = "source"  // a remote source could not be fetched
	CauseCluster CauseKind = "cluster" // only the cluster has the data
	CauseDiffer  CauseKind = "differ"  // several declarations of an object differ
	CauseRoot    CauseKind = "root"    // a deployed object or root could not be checked
	CauseUnseen  CauseKind = "unseen"  // look-ups cannot see the objects of a file
	CausePolicy  CauseKind = "policy"  // policies do not have the effect that they describe
)

// Cause is why something could not be decided or checked. A report contains it once, for everything that depends on it.
type Cause struct {
	ID       string    `json:"id"`                // the same in all reports: a digest of the kind and of what is missing
	Kind     CauseKind `json:"kind"`              // source, cluster, differ, root, unseen or policy
	What     string    `json:"missing,omitempty"` // what is missing, as people name it; empty: the reason says it
	Reason   string    `json:"reason,omitempty"`  // why that is so
	Sentence string    `json:"sentence"`          // both
	Path     string    `json:"path"`              // one of the places; one that the change touches, where there is any
	Line     int       `json:"line"`              // of the file; 0: the whole file
	ToDo     string    `json:"toDo,omitempty"`    // what to do about it
	Rules    int       `json:"rules"`             // undecided findings that wait for it
	Objects  int       `json:"objects"`           // that these are about
	Roots    int       `json:"roots"`             // that are not checked for it, or not seen by look-ups
	Changed  bool      `json:"changed,omitempty"` // whether the change touches it
	Quotes   bool      `json:"quotes,omitempty"`  // as of a Problem
	// Resources are the Secrets with findings that depend on it, since its text may contain their values.
	Resources []Resource `json:"-"`
}

var toDo = map[CauseKind]string{
	CauseSource:  "run \"lintel fetch\" with network access, or ask the operator of the server to allow this source",
	CauseCluster: "compare by hand, or add a manifest of the object to the context in .lintel.yaml",
	CauseDiffer:  "name the roots of each cluster under clusters in .lintel.yaml",
}

// complete returns a cause with its id, sentence and advice.
func (c Cause) complete() Cause {
	what := cmp.Or(c.What, c.Reason)
	if c.Kind == CauseUnseen { // one file may have several errors
		what += "\x00" + c.Reason
	}
	sum := sha256.Sum256([]byte(string(c.Kind) + "\x00" + what))
	c.ID = hex.EncodeToString(sum[:6])
	c.ToDo = cmp.Or(c.ToDo, toDo[c.Kind])
	switch {
	case c.Sentence != "":
	case c.Kind == CauseSource:
		c.Sentence = c.What + ": " + c.Reason
	case c.Kind == CauseUnseen:
		c.Sentence = "what is deployed from " + c.What + " is not known: " + c.Reason
	case c.Kind == CauseCluster && c.What != "":
		c.Sentence = "needs the cluster: " + c.What
		if c.Reason != "" {
			c.Sentence += " (" + c.Reason + ")"
		}
	default:
		c.Sentence = c.Reason
	}
	return c
}

// Because adds a cause to the report and returns its id.
func (r *Report) Because(c Cause) string {
	c = c.complete()
	i := slices.IndexFunc(r.Causes, func(d Cause) bool { return d.ID == c.ID })
	if i < 0 {
		r.Causes = append(r.Causes, c)
		return c.ID
	}
	r.Causes[i].Roots += c.Roots
	r.Causes[i].Changed = r.Causes[i].Changed || c.Changed
	return c.ID
}

// Because returns the cause of an entry that names none.
func (n NotChecked) Because() Cause {
	return Cause{Kind: CauseRoot, Reason: n.Reason, Path: n.Path, Line: n.Line, Quotes: n.Quotes}.complete()
}

// explain gives every unchecked entry a cause, and counts what depends on each cause. changed reports whether the
// change touches a file.
func (r *Report) explain(changed func(path string) bool) {
	for i := range r.NotChecked {
		if n := &r.NotChecked[i]; n.Cause == "" {
			n.Cause = r.Because(n.Because())
		}
	}
	for i := range r.Warnings {
		if w := &r.Warnings[i]; w.Cause == "" && w.Common != "" {
			w.Cause = r.Because(Cause{Kind: CausePolicy, Reason: w.Common, Path: w.Path, Line: w.Line})
		}
	}
	known := map[string]*Cause{}
	for i := range r.Causes {
		c := &r.Causes[i]
		c.Changed = c.Changed || changed(c.Path)
		known[c.ID] = c
	}
	seen := map[any]bool{}
	once := func(key any) int {
		if seen[key] {
			return 0
		}
		seen[key] = true
		return 1
	}
	for _, f := range r.Findings {
		for _, id := range f.Causes {
			c := known[id]
			c.Rules++
			for _, o := range append([]Resource{f.Resource}, f.Resources...) {
				n := once([2]any{id, o})
				if c.Objects += n; n > 0 && o.Kind == "Secret" {
					c.Resources = append(c.Resources, o)
				}
			}
		}
	}
	for _, n := range r.NotChecked {
		c := known[n.Cause]
		c.Roots += once([2]any{n.Cause, n.Root})
		if n.Changed && !c.Changed {
			c.Path, c.Line, c.Changed = n.Path, n.Line, true
		}
	}
	slices.SortFunc(r.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.What, b.What), cmp.Compare(a.Reason, b.Reason))
	})
}

// untouched reports whether the causes of everything undecided and unchecked are outside of the change.
func (r *Report) untouched() bool {
	touched := func(id string) bool {
		return slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.ID == id && c.Changed })
	}
	caused := func(f Finding) bool {
		return f.New && (f.Result != Skip && len(f.Causes) == 0 || slices.ContainsFunc(f.Causes, touched))
	}
	return !slices.ContainsFunc(r.Findings, caused) && len(r.Causes) > 0 && !r.All &&
		r.Stats.Policies > r.Stats.MatchNothing && r.Stats.Unchecked == 0 &&
		!slices.ContainsFunc(r.NotChecked, func(n NotChecked) bool { return touched(n.Cause) })
}
