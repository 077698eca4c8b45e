// Package report defines the input and the result of a check: Change, Report, Finding and their parts.
//
// It is plain data with texts for people, and imports no other package of this project. Everything that shows, sends or
// stores a result depends on it.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Report is the result of one check of one change. Its JSON is the stable output of "lintel check -o json", and what
// the sandbox sends to the server.
type Report struct {
	Conclusion Conclusion   `json:"conclusion"`           // failure, action_required, neutral or success
	Title      string       `json:"title"`                // one line for people
	All        bool         `json:"all,omitempty"`        // everything was checked, not a change
	Same       bool         `json:"same,omitempty"`       // the head changes no file of the base: nothing was compared
	Advisory   bool         `json:"advisory,omitempty"`   // the settings let nothing block, see Advise
	Findings   []Finding    `json:"findings"`             // violations and what is undecided
	Errors     []Problem    `json:"errors"`               // what could not be read, rendered or compiled: it fails
	Warnings   []Problem    `json:"warnings,omitempty"`   // such as policies that are not evaluated before merge
	NotChecked []NotChecked `json:"notChecked,omitempty"` // what is deployed and was not looked at
	Causes     []Cause      `json:"causes,omitempty"`     // why so, and why findings are undecided: they have the ids
	Bumps      []Bump       `json:"bumps"`                // what other versions of things from outside change
	MoreBumps  int          `json:"moreBumps,omitempty"`  // roots with another version that Bumps leaves out
	// Undeclared are the kinds of objects that the change touches and whose fields nobody here declares.
	Undeclared []string `json:"undeclared,omitempty"`
	// Concerned reports, with Change.Proposed, whether rules in effect come from the branch that the proposed change goes to.
	// The report says then what it would change, and nothing else.
	Concerned bool `json:"concerned,omitempty"`
	// RuleSources are the other repositories that rules in effect come from.
	RuleSources []RuleSource `json:"ruleSources,omitempty"`
	Resolved    []Resolved   `json:"resolved,omitempty"`   // what references that move by themselves came to
	Exceptions  []Exception  `json:"exceptions,omitempty"` // the exceptions that the change itself adds or edits
	Mutations   []Mutation   `json:"mutations,omitempty"`  // what mutate rules write before the others look
	Approvers   *Approvers   `json:"approvers,omitempty"`  // who may approve them, from the settings at the base
	Teams       []string     `json:"teams,omitempty"`      // "org/team": those that the settings map to users
	Cleanup     []Cleanup    `json:"upkeep,omitempty"`     // with Change.All: merged exceptions to remove or renew
	Active      []Active     `json:"active,omitempty"`     // with Change.All: merged exceptions that count
	Drafts      []Draft      `json:"drafts,omitempty"`     // with Change.Drafts: exceptions for what blocks
	Edits       []SourceEdit `json:"edits,omitempty"`      // with Change.Edits and Suggest: what the findings suggest
	Preview     *Preview     `json:"preview,omitempty"`    // what the change does to the rules themselves, once merged
	Until       time.Time    `json:"until,omitzero"`       // when the result may change by itself: an exception ends
	Clusters    []string     `json:"clusters,omitempty"`   // those that the change touches, where the settings know any
	Stats       Stats        `json:"stats"`                // counts: roots, resources, policies, and more

	// WouldBlock counts the findings that would block if the report were not Advisory.
	WouldBlock int `json:"wouldBlock,omitempty"`

	// RootChanges count what the change does to the resources of each root. With Change.All there are none.
	RootChanges []RootChange `json:"rootChanges,omitempty"`
	// Differences are what the change does to the rendered resources, where Change.Differences asks for them.
	Differences     []Difference  `json:"differences,omitempty"`
	MoreDifferences int           `json:"moreDifferences,omitempty"` // resources that Differences leaves out
	Relabeled       int           `json:"relabeled,omitempty"`       // resources with another label of a version only
	Images          []ImageChange `json:"images,omitempty"`          // from and to, of all Differences

	// RemoteSources are the git repositories that roots are rendered from besides their own. "-o json" leaves it out.
	RemoteSources []RemoteSource `json:"outside,omitempty"`
	// Withheld are the URLs of those of them that the reader may not read, see Withhold.
	Withheld []string `json:"withheld,omitempty"`

	// About says why there are the policies of the findings, by their names.
	About map[string]About `json:"about,omitempty"`

	// Annotations is how many findings a check run shows on their lines, from the settings at the base; nil is
	// DefaultAnnotations. "-o json" leaves it out, since it says nothing about the change.
	Annotations *int `json:"annotations,omitempty"`

	// Suggest says that the settings at the base ask for Edits to be suggested where they can be committed. "-o json" leaves
	// it out, since it says nothing about the change.
	Suggest bool `json:"suggest,omitempty"`

	// Work is what the check cost. "-o json" leaves it out, since it says nothing about the change.
	Work *Work `json:"work,omitempty"`

	// Wanted is what is to be fetched before the check can be done: a render/remote.Request. All else is empty then.
	Wanted json.RawMessage `json:"wanted,omitempty"`
	// AsksUser says that the check needs to know who makes the change. All else is empty then.
	AsksUser bool `json:"asksUser,omitempty"`

	// Excerpts holds the source lines around the findings and errors, by path and line number, for
	// code frames. "-o json" leaves it out.
	Excerpts map[string]map[int]string `json:"excerpts,omitempty"`
}

// DefaultAnnotations is the default number of findings that a check run shows on their lines. GitHub accepts 50 in a
// request, and each request counts towards its rate limits.
const DefaultAnnotations = 1000

// MaxAnnotations returns the number of findings that a check run shows on their lines.
func (r *Report) MaxAnnotations() int {
	if r.Annotations == nil {
		return DefaultAnnotations
	}
	return *r.Annotations
}

// Fail adds errors that fail the check, each once.
func (r *Report) Fail(list ...Problem) {
	for _, p := range list {
		if !slices.ContainsFunc(r.Errors, func(q Problem) bool {
			return q.Path == p.Path && q.Line == p.Line && q.Message == p.Message
		}) {
			r.Errors = append(r.Errors, p)
		}
	}
}

// Sort merges equal findings, sorts everything by place, and removes duplicates. changed reports whether the change
// touches a file.
func (r *Report) Sort(changed func(path string) bool) {
	r.Findings = Merge(r.Findings)
	slices.SortStableFunc(r.Findings, CompareFindings)
	r.Stats.PreExisting = 0
	for _, f := range r.Findings {
		if !f.New {
			r.Stats.PreExisting++
		}
	}
	for _, list := range []*[]Problem{&r.Errors, &r.Warnings} {
		for i := range *list {
			(*list)[i].Changed = changed((*list)[i].Path)
		}
		slices.SortFunc(*list, Problem.Compare)
	}
	r.Warnings = slices.Compact(r.Warnings)
	for i := range r.NotChecked {
		r.NotChecked[i].Changed = r.NotChecked[i].Changed || changed(r.NotChecked[i].Path)
	}
	slices.SortFunc(r.NotChecked, func(a, b NotChecked) int { return a.Problem().Compare(b.Problem()) })
	r.NotChecked = slices.Compact(r.NotChecked)
	r.explain(changed)
}

// Problem is something that could not be read, rendered, compiled or decided, and what to do about it.
type Problem struct {
	Path    string `json:"path"`
	Line    int    `json:"line"` // 0: the file, or (with no path) the check as a whole
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Changed bool   `json:"changed,omitempty"` // whether the change touches this file
	Quotes  bool   `json:"quotes,omitempty"`  // other repositories may be quoted, see Withhold; "-o json" leaves it out
	Cause   string `json:"cause,omitempty"`   // the id of the cause that it has in common with others
	// Common is the message without names and places, by which warnings of one kind get one cause.
	Common string `json:"-"`
}

// Compare compares problems by place, then by message.
func (p Problem) Compare(q Problem) int {
	return cmp.Or(cmp.Compare(p.Path, q.Path), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column),
		cmp.Compare(p.Message, q.Message))
}

// SortProblems sorts a list and removes duplicates. It changes the list.
func SortProblems(list []Problem) []Problem {
	slices.SortStableFunc(list, Problem.Compare)
	return slices.Compact(list)
}

// String returns the problem as one line: path:line: message.
func (p Problem) String() string {
	switch {
	case p.Path == "":
		return p.Message
	case p.Line == 0:
		return p.Path + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Message)
}

// NotChecked is a deployed part that could not be checked, for a reason that the change did not cause: only the cluster
// or the operator has the data, or Lintel does not render it.
type NotChecked struct {
	Root    string `json:"root"`                 // folder, or kind and name of the object that deploys
	Path    string `json:"path"`                 // the file that names it
	Line    int    `json:"line"`                 // 0: the file
	Side    Side   `json:"side,omitempty"`       // base: the place is in the base commit
	Reason  string `json:"reason"`               // why, in one sentence
	Changed bool   `json:"changed,omitempty"`    // whether the change touches this file
	Before  bool   `json:"before,omitempty"`     // the base has it in the same way
	Touched bool   `json:"-"`                    // the change alters the root
	Rules   bool   `json:"rules,omitempty"`      // it is about rules of the base branch that are not in effect
	Kind    bool   `json:"kind,omitempty"`       // it is the fields of a kind
	Fails   bool   `json:"fails,omitempty"`      // the settings let it fail the check
	Quotes  bool   `json:"quotes,omitempty"`     // as of a Problem
	Cause   string `json:"cause,omitempty"`      // the id of its cause
	By      string `json:"deployedBy,omitempty"` // FILE:LINE of what deploys the file
}

// Problem converts an unchecked part to a problem with a place.
func (n NotChecked) Problem() Problem {
	if n.Rules {
		return Problem{Path: n.Path, Line: n.Line, Message: n.Reason, Changed: n.Changed}
	}
	return Problem{Path: n.Path, Line: n.Line, Message: n.Root + " is not checked: " + n.Reason + DeployedBy(n.By), Changed: n.Changed}
}

// DeployedBy is what is said of the place that deploys what has a problem; empty where there is none.
func DeployedBy(place string) string {
	if place == "" {
		return ""
	}
	return " (deployed by " + place + ")"
}

// Work counts the kustomizations that were built for a check, and the cached renderings that were used instead.
type Work struct {
	Rendered int `json:"rendered"`
	Recalled int `json:"recalled"`
}

// Stats counts what a check did.
type Stats struct {
	Policies     int `json:"policies"`
	MatchNothing int `json:"matchNothing,omitempty"` // those of them that name only kinds which do not exist
	Rules        int `json:"rules"`
	Exceptions   int `json:"exceptions"`
	Roots        int `json:"roots"`         // roots that the change reaches
	Resources    int `json:"resources"`     // resources that were evaluated
	Met          int `json:"met,omitempty"` // those of them that a rule was about
	Passed       int `json:"passed"`
	Failed       int `json:"failed"`
	Warned       int `json:"warned"`
	Skipped      int `json:"skipped"`
	Errored      int `json:"errored"`
	Unknown      int `json:"unknown"`
	PreExisting  int `json:"preExisting"`
	Mutated      int `json:"mutated"`          // resources that mutate rules change before the others look
	Unchecked    int `json:"unchecked"`        // changed Helm charts, which are not rendered
	Others       int `json:"others,omitempty"` // roots that the change reaches and Change.Roots leaves out
}
