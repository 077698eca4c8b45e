package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// maxInWords is how many names a sentence has.
const maxInWords = 20

// inWords are names in a sentence, which counts those beyond what people read.
func inWords(names []string) string {
	if more := len(names) - maxInWords; more > 0 {
		return strings.Join(names[:maxInWords], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// inState are the names of the exceptions in a state.
func inState(r *report.Report, state report.State) (names []string) {
	seen := map[string]bool{}
	for _, e := range r.Exceptions {
		if e.State == state && !seen[e.Name] {
			seen[e.Name], names = true, append(names, e.Name)
		}
	}
	return names
}

// step is one thing to do next.
type step struct {
	words   []string // of ours, with names of others in every second place
	command string   // that helps, ours; may be empty
}

// deciding are those who decide about exceptions for what blocks: the repository's, then the organisation's.
func deciding(r *report.Report) []*report.Approvers {
	var own, above *report.Approvers
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case view.StateOf(f) != view.Blocking:
		case f.Approvers != nil:
			above = f.Approvers
		default:
			own = r.Approvers
		}
	}
	return slices.DeleteFunc([]*report.Approvers{own, above}, func(a *report.Approvers) bool { return a == nil })
}

// steps says what has to be done for the check to succeed, the first thing first. where is where the findings stand;
// button says that the reader has the button that drafts exceptions.
func steps(r *report.Report, where string, button bool) (out []step) {
	if r.Concerned { // what is to be done, if anything, is to be done elsewhere
		return nil
	}
	var n [view.Excepted + 1]int
	for i := range r.Findings {
		n[view.StateOf(&r.Findings[i])]++
	}
	add := func(words ...string) { out = append(out, step{words: words}) }
	if len(r.Errors) > 0 {
		add("Fix the errors: what cannot be read or rendered is not checked.")
	}
	if n[view.Blocking] > 0 {
		next := step{words: []string{"Edit the lines named " + where +
			", so that the policies hold. If something has to stay as it is, add an exception to this change"}}
		if button {
			next.words[0] += " (the button "
			next.words = append(next.words, "Draft exceptions", " writes a draft)")
		}
		next.words[len(next.words)-1] += " and have it approved"
		for i, a := range deciding(r) {
			between := ": "
			if i > 0 {
				between = ", for the organisation's policies "
			}
			if need := approverWords(a); need != nil {
				next.words[len(next.words)-1] += between + need[0]
				next.words = append(next.words, need[1:]...)
			}
		}
		next.words[len(next.words)-1] += "."
		if !button {
			next.words[len(next.words)-1] += " This writes a draft:"
			next.command = "lintel check --draft-exceptions -"
		}
		out = append(out, next)
	}
	if names := inState(r, report.Refused); len(names) > 0 {
		add("Changes were requested on ", inWords(names), ": edit it as asked, or fix what it was to cover.")
	}
	if names := inState(r, report.Pending); n[view.Pending] > 0 || len(names) > 0 {
		it := "it"
		if len(names) > 1 {
			it = "them"
		}
		add("Ask for a review of ", inWords(names),
			". Nothing else is to do: when enough approvers have approved "+it+", this check succeeds by itself.")
	}
	rules := func(n report.NotChecked) bool { return n.Rules }
	if r.Stats.Policies == 0 && len(r.Errors) == 0 && !slices.ContainsFunc(r.NotChecked, rules) {
		out = append(out, step{words: []string{"Add policies to the base branch, anywhere in the repository, or name their files " +
			"and folders under ", "policies", " in .lintel.yaml. This writes some to start with, in a clone on your machine:"},
			command: "lintel init"})
	}
	return out
}
