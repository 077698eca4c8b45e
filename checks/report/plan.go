package report

import "slices"

// Layout describes a tree to somebody who begins to use Lintel.
type Layout struct {
	Roots    []LaidRoot   `json:"roots"`
	Policies []LaidPolicy `json:"policies,omitempty"` // that count by the settings, outside of clusters
	Problems []Problem    `json:"problems,omitempty"` // what is wrong with the settings
	// Reached are the names of the roots whose rendering differs from that in Query.Before.
	Reached []string `json:"reached,omitempty"`
}

// LaidRoot is a root of a tree.
type LaidRoot struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"` // as in ListedRoot
	Path   string   `json:"path"`
	By     []string `json:"by,omitempty"`     // files with the objects of Argo CD and Flux that deploy it
	Values []string `json:"values,omitempty"` // of a chart that nobody deploys: files of values beside its own
}

// LaidPolicy is a policy of a tree.
type LaidPolicy struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Path string `json:"path"`
}

// InitPlan is what "lintel init" has done, or would do; the stable JSON of its -o json.
type InitPlan struct {
	DryRun   bool          `json:"dryRun"`
	Found    []string      `json:"found"` // what the repository was found to have, for people
	Files    []PlannedFile `json:"files"`
	Policies []PlannedRule `json:"policies"`
	Notes    []string      `json:"notes"` // what to know besides, for people
	Next     []PlannedStep `json:"next"`
}

// PlannedFile is a file of an InitPlan, by its path from the top of the repository.
type PlannedFile struct {
	Path   string     `json:"path"`
	Action PlanAction `json:"action"`
	Reason string     `json:"reason,omitempty"` // why it is left
}

// PlannedRule is a policy of an InitPlan.
type PlannedRule struct {
	Name   string     `json:"name"`
	Title  string     `json:"title"`
	Kind   string     `json:"kind"`
	Set    string     `json:"set"`
	Folder string     `json:"folder"`
	Action PlanAction `json:"action"`
	Reason string     `json:"reason,omitempty"`
}

// PlannedStep is a suggested next command, with its purpose.
type PlannedStep struct {
	Command string `json:"command"`
	For     string `json:"for"`
}

// PlanAction is what is done with a file or a policy.
type PlanAction string

// The actions.
const (
	PlanWrite PlanAction = "write" // it is written, or would be
	PlanSame  PlanAction = "same"  // it is there as it would be written
	PlanLeave PlanAction = "leave" // something else is there, which stays
)

// Left reports whether an existing file or policy was left unchanged.
func (p *InitPlan) Left() bool {
	return slices.ContainsFunc(p.Files, func(f PlannedFile) bool { return f.Action == PlanLeave }) ||
		slices.ContainsFunc(p.Policies, func(r PlannedRule) bool { return r.Action == PlanLeave })
}

// Fixes are the fixes of deprecated fields in files, and the stable JSON of "lintel fix -o json".
type Fixes struct {
	Edits []FixEdit `json:"edits"`
	Left  []FixLeft `json:"left"`
	Files []string  `json:"files"` // those with edits

	Proposed bool `json:"-"` // the edits were not written
}

// FixEdit is one rewritten place. Line and Column are the position of the deprecated text in the original file; both
// count from 1.
type FixEdit struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field"`   // the RFC 6901 pointer of the deprecated field in its document
	Message string `json:"message"` // what was deprecated and what it is now
}

// FixLeft is one place that was left unchanged, with what to do by hand.
type FixLeft struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}
