package report

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Outlook is what a change of rules changes in the repositories that take them, as far as they have been looked at.
type Outlook struct {
	Users  []UserOutlook `json:"users"`
	Hidden int           `json:"hidden,omitempty"` // further repositories, of which who reads this must not know
	Page   string        `json:"page,omitempty"`   // web address where readers find those that they may read; "" for none
}

// OutlookState says how far looking at a repository has come.
type OutlookState string

// The states of repositories.
const (
	OutlookWaits OutlookState = ""      // it is still to be looked at
	OutlookSeen  OutlookState = "seen"  // it was looked at
	OutlookApart OutlookState = "apart" // it takes no rules from the branch that would change: from a tag, for one
	OutlookFails OutlookState = "fails" // it could not be looked at
)

// UserOutlook is what the change changes in one repository, at the tip of its default branch.
type UserOutlook struct {
	Repository string       `json:"repository"` // owner/name; "": who reads this must not know which it is
	Private    bool         `json:"private,omitempty"`
	State      OutlookState `json:"state,omitempty"`
	Reason     string       `json:"reason,omitempty"` // with OutlookFails
	Head       string       `json:"head,omitempty"`   // commit that was looked at
	URL        string       `json:"url,omitempty"`    // web address of the repository
	Page       string       `json:"page,omitempty"`   // web address of all of it; "" for none
	At         time.Time    `json:"at,omitzero"`

	Foretold
	Resources  int      `json:"resources,omitempty"`
	Unseen     int      `json:"unseen,omitempty"`     // roots for which there was no time
	Unrendered int      `json:"unrendered,omitempty"` // roots that cannot be rendered
	Settings   []string `json:"settings,omitempty"`   // the fields of its settings that change

	Policies []PolicyPreview  `json:"policies,omitempty"` // those that say something else, at most 50
	Findings []PreviewFinding `json:"findings,omitempty"` // the loudest, at most 5
}

const (
	outlookPolicies = 50
	outlookFindings = 5
)

// See fills in what a report with Change.Proposed says.
func (u *UserOutlook) See(r *Report) {
	switch {
	case !r.Concerned:
		u.State = OutlookApart
	case len(r.Errors) > 0:
		u.State, u.Reason = OutlookFails, r.Errors[0].Message
	default:
		u.State = OutlookSeen
	}
	p := r.Preview
	if p == nil || !r.Concerned {
		return
	}
	u.Foretold, u.Settings = p.Foretold(), p.Settings
	u.Resources, u.Unseen, u.Unrendered = p.Stats.Resources, p.Stats.Unseen, p.Stats.Unrendered
	for _, policy := range p.Policies {
		if policy.Foretold() != (Foretold{}) && len(u.Policies) < outlookPolicies {
			u.Policies = append(u.Policies, policy)
		}
	}
	for _, f := range p.Findings[:min(len(p.Findings), outlookFindings)] {
		f.Resources, f.Roots = nil, f.Roots[:min(len(f.Roots), 1)]
		u.Findings = append(u.Findings, f)
	}
}

// Discreet leaves out what only those should know who may read the repository: places, messages, and the names of its own
// policies. What is left are numbers, and the policies of the repository that is at one of some addresses.
func (u *UserOutlook) Discreet(addresses []string) {
	u.Findings = nil
	if u.State == OutlookFails {
		u.Reason = "there are errors"
	}
	u.Policies = slices.DeleteFunc(u.Policies, func(p PolicyPreview) bool {
		return !slices.ContainsFunc(addresses, func(a string) bool {
			return strings.HasPrefix(p.Path, strings.TrimSuffix(a, "/")+"@")
		})
	})
}

// Unnamed leaves out which repository it is.
func (u *UserOutlook) Unnamed() { u.Repository, u.URL, u.Page, u.Head = "", "", "", "" }

// Tells reports whether there is more to say of a repository that was looked at than that nothing changes.
func (u *UserOutlook) Tells() bool {
	return u.Foretold != (Foretold{}) || len(u.Settings) > 0 || u.Unseen+u.Unrendered > 0
}

// Sort puts the repositories that change most first.
func (o *Outlook) Sort() {
	rank := func(u UserOutlook) int {
		return slices.Index([]OutlookState{OutlookSeen, OutlookFails, OutlookWaits, OutlookApart}, u.State)
	}
	slices.SortStableFunc(o.Users, func(a, b UserOutlook) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Fails, a.Fails), cmp.Compare(b.Undecided, a.Undecided),
			cmp.Compare(b.Warns, a.Warns), cmp.Compare(b.Relaxed+b.Passes, a.Relaxed+a.Passes),
			strings.Compare(a.Repository, b.Repository))
	})
}

// Of returns the repositories in a state.
func (o *Outlook) Of(state OutlookState) (list []UserOutlook) {
	for _, u := range o.Users {
		if u.State == state {
			list = append(list, u)
		}
	}
	return list
}

// Unnamed is how many of the repositories are not named.
func (o *Outlook) Unnamed() (n int) {
	for _, u := range o.Users {
		if u.Repository == "" {
			n++
		}
	}
	return n
}

// Sum is what changes in all repositories.
func (o *Outlook) Sum() (all Foretold) {
	for _, u := range o.Users {
		all = all.With(u.Foretold)
	}
	return all
}

// Whole reports whether every repository was looked at to its end.
func (o *Outlook) Whole() bool {
	return !slices.ContainsFunc(o.Users, func(u UserOutlook) bool {
		return u.State == OutlookWaits || u.State == OutlookFails || u.Unseen+u.Unrendered > 0
	})
}

// Policies sums up what each policy says otherwise, by its place: those that newly fail most first.
func (o *Outlook) Policies() []PolicyPreview {
	type place struct {
		policy, path string
		line         int
	}
	known := map[place]int{}
	var list []PolicyPreview
	for _, u := range o.Users {
		for _, p := range u.Policies {
			at := place{p.Policy, p.Path, p.Line}
			i, ok := known[at]
			if !ok {
				i = len(list)
				known[at] = i
				list = append(list, PolicyPreview{Policy: p.Policy, Edit: p.Edit, Path: p.Path, Line: p.Line, Action: p.Action,
					Before: p.Before})
			}
			sum := &list[i]
			sum.Fails, sum.Warns, sum.Undecided = sum.Fails+p.Fails, sum.Warns+p.Warns, sum.Undecided+p.Undecided
			sum.Relaxed, sum.Passes, sum.Applies = sum.Relaxed+p.Relaxed, sum.Passes+p.Passes, sum.Applies+p.Applies
			sum.Partial = sum.Partial || p.Partial
			sum.Roots++ // here: repositories
		}
	}
	slices.SortStableFunc(list, func(a, b PolicyPreview) int {
		return cmp.Or(cmp.Compare(b.Fails, a.Fails), cmp.Compare(b.Undecided, a.Undecided), cmp.Compare(b.Warns, a.Warns),
			strings.Compare(a.Policy, b.Policy))
	})
	return list
}

// Title is the outlook in one line.
func (o *Outlook) Title() string {
	seen, sum := o.Of(OutlookSeen), o.Sum()
	touched, partly := 0, 0
	for _, u := range seen {
		if u.Foretold != (Foretold{}) {
			touched++
		}
		if u.Unseen+u.Unrendered > 0 {
			partly++
		}
	}
	of := Count(len(o.Users)-len(o.Of(OutlookApart)), "repository", "repositories")
	title := "Once merged, nothing changes in " + of
	if touched > 0 {
		title = "Once merged: " + sum.Words() + " in " + Count(touched, "repository", "repositories") + " of " +
			strings.Fields(of)[0]
	}
	if len(seen) == 0 {
		title = "Not known for any of " + of
		switch {
		case of == "0 repositories" && o.Hidden == 0:
			title = "No repository takes rules from this branch"
		case of == "0 repositories":
			title = "Nothing can be told"
		}
	}
	if partly > 0 {
		title += "; " + Count(partly, "repository", "repositories") + " looked at in part"
	}
	if n := len(o.Of(OutlookFails)); n > 0 && len(seen) > 0 {
		title += "; " + Count(n, "repository", "repositories") + " not looked at"
	}
	if n := len(o.Of(OutlookWaits)); n > 0 {
		title += "; " + Count(n, "is", "are") + " still to be looked at"
	}
	if o.Hidden > 0 {
		title += "; " + Count(o.Hidden, "private repository", "private repositories") + " not named"
	}
	return title
}
