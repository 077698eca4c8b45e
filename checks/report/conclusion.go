package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Conclusion is the result of a check, with the names of GitHub's check runs
// (https://docs.github.com/en/rest/checks/runs).
type Conclusion string

// The conclusions, worst first.
const (
	// Failure is a new enforced violation, or an error of the change or of Lintel.
	Failure Conclusion = "failure"
	// ActionRequired is an exception of the change that waits for approval, even if nothing needs it yet. Nothing else
	// blocks.
	ActionRequired Conclusion = "action_required"
	Neutral        Conclusion = "neutral" // warnings and unknowns only
	Success        Conclusion = "success"
)

// Conclude sets the conclusion and the title of a report that is otherwise complete.
func (r *Report) Conclude() {
	r.Conclusion, r.Title = r.conclusion(), r.title()
	if r.Advisory {
		words := "nothing blocks"
		if r.WouldBlock > 0 {
			words = fmt.Sprintf("%d would block", r.WouldBlock)
		}
		if r.Conclusion != Success || r.WouldBlock > 0 {
			r.Conclusion = Neutral
		}
		r.Title += " (advisory: " + words + ")"
	}
}

// Advise turns all violations into warnings, so that nothing blocks. It must be called before Conclude.
func (r *Report) Advise() {
	r.Advisory = true
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Blocks {
			r.WouldBlock++
			f.Blocks, f.Denied = false, false
			if f.Result == Fail {
				f.Result = Warn
			}
		}
	}
	for i := range r.NotChecked {
		r.NotChecked[i].Fails = false
	}
}

func (r *Report) conclusion() Conclusion {
	pending, weak := false, false
	for _, f := range r.Findings {
		switch {
		case f.Blocks && !f.Waits():
			return Failure
		case f.Blocks:
			pending = true
		case f.New && (f.Result == Unknown || f.Result == Warn || f.Result == Error):
			weak = true
		}
	}
	for _, e := range r.Exceptions {
		pending = pending || e.State == Pending || e.State == Refused
	}
	switch {
	case len(r.Errors) > 0, slices.ContainsFunc(r.NotChecked, func(n NotChecked) bool { return n.Fails }):
		return Failure
	case pending:
		return ActionRequired
	case weak, len(r.NotChecked) > 0, r.Stats.Unchecked > 0, r.Stats.Policies == r.Stats.MatchNothing:
		return Neutral
	}
	return Success
}

func (r *Report) title() string {
	var old, warnings, unknown, blocking, rules, baseProblems, kinds, refused int
	var roots []string
	deployments := map[string]bool{}
	for _, n := range r.NotChecked {
		switch {
		case n.Kind:
			kinds++
		case n.Rules:
			rules++
			if n.Root != "settings" {
				baseProblems++
			}
		default:
			deployments[n.Root] = true
		}
	}
	waits := map[string]bool{}
	for _, f := range r.Findings {
		switch {
		case f.Blocks && f.Waits():
			waits[f.Exemption.Path+"\x00"+f.Exemption.Exception] = true
		case f.Blocks:
			blocking++
			roots = append(roots, f.Roots...)
			if !f.New {
				old++
			}
		case f.New && f.Result == Unknown:
			unknown++
		case f.New && (f.Result == Warn || f.Result == Error):
			warnings++
		}
	}
	for _, e := range r.Exceptions {
		switch e.State {
		case Pending:
			waits[e.Path+"\x00"+e.Name] = true
		case Refused:
			refused++
		}
	}
	what, where, who := "new violation", where(roots), r.awaited(waits)
	if old > 0 || r.All {
		what = "violation"
	}
	parts := Counts([]Number{
		{len(r.Errors), "error", "errors"},
		{blocking, what + where, what + "s" + where},
		{len(waits), "exception waits" + who, "exceptions wait" + who},
		{refused, "exception was refused", "exceptions were refused"},
		{warnings, "warning", "warnings"},
		{r.Stats.Unchecked, "Helm chart is not checked", "Helm charts are not checked"},
		{len(deployments) - r.Stats.Unchecked, "deployment is not checked", "deployments are not checked"},
		{kinds, "kind is not checked against its definition", "kinds are not checked against their definitions"},
	})
	if baseProblems > 0 {
		parts = append(parts, "some policies or settings of the base branch cannot be used")
	} else if rules > 0 {
		parts = append(parts, "the settings name files that do not exist")
	}
	parts = append(parts, Counts([]Number{{unknown, "rule needs the cluster", "rules need the cluster"}})...)
	if n := len(r.Cleanup); n > 0 && len(parts) == 0 {
		parts = append(parts, "No violations, "+Count(n, "exception", "exceptions")+" to renew or remove")
	}
	switch {
	case len(parts) > 0 && r.conclusion() == Neutral && r.untouched():
		return strings.Join(parts, ", ") + ", all from causes outside this change"
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case r.Stats.Policies == 0 && r.Preview.BringsPolicies():
		return "The base branch has no policies yet: only the built-in checks ran"
	case r.Stats.Policies == 0:
		return "No policies in this repository: only the built-in checks ran"
	case r.Stats.Policies == r.Stats.MatchNothing:
		return "All policies match only kinds that do not exist: only the built-in checks ran"
	case r.Same:
		return "There is nothing to compare: the head changes no file"
	case r.Stats.Resources == 0 && (r.Preview != nil || len(r.RootChanges) > 0): // policies are deployed, and are no resources to count
		return "Only policies, exceptions or settings change"
	case r.Stats.Resources == 0:
		return "No deployed manifest changes"
	case r.Stats.PreExisting > 0:
		return fmt.Sprintf("No new violations (%d in the base already)", r.Stats.PreExisting)
	}
	return Count(r.Stats.Resources, "resource", "resources") + " checked, no violations" + r.met()
}

// met says for how many of the resources a rule applied, if not for all of them.
func (r *Report) met() string {
	changed, changes := "changed ", "what changes"
	if r.All {
		changed, changes = "", "any of them"
	}
	switch {
	case r.Stats.Met == 0:
		return ": no rule applies to " + changes
	case r.Stats.Met < r.Stats.Resources:
		return fmt.Sprintf(": rules apply to %d of %d %sresources", r.Stats.Met, r.Stats.Resources, changed)
	}
	return ""
}

// where returns the number of roots, for a sentence.
func where(roots []string) string {
	slices.Sort(roots)
	roots = slices.Compact(roots)
	if len(roots) == 0 {
		return ""
	}
	return " in " + Count(len(roots), "root", "roots")
}

// maxWho is the number of approvers that a title names.
const maxWho = 2

// awaited names the approvers of pending exceptions, if all have the same.
func (r *Report) awaited(waits map[string]bool) string {
	const anybody = " for approval"
	who := ""
	for _, e := range r.Exceptions {
		if !waits[e.Path+"\x00"+e.Name] {
			continue
		}
		if e.Review == nil || len(e.Review.Who) == 0 {
			return anybody
		}
		names := e.Review.Who[:min(len(e.Review.Who), maxWho)]
		text := " for " + strings.Join(names, " or ")
		if more := len(e.Review.Who) - len(names); more > 0 {
			text += fmt.Sprintf(" or %d more", more)
		}
		if who != "" && who != text {
			return anybody
		}
		who = text
	}
	return cmp.Or(who, anybody)
}

// ConcludeProposed concludes a report with Change.Proposed. It never blocks, because the repository itself is not
// changed.
func (r *Report) ConcludeProposed() {
	r.Conclusion = Success
	switch p := r.Preview; {
	case !r.Concerned:
		r.Title = "This repository takes no rules from the changed branch"
	case len(r.Errors) > 0:
		r.Conclusion, r.Title = Neutral, "The effect is not known: "+Count(len(r.Errors), "error", "errors")
	case p == nil:
		r.Title = "Nothing would change"
	default:
		counts, unseen := p.Counts(), p.Stats.Unseen+p.Stats.Unrendered
		r.Title = "Once merged: " + counts.Words()
		if unseen > 0 {
			r.Title += "; " + Count(unseen, "root was", "roots were") + " not checked"
		}
		if counts.Worse() || unseen > 0 {
			r.Conclusion = Neutral
		}
	}
}
