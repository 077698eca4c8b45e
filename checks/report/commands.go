package report

import (
	"slices"
)

// BlamedResource is a rendered object with the places of its fields. A list of them is the stable JSON of "lintel blame
// -o json".
type BlamedResource struct {
	Resource Resource      `json:"resource"`
	Fields   []BlamedField `json:"fields"` // every scalar
	Lines    []BlamedLine  `json:"-"`      // the object as it is printed
}

// BlamedField is one scalar of a rendered object.
type BlamedField struct {
	Field  string      `json:"field"` // JSON pointer (RFC 6901)
	Value  any         `json:"value"`
	Origin BlamedPlace `json:"origin"`
}

// BlamedPlace is where a field is written. Lines and columns count from 1; zero columns mean whole lines.
type BlamedPlace struct {
	Path        string       `json:"path"`
	StartLine   int          `json:"startLine"`
	EndLine     int          `json:"endLine"`
	StartColumn int          `json:"startColumn,omitempty"`
	EndColumn   int          `json:"endColumn,omitempty"`
	How         string       `json:"how"`
	Role        string       `json:"role"`
	Missing     string       `json:"missing,omitempty"`
	Set         []string     `json:"set,omitempty"`    // see Origin
	Advice      string       `json:"advice,omitempty"` // likewise
	Chain       []BlamedLink `json:"chain,omitempty"`  // what it replaced, nearest layer first
	Parts       []BlamedPart `json:"parts,omitempty"`  // of a text that several wrote; the place is then of the last
}

// BlamedPart is a part of a string that has its own place.
type BlamedPart struct {
	Text string `json:"text"`
	BlamedPlace
}

// BlamedLink is a place whose value was replaced.
type BlamedLink struct {
	Path      string `json:"path"`
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Role      string `json:"role"`
	Value     string `json:"value,omitempty"`
}

// BlamedLine is a line of a printed object with its place.
type BlamedLine struct {
	Text  string
	Path  string // empty for a separator
	Line  int
	Chain []BlamedLink
	Near  bool // the place only encloses what the line says
}

// ListedRoot is a root of a repository.
type ListedRoot struct {
	Name   string `json:"name"` // its path, or KIND/NAMESPACE/NAME of the object that deploys it
	Kind   string `json:"kind"` // Kustomization, Folder, Chart, Application, ApplicationSet, FluxKustomization, HelmRelease
	Path   string `json:"path"`
	OK     bool   `json:"ok"`               // it renders, all of it
	Reason string `json:"reason,omitempty"` // why not
}

// Fetched is a remote source, and the revision that was fetched.
type Fetched struct {
	Kind     string `json:"kind"` // git, chart, file
	URL      string `json:"url"`
	Name     string `json:"name,omitempty"` // of a chart
	Ref      string `json:"ref,omitempty"`  // what was asked for: a branch, a tag, a version or a range of them
	OK       bool   `json:"ok"`             // it is there
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`  // of what came, or the git object of its tree
	Changed  string `json:"changed,omitempty"` // the digest, or commit, that the same version had at first
	Bytes    int64  `json:"bytes,omitempty"`   // packed
	Reason   string `json:"reason,omitempty"`  // why it is not there
}

// Object is an object that a root deploys, as JSON.
type Object map[string]any

// Build describes the binary: its source and platform.
type Build struct {
	Number   string // of the module, "devel" for a build of a work tree
	Commit   string // empty where it is not known
	Date     string // of the commit, RFC 3339; empty where it is not known
	Modified bool
	Go       string
	Platform string // os/arch
}

// Explanation explains a part of a report and what to do about it: a check, a cause, an error, or a policy of the
// repository.
type Explanation struct {
	Kind     ExplanationKind `json:"kind"`
	Name     string          `json:"name"`
	About    string          `json:"about"`              // one line
	Means    string          `json:"means,omitempty"`    // what it means for what is deployed
	ToDo     string          `json:"toDo,omitempty"`     // what a person does about it
	Printed  []string        `json:"printed,omitempty"`  // as a report says it; … stands for the parts that vary
	Severity string          `json:"severity,omitempty"` // of a check or a policy
	Level    string          `json:"level,omitempty"`    // of a check: off, warn or enforce, where the settings say nothing
	Setting  string          `json:"setting,omitempty"`  // the field of the settings that changes the level
	Wrong    string          `json:"wrong,omitempty"`    // files, each below a line "-- NAME --", in which the check finds something,
	Right    string          `json:"right,omitempty"`    // and the same files as they should be

	Category string   `json:"category,omitempty"` // of a policy, by its annotations
	Rules    []string `json:"rules,omitempty"`    // of a policy
	Path     string   `json:"path,omitempty"`     // of a policy
	Line     int      `json:"line,omitempty"`     // of a policy
}

// ExplanationKind is the kind of an explained thing.
type ExplanationKind string

// The kinds of explanations.
const (
	ExplainCheck   ExplanationKind = "check"
	ExplainMessage ExplanationKind = "message" // a cause, an error or a warning
	ExplainPolicy  ExplanationKind = "policy"
)

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
