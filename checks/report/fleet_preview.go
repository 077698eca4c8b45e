package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// FleetPreview is the effect of a change of rules on the repositories that use them, as far as these were checked.
type FleetPreview struct {
	Dependents []DependentPreview `json:"users"`
	Hidden     int                `json:"hidden,omitempty"` // further repositories, of which who reads this must not know
	Page       string             `json:"page,omitempty"`   // web address where readers find those that they may read; "" for none
}

// DependentState is the state of a repository in a preview.
type DependentState string

// The states of repositories.
const (
	DependentWaits     DependentState = ""      // it is still to be checked
	DependentSeen      DependentState = "seen"  // it was looked at
	DependentUnrelated DependentState = "apart" // it takes no rules from the branch that would change: from a tag, for one
	DependentFails     DependentState = "fails" // it could not be looked at
)

// DependentPreview is the effect of the change on one repository, at the tip of its default branch.
type DependentPreview struct {
	Repository string         `json:"repository"` // owner/name; "": who reads this must not know which it is
	Private    bool           `json:"private,omitempty"`
	State      DependentState `json:"state,omitempty"`
	Reason     string         `json:"reason,omitempty"` // with DependentFails
	Head       string         `json:"head,omitempty"`   // commit that was looked at
	URL        string         `json:"url,omitempty"`    // web address of the repository
	Page       string         `json:"page,omitempty"`   // web address of all of it; "" for none
	At         time.Time      `json:"at,omitzero"`

	PreviewCounts
	Resources  int      `json:"resources,omitempty"`
	Unseen     int      `json:"unseen,omitempty"`     // roots for which there was no time
	Unrendered int      `json:"unrendered,omitempty"` // roots that cannot be rendered
	Settings   []string `json:"settings,omitempty"`   // the fields of its settings that change

	Policies []PolicyPreview  `json:"policies,omitempty"` // those that say something else, at most 50
	Findings []PreviewFinding `json:"findings,omitempty"` // the loudest, at most 5
}

const (
	dependentPolicies = 50
	dependentFindings = 5
)

// Fill sets the result from a report with Change.Proposed.
func (d *DependentPreview) Fill(r *Report) {
	switch {
	case !r.Concerned:
		d.State = DependentUnrelated
	case len(r.Errors) > 0:
		d.State, d.Reason = DependentFails, r.Errors[0].Message
	default:
		d.State = DependentSeen
	}
	p := r.Preview
	if p == nil || !r.Concerned {
		return
	}
	d.PreviewCounts, d.Settings = p.Counts(), p.Settings
	d.Resources, d.Unseen, d.Unrendered = p.Stats.Resources, p.Stats.Unseen, p.Stats.Unrendered
	for _, policy := range p.Policies {
		if policy.PreviewCounts != (PreviewCounts{}) && len(d.Policies) < dependentPolicies {
			d.Policies = append(d.Policies, policy)
		}
	}
	for _, f := range p.Findings[:min(len(p.Findings), dependentFindings)] {
		f.Resources, f.Roots = nil, f.Roots[:min(len(f.Roots), 1)]
		d.Findings = append(d.Findings, f)
	}
}

// Redact removes what only readers of the repository may see: places, messages, and the names of its own policies. It
// keeps numbers, and the policies of the repository at the given addresses.
func (d *DependentPreview) Redact(addresses []string) {
	d.Findings = nil
	if d.State == DependentFails {
		d.Reason = "there are errors"
	}
	d.Policies = slices.DeleteFunc(d.Policies, func(p PolicyPreview) bool {
		return !slices.ContainsFunc(addresses, func(a string) bool {
			return strings.HasPrefix(p.Path, strings.TrimSuffix(a, "/")+"@")
		})
	})
}

// Anonymize removes the identity of the repository.
func (d *DependentPreview) Anonymize() { d.Repository, d.URL, d.Page, d.Head = "", "", "", "" }

// Unchanged reports whether the repository was checked completely and nothing changes.
func (d *DependentPreview) Unchanged() bool {
	return d.PreviewCounts == PreviewCounts{} && len(d.Settings) == 0 && d.Unseen+d.Unrendered == 0
}

// Sort sorts the repositories by the size of the effect.
func (p *FleetPreview) Sort() {
	order := []DependentState{DependentSeen, DependentFails, DependentWaits, DependentUnrelated}
	slices.SortStableFunc(p.Dependents, func(a, b DependentPreview) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), b.compare(a.PreviewCounts),
			cmp.Compare(b.Relaxed+b.Passes, a.Relaxed+a.Passes), strings.Compare(a.Repository, b.Repository))
	})
}

// Of returns the repositories in a state.
func (p *FleetPreview) Of(state DependentState) []DependentPreview {
	return Kept(p.Dependents, func(d DependentPreview) bool { return d.State == state })
}

// Unnamed counts the anonymized repositories.
func (p *FleetPreview) Unnamed() int {
	return len(Kept(p.Dependents, func(d DependentPreview) bool { return d.Repository == "" }))
}

// Sum returns the sum of the changes in all repositories.
func (p *FleetPreview) Sum() (all PreviewCounts) {
	for _, d := range p.Dependents {
		all = all.Plus(d.PreviewCounts)
	}
	return all
}

// Complete reports whether every repository was checked completely.
func (p *FleetPreview) Complete() bool {
	return !slices.ContainsFunc(p.Dependents, func(d DependentPreview) bool {
		return d.State == DependentWaits || d.State == DependentFails || d.Unseen+d.Unrendered > 0
	})
}

// Policies sums the changes of each policy, identified by its place, sorted by new failures. Their Roots count
// repositories.
func (p *FleetPreview) Policies() []PolicyPreview {
	type place struct {
		policy, path string
		line         int
	}
	var list []PolicyPreview
	all := slices.Concat(Mapped(p.Dependents, func(d DependentPreview) []PolicyPreview { return d.Policies })...)
	for _, same := range Grouped[[]PolicyPreview](all, func(p PolicyPreview) place { return place{p.Policy, p.Path, p.Line} }) {
		sum := same[0]
		for _, policy := range same[1:] {
			sum = sum.With(policy)
		}
		sum.Roots = len(same)
		list = append(list, sum)
	}
	slices.SortStableFunc(list, func(a, b PolicyPreview) int {
		return cmp.Or(b.compare(a.PreviewCounts), strings.Compare(a.Policy, b.Policy))
	})
	return list
}

// Title returns the preview in one line.
func (p *FleetPreview) Title() string {
	seen := p.Of(DependentSeen)
	changed, partly := 0, 0
	for _, d := range seen {
		if d.PreviewCounts != (PreviewCounts{}) {
			changed++
		}
		if d.Unseen+d.Unrendered > 0 {
			partly++
		}
	}
	all := len(p.Dependents) - len(p.Of(DependentUnrelated))
	of := Count(all, "repository", "repositories")
	title := "Once merged, nothing changes in " + of
	switch {
	case len(seen) == 0 && all == 0 && p.Hidden == 0:
		title = "No repository uses rules of this branch"
	case len(seen) == 0 && all == 0:
		title = "Only private repositories use rules of this branch"
	case len(seen) == 0:
		title = "Not known for any of " + of
	case changed > 0:
		title = fmt.Sprintf("Once merged: %s in %s of %d", p.Sum().Words(), Count(changed, "repository", "repositories"), all)
	}
	failed := 0
	if len(seen) > 0 {
		failed = len(p.Of(DependentFails))
	}
	return strings.Join(append([]string{title}, Counts([]Number{
		{partly, "repository partly checked", "repositories partly checked"},
		{failed, "repository not checked", "repositories not checked"},
		{len(p.Of(DependentWaits)), "is still to be checked", "are still to be checked"},
		{p.Hidden, "private repository not named", "private repositories not named"},
	})...), "; ")
}
