package report

import (
	"slices"
	"time"
)

// State is the state of an exception.
type State string

// The states. Merged and Approved exceptions count.
const (
	Merged   State = "merged"
	Approved State = "approved"
	Pending  State = "pending"
	Refused  State = "refused"
	Expired  State = "expired"
	Dropped  State = "removed" // by the change
)

// Exception is an exception that the change adds or edits, with its state and what it covers.
type Exception struct {
	Name   string   `json:"name"` // namespace/name
	Path   string   `json:"path"`
	Line   int      `json:"line"`
	Blob   string   `json:"blob"`           // git object id of the file at the head
	With   []File   `json:"with,omitempty"` // what else the change touches that makes it what it is
	State  State    `json:"state"`
	By     []string `json:"by,omitempty"`
	Object bool     `json:"object,omitempty"` // not an exception: an object that policies look up, and that opens as much
	Lets   int      `json:"lets"`             // how many findings of this change it covers

	Expires time.Time `json:"expires,omitzero"` // zero: never
	Broad   []string  `json:"broad,omitempty"`  // what it leaves open for no visible reason, in words
	Beyond  *Beyond   `json:"beyond,omitempty"` // what it covers besides the findings of this change; nil: not looked at
	Review  *Review   `json:"review,omitempty"` // nil: nobody was asked, as on a laptop
	// Terms are digests of what it says when rendered and of where it goes, one for each cluster of the settings. An approval is
	// for these, since other files may change them, of the change or of the base branch.
	Terms []string `json:"terms,omitempty"`
	// Approvers decide about it instead of the repository's, since it is for a policy of the organisation. Nil: the
	// repository's.
	Approvers *Approvers `json:"approvers,omitempty"`
}

// Beyond is what an exception covers besides the findings of the change, found by evaluating the head's objects with
// and without it.
type Beyond struct {
	Failing   []Resource `json:"failing,omitempty"` // those that violate a rule it takes away, today; the first of them
	Fails     int        `json:"fails"`             // how many there are
	Complying int        `json:"complying"`         // of these, those that keep the rules today
	Resources int        `json:"resources"`         // how many were looked at
	Roots     int        `json:"roots"`             // in how many roots
	OfRoots   int        `json:"ofRoots"`           // how many the repository has
}

// Review is the reviews of a pull request about an exception.
type Review struct {
	Path     string   `json:"path"`
	Blob     string   `json:"blob"`            // content that was judged
	Terms    []string `json:"terms,omitempty"` // likewise: see Exception
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

// File is a file with its content at the head.
type File struct {
	Path string `json:"path"`
	Blob string `json:"blob,omitempty"` // git object id; empty: it is not there
}

// Of reports whether a review is about an exception, or an object that needs approval, with this content and these terms.
func (r *Review) Of(path, blob string, terms []string) bool {
	return r.Path == path && r.Blob == blob && len(terms) > 0 && Among(r.Terms, terms)
}

// Among reports whether a list has all of these.
func Among(list, these []string) bool {
	return !slices.ContainsFunc(these, func(s string) bool { return !slices.Contains(list, s) })
}

// State returns Approved, Refused or Pending. A request for changes outweighs approvals of others.
func (r *Review) State() State {
	switch {
	case len(r.Refused) > 0:
		return Refused
	case r.Missing() == 0:
		return Approved
	}
	return Pending
}

// By lists the users whose votes decided.
func (r *Review) By() []string {
	votes := r.Approved
	if len(r.Refused) > 0 {
		votes = r.Refused
	}
	return Mapped(votes, func(v Vote) string { return v.User })
}

// Missing returns the number of missing approvals.
func (r *Review) Missing() int { return max(0, r.Needed-len(r.Approved)) }

// Cleanup is a merged exception that is expired, expires soon or is unused.
type Cleanup struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Line    int       `json:"line"`
	Expires time.Time `json:"expires,omitzero"`
	Expired bool      `json:"expired,omitempty"` // it covers nothing now
	Soon    bool      `json:"soon,omitempty"`    // it ends within 14 days
	Unused  bool      `json:"unused,omitempty"`  // everything was rendered and evaluated, and nothing fails without it
	Covers  int       `json:"covers,omitempty"`  // with Unused: how many resources it is about all the same
}

// Active is a merged exception in effect.
type Active struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Line    int       `json:"line"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Covers  int       `json:"covers"`           // how many findings it covers; each resource counts
}

// Draft is a file with drafted exceptions for the blocking findings of one resource, one for each policy and as narrow
// as possible. They were tried: they cover these findings.
type Draft struct {
	Path     string    `json:"path"` // where in the repository it could go
	Resource Resource  `json:"resource"`
	Covers   []Covered `json:"covers,omitempty"`
	YAML     string    `json:"yaml,omitempty"`
	Why      string    `json:"why,omitempty"` // with no YAML: why there can be none
}

// Covered is a policy for which an exception is drafted.
type Covered struct {
	Policy string   `json:"policy"`
	Rules  []string `json:"rules,omitempty"` // empty: the policy has no named rules
}

// Policies names the policies that a draft is for.
func (d *Draft) Policies() []string {
	return Mapped(d.Covers, func(c Covered) string { return c.Policy })
}

// Approvers are the people whose review makes an exception count (settings, "approvers").
type Approvers struct {
	Users      []string `json:"users,omitempty"`
	Teams      []string `json:"teams,omitempty"` // "org/team"
	CodeOwners bool     `json:"codeowners"`      // those of the exception, where there is a CODEOWNERS file
	Count      int      `json:"count"`
	// Nobody may approve, since the settings that say who may cannot be read.
	Nobody bool `json:"nobody,omitempty"`
}
