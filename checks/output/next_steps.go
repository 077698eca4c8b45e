package output

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// inState are the names of the exceptions in a state.
func inState(r *report.Report, state report.State) (names []string) {
	for _, e := range r.Exceptions {
		if e.State == state && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// step is one thing to do next: words of ours, with names of others in every second place.
type step []string

// steps says what has to be done for the check to succeed, the first thing first. where is where the findings stand;
// button says that the reader has the button that drafts exceptions.
func steps(r *report.Report, where string, button bool) (out []step) {
	var n [excepted + 1]int
	for i := range r.Findings {
		n[standingOf(&r.Findings[i])]++
	}
	if len(r.Errors) > 0 {
		out = append(out, step{"Fix the errors: what cannot be read or rendered is not checked."})
	}
	if n[blocking] > 0 {
		next := step{"Edit the lines named " + where +
			", so that the policies hold. If something has to stay as it is, add an exception to this change (",
			"lintel check --draft-exceptions -", " writes a draft) and have it approved"}
		if button {
			next[1] = "Draft exceptions"
			next[0] += "the button "
		}
		if need := approverWords(r.Approvers); need != "" {
			next[2] += ": "
			next = append(next, need, "")
		}
		next[len(next)-1] += "."
		out = append(out, next)
	}
	if names := inState(r, report.Refused); len(names) > 0 {
		out = append(out, step{"Changes were requested on ", strings.Join(names, ", "),
			": edit it as asked, or fix what it was to cover."})
	}
	if names := inState(r, report.Pending); n[pending] > 0 || len(names) > 0 {
		it := "it"
		if len(names) > 1 {
			it = "them"
		}
		out = append(out, step{"Ask for a review of ", strings.Join(names, ", "),
			". Nothing else is to do: when enough approvers have approved " + it + ", this check succeeds by itself."})
	}
	if r.Stats.Policies == 0 && len(r.Errors) == 0 {
		out = append(out, step{"Add policies to the base branch, anywhere in the repository, or name their files and folders " +
			"under ", "policies", " in .lintel.yaml."})
	}
	return out
}
