package checks

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
)

// broughtProblems returns the problems of the head that the base branch does not have.
func broughtProblems(base, own []report.Problem) (list []report.Problem) {
	for _, p := range own {
		if !hasProblem(base, p) {
			list = append(list, p)
		}
	}
	return list
}

// stays returns the problems of the base branch that the head has too, or that the change does not fix.
func stays(base, own []report.Problem, mended func(report.Problem) bool) (list []report.Problem) {
	for _, p := range base {
		if hasProblem(own, p) || !mended(p) {
			list = append(list, p)
		}
	}
	return list
}

var atLine = regexp.MustCompile(`\b(line|column) \d+`)

// hasProblem reports whether a list contains a problem, on any line.
func hasProblem(list []report.Problem, p report.Problem) bool {
	message := atLine.ReplaceAllString(p.Message, "$1")
	return slices.ContainsFunc(list, func(q report.Problem) bool {
		return q.Path == p.Path && atLine.ReplaceAllString(q.Message, "$1") == message
	})
}

// tellStanding reports the problems of the base branch's rules. In the report of a change, it is one line, since the
// author of the change is not the one to fix them; the report of the branch has all. missing are policies that the
// settings name and that do not exist, unknown are reasons why policies are not known that the cluster may have.
func tellStanding(out *report.Report, standing, missing, unknown []report.Problem) {
	not := func(root string, p report.Problem, reason string) {
		n := report.NotChecked{Root: root, Path: p.Path, Line: p.Line, Reason: reason, Rules: true}
		if !slices.Contains(out.NotChecked, n) {
			out.NotChecked = append(out.NotChecked, n)
		}
	}
	for _, p := range missing {
		not("settings", p, p.Message+" (edit the settings on the base branch: until then no such policy is in effect)")
	}
	for _, p := range unknown {
		not("policies", p, p.Message)
	}
	if standing = report.SortProblems(standing); len(standing) == 0 {
		return
	}
	if out.All {
		out.Fail(standing...)
		return
	}
	reason := "the base branch has this error, too, and the change does not mend it: " + standing[0].Message
	if n := len(standing) - 1; n > 0 {
		reason += fmt.Sprintf(" (and %s, see the report of the branch)", report.Count(n, "more error", "more errors"))
	}
	not("policies", standing[0], reason)
}
