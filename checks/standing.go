package checks

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
)

// broughtProblems keeps of what is wrong at the head what the base branch does not have in the same way.
func broughtProblems(base, own []report.Problem) (list []report.Problem) {
	for _, p := range own {
		if !hasProblem(base, p) {
			list = append(list, p)
		}
	}
	return list
}

// stays keeps of what is wrong at the base branch what the head has, too, or does not mend.
func stays(base, own []report.Problem, mended func(report.Problem) bool) (list []report.Problem) {
	for _, p := range base {
		if hasProblem(own, p) || !mended(p) {
			list = append(list, p)
		}
	}
	return list
}

var atLine = regexp.MustCompile(`\b(line|column) \d+`)

// hasProblem reports whether a list has a problem, on whichever line.
func hasProblem(list []report.Problem, p report.Problem) bool {
	message := atLine.ReplaceAllString(p.Message, "$1")
	return slices.ContainsFunc(list, func(q report.Problem) bool {
		return q.Path == p.Path && atLine.ReplaceAllString(q.Message, "$1") == message
	})
}

// tellStanding puts what is wrong with the rules at the base branch into the report: in one line, since the author of a
// change is not the one to mend it; the report of the branch itself has all of it. missing are policies that the
// settings name and that are nowhere.
func tellStanding(out *report.Report, standing, missing []report.Problem) {
	not := func(p report.Problem, reason string) {
		n := report.NotChecked{Root: "policies", Path: p.Path, Line: p.Line, Reason: reason, Rules: true}
		if !slices.Contains(out.NotChecked, n) {
			out.NotChecked = append(out.NotChecked, n)
		}
	}
	for _, p := range missing {
		not(p, p.Message+" (edit the settings on the base branch: until then no such policy is in effect)")
	}
	if standing = report.SortProblems(standing); len(standing) == 0 {
		return
	}
	if out.All {
		out.Fail(standing...)
		return
	}
	reason := "the base branch has this error, too, and the change does not touch it: " + standing[0].Message
	if n := len(standing) - 1; n > 0 {
		reason += fmt.Sprintf(" (and %s, see the report of the branch)", report.Count(n, "more error", "more errors"))
	}
	not(standing[0], reason)
}
