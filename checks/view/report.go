package view

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// Why returns the description of a policy in one line; "" if it has none.
func Why(r *report.Report, policy string) string {
	about := r.About[policy]
	description := strings.NewReplacer("\r", "", "\n", " ", "\t", " ").Replace(about.Description)
	return strings.Join(report.Filled(about.Title, description), ": ")
}

// plainName matches a name that needs no quotes in a shell.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// ExplainCommand returns the command that explains the policy of a finding. It is empty if the name needs quotes in a
// shell, and for a policy of another repository, which the command may not know.
func ExplainCommand(f *report.Finding) string {
	if !plainName.MatchString(f.Policy) || strings.Contains(f.PolicyPath, "://") {
		return ""
	}
	return "lintel explain " + f.Policy
}

func states(r *report.Report) (n [Excepted + 1]int) {
	for i := range r.Findings {
		n[StateOf(&r.Findings[i])]++
	}
	return n
}

// Counts counts everything in the report in one line: "2 blocking findings, 1 not blocking".
func Counts(r *report.Report) string {
	n := states(r)
	parts := report.Counts([]report.Number{
		{N: len(r.Errors), One: "error", Many: "errors"},
		{N: n[Blocking], One: "blocking finding", Many: "blocking findings"},
		{N: n[Pending], One: "waiting for approval", Many: "waiting for approval"},
		{N: n[Warning] + n[Undecided], One: "not blocking", Many: "not blocking"},
		{N: n[Before], One: "already in the base", Many: "already in the base"},
		{N: n[Excepted], One: "covered by an exception", Many: "covered by exceptions"},
	})
	if len(parts) == 0 {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}

// Breakdown is Counts if the report has several kinds of things; otherwise it is empty, since the verdict says the
// same.
func Breakdown(r *report.Report) string {
	if words := Counts(r); strings.Contains(words, ",") {
		return words
	}
	return ""
}

// Verdict is the conclusion in words, with the report's title.
func Verdict(r *report.Report) string {
	if r.Concerned || r.Same && r.Conclusion == report.Success { // the repository itself was not judged
		return r.Title
	}
	words := cmp.Or(map[report.Conclusion]string{
		report.ActionRequired: "The check waits for the approval of an exception",
		report.Neutral:        "The check passes with warnings",
		report.Success:        "The check passes",
	}[r.Conclusion], "The check fails")
	return strings.Join(report.Filled(words, r.Title), ": ")
}

// Work counts what was checked in one line.
func Work(r *report.Report) string {
	if r.Concerned {
		if r.Preview == nil {
			return ""
		}
		return r.Preview.Scope()
	}
	s := r.Stats
	in := " in " + report.Count(s.Roots, "root", "roots")
	parts := report.Counts([]report.Number{
		{N: s.Resources, One: "resource" + in, Many: "resources" + in},
		{N: s.Policies, One: "policy", Many: "policies"},
		{N: s.Passed, One: "check passed", Many: "checks passed"},
	})
	if len(r.Clusters) > 0 {
		parts = append(parts, "in "+report.Some(r.Clusters, maxNames))
	}
	parts = append(parts, report.Counts([]report.Number{
		{N: s.Unchecked, One: "changed Helm chart not checked", Many: "changed Helm charts not checked"},
		{N: s.Others, One: "other root of the change not selected", Many: "other roots of the change not selected"},
		{N: s.Mutated, One: "resource changed by mutate rules first", Many: "resources changed by mutate rules first"},
	})...)
	if n := len(r.Undeclared); n > 0 {
		words := "no definition of " + r.Undeclared[0]
		if n > 1 {
			words += " and " + report.Count(n-1, "other kind", "other kinds")
		}
		parts = append(parts, words)
	}
	return strings.Join(parts, ", ")
}

// maxNames is the maximum number of names in a sentence.
const maxNames = 20

// Run is a part of a sentence.
type Run struct {
	Text    string
	Code    bool // a name
	Command bool // a whole command to copy
}

// Runs are a sentence.
type Runs []Run

func (r Runs) add(ours string, names ...string) Runs {
	r = append(r, Run{Text: ours})
	for _, n := range names {
		r = append(r, Run{Text: n, Code: true})
	}
	return r
}

// String returns the sentence without its command.
func (r Runs) String() string {
	text := ""
	for _, run := range r {
		if !run.Command {
			text += run.Text
		}
	}
	return text
}

// Command returns the command at the end of the sentence, if there is one.
func (r Runs) Command() string {
	if last := r[len(r)-1]; last.Command {
		return last.Text
	}
	return ""
}

// approverWords says whose review approves an exception; nil if unknown.
func approverWords(a *report.Approvers) Runs {
	if a == nil {
		return nil
	}
	between := report.Count(max(a.Count, 1), "approving review", "approving reviews") + " by "
	var words Runs
	add := func(ours string, names ...string) {
		words = words.add(between+ours, names...)
		between = " or "
	}
	if a.CodeOwners {
		add("the code owners of the file")
	}
	for _, u := range a.Users {
		add("", u)
	}
	for _, t := range a.Teams {
		add("team ", t)
	}
	if a.Nobody {
		add("nobody, until the settings can be read")
	} else if words == nil {
		add("anyone with write access")
	}
	return words
}

// deciding returns the approvers of exceptions for blocking findings: the repository's, then the organisation's.
func deciding(r *report.Report) []*report.Approvers {
	var own, inherited *report.Approvers
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case StateOf(f) != Blocking:
		case f.Approvers != nil:
			inherited = f.Approvers
		default:
			own = r.Approvers
		}
	}
	return slices.DeleteFunc([]*report.Approvers{own, inherited}, func(a *report.Approvers) bool { return a == nil })
}

func inState(r *report.Report, state report.State) []string {
	list := report.Kept(r.Exceptions, func(e report.Exception) bool { return e.State == state })
	return Distinct(report.Mapped(list, func(e report.Exception) string { return e.Name }))
}

// NextActions lists what must be done for the check to succeed, in order; the findings are listed below it. button says
// that the reader has the button that drafts exceptions. draft is the flags of the command that drafts them.
func NextActions(r *report.Report, button bool, draft string) (out []Runs) {
	if r.Concerned { // any action is to be taken in another repository
		return nil
	}
	n := states(r)
	if r.Same {
		out = append(out, Runs{{Text: "Check every root:"}, {Text: "lintel check --all", Command: true}})
	}
	if len(r.Errors) > 0 {
		out = append(out, Runs{{Text: "Fix the errors: what cannot be read or rendered is not checked."}})
	}
	if n[Blocking] > 0 {
		words := Runs{{Text: "Edit the lines named below so that they comply with the policies. If a value has to " +
			"stay, add an exception to this change"}}
		if !slices.ContainsFunc(r.Findings, func(f report.Finding) bool {
			return StateOf(&f) == Blocking && f.Operation != "DELETE" // what is deleted has no lines to edit
		}) {
			words = Runs{{Text: "Keep the objects named below: policies deny that they are deleted. If one has to go, " +
				"add an exception to this change"}}
		}
		if button {
			words = words.add(" (the button ", "Draft exceptions").add(" writes a draft)")
		}
		words = words.add(" and have it approved")
		for i, a := range deciding(r) {
			words = append(words.add([]string{": ", ", for the organisation's policies "}[i]), approverWords(a)...)
		}
		if words = words.add("."); !button {
			words = append(words.add(" This writes a draft:"), Run{Text: cmp.Or(draft, "lintel check --draft-exceptions -"), Command: true})
		}
		out = append(out, words)
	}
	if names := inState(r, report.Refused); len(names) > 0 {
		out = append(out, Runs{}.add("Changes were requested on ", report.Some(names, maxNames)).
			add(": edit it as requested, or fix the findings that it covers."))
	}
	if names := inState(r, report.Pending); len(names) > 0 && r.Approvers != nil && r.Approvers.Nobody {
		out = append(out, Runs{}.add("Mend ", ".lintel.yaml").add(" of the base branch: until then nobody can approve ",
			report.Some(names, maxNames)).add("."))
	} else if n[Pending] > 0 || len(names) > 0 {
		it := "it"
		if len(names) > 1 {
			it = "them"
		}
		out = append(out, Runs{}.add("Ask for a review of ", report.Some(names, maxNames)).add(
			". This check succeeds by itself once enough approvers have approved "+it+"."))
	}
	rules := func(n report.NotChecked) bool { return n.Rules }
	switch {
	case r.Stats.Policies > 0 || len(r.Errors) > 0 || slices.ContainsFunc(r.NotChecked, rules):
	case r.Preview.BringsPolicies():
		out = append(out, Runs{{Text: "Merge the policies of this change: they take effect once the base branch has them."}})
	default:
		out = append(out, append(Runs{}.add("Add policies to the base branch, anywhere in the repository, or name "+
			"their files and folders under ", "policies").add(" in .lintel.yaml. To write a starter set in a local "+
			"clone:"),
			Run{Text: "lintel init", Command: true}))
	}
	return out
}
