package output

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// Suggestions returns the edits of a report in a form that people can commit: each replaces existing lines. Edits for
// blocking findings come first.
func Suggestions(rep *report.Report) (list []report.Replacement) {
	type placed struct {
		report.Replacement
		order    int // 0: it is for a blocking finding; 1: it is not
		findings []int
	}
	var all []*placed
	edits := slices.Clone(rep.Edits)
	slices.SortStableFunc(edits, func(a, b report.SourceEdit) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line(), b.Line()))
	})
	for _, e := range edits {
		d := e.Diff
		if d == nil {
			continue
		}
		s := &placed{report.Replacement{Path: e.Path, StartLine: d.Line, EndLine: d.Line + len(d.Removed) - 1, Was: d.Removed,
			Lines: d.Added}, 1, e.Findings}
		if len(d.Removed) == 0 { // GitHub cannot insert lines, so the line above is replaced by itself and the new lines
			if last := len(all) - 1; last >= 0 && all[last].Path == e.Path && all[last].EndLine == d.Line-1 {
				all[last].Lines = slices.Concat(all[last].Lines, d.Added)
				all[last].findings = append(slices.Clip(all[last].findings), e.Findings...)
				continue
			}
			if d.Line < 2 || strings.Contains(d.Above, report.Hidden) {
				continue
			}
			s.StartLine, s.Was, s.Lines = s.StartLine-1, []string{d.Above}, slices.Concat([]string{d.Above}, d.Added)
		}
		all = append(all, s)
	}
	for _, s := range all {
		for _, i := range s.findings {
			if rep.Findings[i].Blocks {
				s.order = 0
			}
		}
		s.Why = reasons(rep, s.findings)
	}
	slices.SortStableFunc(all, func(a, b *placed) int { return cmp.Compare(a.order, b.order) })
	return report.Mapped(all, func(s *placed) report.Replacement { return s.Replacement })
}

// reasons lists the findings that an edit fixes, each once, and says where other values are also valid.
func reasons(rep *report.Report, findings []int) string {
	lines := report.Mapped(findings, func(i int) string {
		f := &rep.Findings[i]
		line := "**" + prose(view.Title(f.Policy, f.Rule)) + "**: " + prose(view.Sentence(f))
		if f.Suggestion != nil && f.Suggestion.Example {
			line += " Other values also satisfy the rule."
		}
		return line
	})
	return strings.Join(view.Distinct(lines), "\n\n")
}
