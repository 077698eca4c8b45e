package checks

import (
	"fmt"
	"time"
)

// Conclusion is what a check came to; the words are those of GitHub's check runs
// (https://docs.github.com/en/rest/checks/runs).
type Conclusion string

// The conclusions, worst first.
const (
	Failure        Conclusion = "failure"         // a new enforced violation, or something that could not be decided by our fault or the change's
	ActionRequired Conclusion = "action_required" // all that blocks waits for the approval of an exception
	Neutral        Conclusion = "neutral"         // warnings and unknowns only
	Success        Conclusion = "success"
)

// Result is what one rule said about one resource. Passes are counted in Stats and are no findings.
type Result string

// The results of a finding.
const (
	Fail    Result = "fail"    // an enforced rule is violated
	Warn    Result = "warn"    // an audited rule is violated
	Skip    Result = "skip"    // an exception covers the violation
	Error   Result = "error"   // the rule could not be evaluated
	Unknown Result = "unknown" // the rule needs data that only the cluster has
)

// Report is the outcome of one check of one change. Its JSON form is the stable output of
// "lintel check -o json" and what the box sends to the server.
type Report struct {
	Conclusion Conclusion  `json:"conclusion"`
	Title      string      `json:"title"`         // one line for people
	All        bool        `json:"all,omitempty"` // everything was checked, not a change
	Findings   []Finding   `json:"findings"`
	Errors     []Problem   `json:"errors"`               // what could not be read, rendered or compiled; any makes the check fail
	Warnings   []Problem   `json:"warnings,omitempty"`   // deprecated fields, policies that are not evaluated before merge
	Exceptions []Exception `json:"exceptions,omitempty"` // the exceptions that the change itself adds or edits
	Mutations  []Mutation  `json:"mutations,omitempty"`  // what mutate rules write before the others look, as a cluster would
	Approvers  *Approvers  `json:"approvers,omitempty"`  // who may approve them, from the settings at the base
	Teams      []string    `json:"teams,omitempty"`      // "org/team": those whose members the settings map to users of the cluster
	Upkeep     []Upkeep    `json:"upkeep,omitempty"`     // with Change.All: merged exceptions to remove or renew
	Drafts     []Draft     `json:"drafts,omitempty"`     // with Change.Drafts: an exception for each resource and policy that blocks
	Folders    []string    `json:"folders,omitempty"`    // those of the findings' roots that are folders without a kustomization
	Preview    *Preview    `json:"preview,omitempty"`    // what the change does to the rules themselves, once merged
	Stats      Stats       `json:"stats"`

	// Work is what the check cost. "-o json" leaves it out, since it says nothing about the change.
	Work *Work `json:"work,omitempty"`

	// Excerpts holds the source lines around the findings and errors, by path and line number, for
	// code frames. "-o json" leaves it out.
	Excerpts map[string]map[int]string `json:"excerpts,omitempty"`
}

// Finding is one violated (or undecided, or excepted) rule at one field of one resource.
type Finding struct {
	Policy     string     `json:"policy"` // name, or namespace/name of a namespaced policy
	Rule       string     `json:"rule"`
	Severity   string     `json:"severity,omitempty"` // critical, high, medium, low or info; the policy's annotation
	Resource   Resource   `json:"resource"`
	Operation  string     `json:"operation"`
	Result     Result     `json:"result"`
	Action     string     `json:"action"` // "enforce" or "audit"
	Field      string     `json:"field"`  // RFC 6901 pointer into the rendered resource
	Message    string     `json:"message"`
	Origin     *Origin    `json:"origin,omitempty"`
	Roots      []string   `json:"roots"`               // the roots whose render has it
	Resources  []Resource `json:"resources,omitempty"` // further resources that fail at the same place for the same reason
	Exemption  *Exemption `json:"exemption,omitempty"`
	New        bool       `json:"new"`                // false: the base had it, too
	Blocks     bool       `json:"blocks"`             // whether this finding alone fails the check
	PolicyPath string     `json:"policyPath"`         // where the policy is written
	PolicyLine int        `json:"policyLine"`         // of the rule, where it has one
	Expected   string     `json:"expected,omitempty"` // what the policy's pattern asks of the field, as people say it
}

// Resource names a rendered object.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Origin is the place a person must edit to change a field. Lines and columns count from 1; EndColumn is
// the column behind the last character. Zero columns mean whole lines.
type Origin struct {
	Path        string  `json:"path"`
	StartLine   int     `json:"startLine"`
	EndLine     int     `json:"endLine"`
	StartColumn int     `json:"startColumn"`
	EndColumn   int     `json:"endColumn"`
	How         string  `json:"how"`               // identity, writer, search or enclosing
	Side        string  `json:"side,omitempty"`    // "base" when the place is in the merge base only (a deletion), else empty
	Changed     bool    `json:"changed"`           // whether the change touches this file
	Chain       []Place `json:"chain"`             // what this value replaced, nearest layer first
	Missing     string  `json:"missing,omitempty"` // the rest of the pointer that does not exist below this place
}

// Place is a position in the sources with the role it plays.
type Place struct {
	Path      string `json:"path"`
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Role      string `json:"role"` // "base", "patch", "images", ...
}

// Exemption says which exception covers a finding.
type Exemption struct {
	Exception string `json:"exception"` // namespace/name
	Path      string `json:"path"`
	State     string `json:"state"` // merged, approved, pending, refused or expired
	By        string `json:"by,omitempty"`
}

// Exception is the state of an exception that the change adds or edits, and how much it opens.
type Exception struct {
	Name  string   `json:"name"` // namespace/name
	Path  string   `json:"path"`
	Line  int      `json:"line"`
	Blob  string   `json:"blob"`  // git object id of the file at the head
	State string   `json:"state"` // approved, pending, refused or expired
	By    []string `json:"by,omitempty"`
	Lets  int      `json:"lets"` // how many findings of this change it covers

	Expires time.Time `json:"expires,omitzero"` // zero: never
	Broad   []string  `json:"broad,omitempty"`  // what it leaves open for no visible reason, in words
	Beyond  *Beyond   `json:"beyond,omitempty"` // what it covers besides the findings of this change; nil: not looked at
	Review  *Review   `json:"review,omitempty"` // nil: nobody was asked, as on a laptop
}

// Beyond is what an exception lets through besides the findings of the change, found by evaluating the head's
// objects with and without it.
type Beyond struct {
	Failing   []Resource `json:"failing,omitempty"` // those that violate a rule it takes away, today; the first of them
	Fails     int        `json:"fails"`             // how many there are
	Complying int        `json:"complying"`         // how many it covers that keep the rules today: later violations of theirs would pass
	Resources int        `json:"resources"`         // how many were looked at
	Roots     int        `json:"roots"`             // in how many roots
	OfRoots   int        `json:"ofRoots"`           // how many the repository has
}

// Review is what the reviews of a pull request say about an exception.
type Review struct {
	Path     string   `json:"path"`
	Blob     string   `json:"blob"` // content that was judged
	Needed   int      `json:"needed"`
	Who      []string `json:"who"`                // who may approve: logins and teams with an @, or words
	Approved []Vote   `json:"approved,omitempty"` // that count, oldest first
	Refused  []Vote   `json:"refused,omitempty"`  // changes that somebody who may approve asked for
	Ignored  []Vote   `json:"ignored,omitempty"`  // approvals that do not count, with the reason
}

// Vote is one review.
type Vote struct {
	User   string `json:"user"`
	Commit string `json:"commit"`
	Why    string `json:"why,omitempty"` // it does not count
}

// Missing is how many approvals a review lacks.
func (r *Review) Missing() int { return max(0, r.Needed-len(r.Approved)) }

// Upkeep is a merged exception that somebody should look at.
type Upkeep struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Line    int       `json:"line"`
	Expires time.Time `json:"expires,omitzero"`
	Expired bool      `json:"expired,omitempty"` // it covers nothing any more
	Soon    bool      `json:"soon,omitempty"`    // it ends within 14 days
	Unused  bool      `json:"unused,omitempty"`  // everything was rendered and evaluated, and nothing fails without it
	Covers  int       `json:"covers,omitempty"`  // with Unused: how many resources it is about all the same
}

// Draft is a ready exception, as narrow as could be, for the findings of one policy on one resource. That it
// lets them through was tried out.
type Draft struct {
	Path     string   `json:"path"` // where in the repository it could go
	Policy   string   `json:"policy"`
	Rules    []string `json:"rules,omitempty"` // empty: the policy has no named rules
	Resource Resource `json:"resource"`
	YAML     string   `json:"yaml,omitempty"`
	Why      string   `json:"why,omitempty"` // with no YAML: why there can be none
}

// Mutation is what a mutate rule writes into a resource before the other rules look at it.
type Mutation struct {
	Policy     string   `json:"policy"`
	Rule       string   `json:"rule"`
	Resource   Resource `json:"resource"`
	Root       string   `json:"root"`
	Fields     []string `json:"fields"` // pointers, in which [name=x] stands for the element of that name
	PolicyPath string   `json:"policyPath"`
	PolicyLine int      `json:"policyLine"`
}

// Approvers are the people whose review makes an exception count (settings, "approvers").
type Approvers struct {
	Users      []string `json:"users,omitempty"`
	Teams      []string `json:"teams,omitempty"` // "org/team"
	CodeOwners bool     `json:"codeowners"`
	Count      int      `json:"count"`
}

// Problem is something that could not be read, rendered, compiled or decided, and what to do about it.
type Problem struct {
	Path    string `json:"path"`
	Line    int    `json:"line"` // 0: the file, or (with no path) the check as a whole
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Changed bool   `json:"changed,omitempty"` // whether the change touches this file
}

// String is the problem as one line: path:line: message.
func (p Problem) String() string {
	switch {
	case p.Path == "":
		return p.Message
	case p.Line == 0:
		return p.Path + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Message)
}

// Work counts the kustomizations that were built for a check, and the renderings of earlier checks that were used in
// place of that.
type Work struct {
	Rendered int `json:"rendered"`
	Recalled int `json:"recalled"`
}

// Stats counts what a check did.
type Stats struct {
	Policies    int `json:"policies"`
	Rules       int `json:"rules"`
	Exceptions  int `json:"exceptions"`
	Roots       int `json:"roots"`     // roots that the change reaches
	Resources   int `json:"resources"` // resources that were evaluated
	Passed      int `json:"passed"`
	Failed      int `json:"failed"`
	Warned      int `json:"warned"`
	Skipped     int `json:"skipped"`
	Errored     int `json:"errored"`
	Unknown     int `json:"unknown"`
	PreExisting int `json:"preExisting"`
	Mutated     int `json:"mutated"`   // resources that mutate rules change before the others look
	Unchecked   int `json:"unchecked"` // changed Helm charts, which are not rendered
}
