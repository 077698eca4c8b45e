package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
)

// broughtProblems returns the problems of the head that the base branch does not have.
func broughtProblems(base, own []report.Problem) []report.Problem {
	return report.Kept(own, func(p report.Problem) bool { return !hasProblem(base, p) })
}

// stays returns the problems of the base branch that the head has too, or that the change does not fix.
func stays(base, own []report.Problem, mended func(report.Problem) bool) []report.Problem {
	return report.Kept(base, func(p report.Problem) bool { return hasProblem(own, p) || !mended(p) })
}

// hasProblem reports whether a list contains a problem, on any line.
func hasProblem(list []report.Problem, p report.Problem) bool {
	message := diff.WithoutLines(p.Message)
	return slices.ContainsFunc(list, func(q report.Problem) bool {
		return q.Path == p.Path && diff.WithoutLines(q.Message) == message
	})
}

// tellStanding reports the problems of the base branch's rules, and its warnings. In the report of a change, each is one line,
// since the author of the change is not the one to fix them; the report of the branch has all. missing are policies that the
// settings name and that do not exist, unknown are reasons why policies are not known that the cluster may have.
func tellStanding(out *report.Report, standing, warnings, missing, unknown []report.Problem) {
	not := func(root string, p report.Problem, reason string) {
		n := report.NotChecked{Root: root, Path: p.Path, Line: p.Line, Reason: reason, Rules: true}
		out.NotChecked = report.Union(out.NotChecked, []report.NotChecked{n})
	}
	for _, p := range missing {
		not("settings", p, p.Message+" (edit the settings on the base branch: until then no such policy is in effect)")
	}
	for _, p := range unknown {
		not("policies", p, p.Message)
	}
	if warnings = report.SortProblems(warnings); len(warnings) > 1 && !out.All {
		first := warnings[0]
		first.Message += fmt.Sprintf(" (and %s about rules, see the report of the branch)", report.Count(len(warnings)-1, "more warning", "more warnings"))
		warnings = []report.Problem{first}
	}
	out.Warnings = append(out.Warnings, warnings...)
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

// tellUnmatched reports the globs of the settings that match no file: those of the base branch that the change does not
// fix, those that the change introduces, and in the report of a branch those without an effect. The ruling reports those
// of policies, because without policies a change must not be merged.
func (r *repository) tellUnmatched(out *report.Report) {
	t, named := r.trees, cmp.Or(r.proposed, r.settings)
	standing, notes := missed(t.Rules, r.settings)
	var introduced []report.Problem
	if t.ProposesRules() {
		head, _ := missed(t.Head, named)
		introduced = broughtProblems(standing, head)
		standing = stays(standing, head, func(report.Problem) bool { return true })
	}
	if len(introduced) > 0 && t.Base.ID != "" {
		never, _ := missed(t.Base, named)
		tip, _ := missed(t.Rules, named)
		introduced = slices.DeleteFunc(introduced, func(p report.Problem) bool { // the base branch added the files meanwhile
			return hasProblem(never, p) && !hasProblem(tip, p)
		})
	}
	for i, p := range append(standing, introduced...) {
		out.NotChecked = append(out.NotChecked, report.NotChecked{Root: "settings", Path: p.Path, Line: p.Line,
			Reason: p.Message, Rules: true, Changed: i >= len(standing)})
	}
	if out.All {
		out.Warnings = append(out.Warnings, notes...)
	}
}

// nextSteps say what to do about globs that match nothing.
var nextSteps = map[settings.Names]string{
	settings.NamesExceptions: "edit the settings, or add the folder: until then no exception there counts",
	settings.NamesContext:    "edit the settings, or add the files: until then policies cannot look up anything there",
	settings.NamesRoots:      "edit the settings: until then it selects no root",
	settings.NamesCharts:     "edit the settings: until then it selects no chart",
	settings.NamesClusters:   "edit the settings: until then it assigns nothing to the cluster",
}

// missed lists the globs of the settings, except those of policies, that match nothing in a commit. The notes are
// harmless: exclusions, and folders for exceptions in a repository without any, since git keeps no empty folders.
func missed(c diff.Commit, s *settings.Settings) (list, notes []report.Problem) {
	for _, g := range s.Globs() {
		if g.Names == settings.NamesPolicies {
			continue
		}
		for _, p := range rules.Missing(c, []settings.Glob{g}) {
			harmless := g.Names == settings.NamesExcluded || g.Names == settings.NamesExceptions &&
				len(c.Roots.Mentions("PolicyException")) == 0 && !strings.Contains(p.Message, "did you mean")
			p.Message += " (" + cmp.Or(nextSteps[g.Names], "edit or remove it") + ")"
			if harmless {
				notes = append(notes, p)
			} else {
				list = append(list, p)
			}
		}
	}
	return list, notes
}
