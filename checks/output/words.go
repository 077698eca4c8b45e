package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// why is what a policy says about itself in one line, "" where it says nothing.
func why(r *report.Report, policy string) string {
	about := r.About[policy]
	return strings.Join(slices.DeleteFunc([]string{about.Title, line(about.Description)}, func(s string) bool {
		return s == ""
	}), ": ")
}

// counts is one line about everything in the report: "2 blocking, 1 warning; 1 error".
func counts(r *report.Report) string {
	var n [view.Excepted + 1]int
	for i := range r.Findings {
		n[view.StateOf(&r.Findings[i])]++
	}
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, report.Count(n, one, many))
		}
	}
	add(len(r.Errors), "error", "errors")
	add(n[view.Blocking], "blocking finding", "blocking findings")
	add(n[view.Pending], "waiting for approval", "waiting for approval")
	add(n[view.Warning], "not blocking", "not blocking")
	add(n[view.Before], "already in the base", "already in the base")
	add(n[view.Excepted], "covered by an exception", "covered by exceptions")
	if len(parts) == 0 {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}

// verdict is the conclusion in plain words, with the report's title.
func verdict(r *report.Report) string {
	if r.Concerned { // nothing of the repository was judged
		return r.Title
	}
	words := "The check fails"
	switch r.Conclusion {
	case report.ActionRequired:
		words = "The check waits for the approval of an exception"
	case report.Neutral:
		words = "The check passes with warnings"
	case report.Success:
		words = "The check passes"
	}
	if r.Title != "" {
		return words + ": " + r.Title
	}
	return words
}

// work is one line about what was looked at.
func work(r *report.Report) string {
	if r.Concerned {
		if r.Preview == nil {
			return ""
		}
		return r.Preview.Scope()
	}
	s, rest := r.Stats, ""
	if len(r.Clusters) > 0 {
		rest = ", in " + inWords(r.Clusters)
	}
	if s.Unchecked > 0 {
		rest += ", " + report.Count(s.Unchecked, "changed Helm chart", "changed Helm charts") + " not checked"
	}
	if s.Others > 0 {
		rest += ", " + report.Count(s.Others, "other root", "other roots") + " of the change not asked for"
	}
	if s.Mutated > 0 {
		rest += ", " + report.Count(s.Mutated, "resource", "resources") + " changed by mutate rules first"
	}
	if n := len(r.Undeclared); n > 0 {
		rest += ", no definition of " + r.Undeclared[0]
		if n > 1 {
			rest += " and " + report.Count(n-1, "other kind", "other kinds")
		}
	}
	return fmt.Sprintf("%s in %s, %s with %s, %s passed%s",
		report.Count(s.Resources, "resource", "resources"), report.Count(s.Roots, "root", "roots"),
		report.Count(s.Policies, "policy", "policies"), report.Count(s.Rules, "rule", "rules"),
		report.Count(s.Passed, "check", "checks"), rest)
}

// approverWords says whose review makes an exception count, nil where that is not known: words of ours, with names of
// others in every second place.
func approverWords(a *report.Approvers) []string {
	if a == nil {
		return nil
	}
	words := []string{report.Count(max(a.Count, 1), "approving review", "approving reviews") + " by "}
	or := ""
	add := func(ours string, name ...string) {
		words[len(words)-1] += or + ours
		or = " or "
		if len(name) > 0 {
			words = append(words, name[0], "")
		}
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
	if or == "" {
		add("anyone with write access")
	}
	return words
}

// notChecked is what was not looked at, as problems with their places.
func notChecked(r *report.Report) (list []report.Problem) {
	for _, n := range r.NotChecked {
		list = append(list, n.Problem())
	}
	return list
}
