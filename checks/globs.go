package checks

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
)

// unmatched are the globs of the settings that match no file. The ruling reports those of policies, because without
// policies a change must not be merged.
type unmatched struct {
	standing []report.Problem // those of the base branch that the change does not fix
	brought  []report.Problem // those that the change introduces
	notes    []report.Problem // those without an effect
}

// unmatched finds the globs of the settings that match no file.
func (r *repository) unmatched() (out unmatched) {
	t := r.trees
	now, notes := missed(t.Rules, r.settings)
	out.standing, out.notes = now, notes
	if !t.ProposesRules() {
		return out
	}
	named := r.settings
	if r.proposed != nil {
		named = r.proposed
	}
	head, _ := missed(t.Head, named)
	out.standing = stays(now, head, func(report.Problem) bool { return true })
	if out.brought = broughtProblems(now, head); len(out.brought) == 0 || t.Base.ID == "" {
		return out
	}
	never, _ := missed(t.Base, named)
	tip, _ := missed(t.Rules, named)
	out.brought = slices.DeleteFunc(out.brought, func(p report.Problem) bool { // the base branch added the files meanwhile
		return hasProblem(never, p) && !hasProblem(tip, p)
	})
	return out
}

// missed lists the globs of the settings, except those of policies, that match nothing in a commit. The notes are
// harmless: exclusions, and folders for exceptions in a repository without any, since git keeps no empty folders.
func missed(c diff.Commit, s *settings.Settings) (list, notes []report.Problem) {
	for _, g := range s.Globs() {
		if g.Names == settings.NamesPolicies {
			continue
		}
		for _, p := range rules.Missing(c, []settings.Glob{g}) {
			next := "edit or remove it"
			switch g.Names {
			case settings.NamesExceptions:
				next = "edit the settings, or add the folder: until then no exception there counts"
			case settings.NamesContext:
				next = "edit the settings, or add the files: until then policies cannot look up anything there"
			case settings.NamesRoots:
				next = "edit the settings: until then it selects no root"
			case settings.NamesCharts:
				next = "edit the settings: until then it selects no chart"
			case settings.NamesClusters:
				next = "edit the settings: until then it assigns nothing to the cluster"
			}
			harmless := g.Names == settings.NamesExcluded || g.Names == settings.NamesExceptions &&
				len(c.Roots.Mentions("PolicyException")) == 0 && !strings.Contains(p.Message, "did you mean")
			p.Message += " (" + next + ")"
			if harmless {
				notes = append(notes, p)
			} else {
				list = append(list, p)
			}
		}
	}
	return list, notes
}

// tell adds the unmatched globs to the report.
func (u unmatched) tell(out *report.Report) {
	for i, p := range append(u.standing, u.brought...) {
		out.NotChecked = append(out.NotChecked, report.NotChecked{Root: "settings", Path: p.Path, Line: p.Line,
			Reason: p.Message, Rules: true, Changed: i >= len(u.standing)})
	}
	if out.All {
		out.Warnings = append(out.Warnings, u.notes...)
	}
}
