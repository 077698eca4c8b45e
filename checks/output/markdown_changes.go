package output

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

func (m *markdown) clusters(list []report.RootChange) section {
	columns, rows := view.ClusterChanges(list)
	s := section{head: "\n#### " + view.ClusterChangesTitle + "\n\n| " + strings.Join(columns, " | ") + " |\n|" +
		strings.Repeat(" --- |", len(columns)-4) + " ---: | ---: | ---: | --- |\n", one: "row", many: "rows"}
	for _, cells := range rows {
		for i, c := range cells {
			cells[i] = cellProse(c)
		}
		s.rows = append(s.rows, "| "+strings.Join(cells, " | ")+" |\n")
	}
	return s
}

func (m *markdown) bumps() section {
	s := section{head: "\n#### " + view.BumpsTitle + "\n\n| Version | Resources and images | To look at |\n" +
		"| --- | --- | --- |\n", one: "row", many: "rows"}
	if more := view.MoreBumps(m.report); more != "" {
		s.foot = "\n" + more + "\n"
	}
	for _, b := range m.report.Bumps {
		var moved, effects []string
		for _, one := range b.Moved {
			words := breakable(one.Name, "") + " " + cellProse(view.Versions(&one))
			for _, l := range one.Links {
				words += " " + breakable(l.Text, l.URL)
			}
			moved = append(moved, words+"<br>"+breakable(view.Place(one.Path, one.Line, 0), m.blob(one.Path, one.Line)))
		}
		if b.Problem == "" {
			effects = append(effects, cellProse(view.BumpCounts(&b)))
		}
		for _, words := range view.ImageWords(b.Images) {
			effects = append(effects, breakable(words, ""))
		}
		care := report.Mapped(view.CareWords(&b), func(words string) string { return cellProse(clip(words, messageRunes)) })
		if len(care) > 1 {
			for i := range care {
				care[i] = "• " + care[i]
			}
		}
		s.rows = append(s.rows, fmt.Sprintf("| %s<br>in %s | %s | %s |\n", cellLines(moved), breakable(b.Root, ""),
			cellLines(effects), cellLines(care)))
	}
	return s
}

// cellLines joins the different items as lines of a cell. It counts the items beyond a limit.
func cellLines(items []string) string {
	const most = 12
	items = view.Distinct(items)
	return strings.Join(andMore(items[:min(len(items), most)], len(items)-most), "<br>")
}

func (m *markdown) resolved() section {
	s := foldedSection("Moving references: "+report.Count(len(m.report.Resolved), "reference", "references"), "line", "lines")
	for _, r := range m.report.Resolved {
		s.rows = append(s.rows, "- "+m.before(r.Path, r.Line, 0)+prose(r.String())+"\n")
	}
	return s
}

// differences returns the resources that new versions change, folded.
func (m *markdown) differences() section {
	s := section{head: "\n#### " + view.BumpsTitle + "\n\n", one: "resource", many: "resources"}
	for _, b := range m.report.Bumps {
		for i, list := range [][]report.Resource{b.Added, b.Removed} {
			if len(list) > 0 {
				s.rows = append(s.rows, "- "+code(b.Root)+": "+[]string{"Added", "Removed"}[i]+" "+codes(view.ResourceNames(list), 50)+"\n")
			}
		}
	}
	for _, b := range m.report.Bumps {
		for _, c := range b.Changed {
			var row strings.Builder
			fmt.Fprintf(&row, "\n<details><summary>%s: %s</summary>\n\n", codeTag(b.Root), codeTag(c.String()))
			row.WriteString(fence("diff", lines(c.Diff)))
			if c.LeftOut > 0 {
				row.WriteString("\n" + view.MoreLines(c.LeftOut) + ".\n")
			}
			row.WriteString("\n</details>\n")
			s.rows = append(s.rows, row.String())
		}
	}
	return s
}

func (m *markdown) preview() section {
	p := m.report.Preview
	if p == nil {
		return section{}
	}
	s := section{head: "\n#### " + view.PreviewTitle + "\n\n" + prose(view.PreviewIntro(m.report)) + "\n\n", one: "line", many: "lines"}
	for _, item := range view.PreviewItems(p) {
		row := "- " + prose(item.Words)
		switch {
		case item.Gone:
			row += " (" + code(view.Place(item.Path, item.Line, 0)) + ")"
		case item.Path != "":
			row += " (" + m.at(item.Path, item.Line, 0) + ")"
		}
		s.rows = append(s.rows, row+"\n")
	}
	for _, w := range p.Warnings {
		s.rows = append(s.rows, "- ⚠️ "+m.at(w.Path, w.Line, w.Column)+": "+prose(clip(w.Message, messageRunes))+"\n")
	}
	return s
}

// previewTable returns the results that differ, folded.
func (m *markdown) previewTable() section {
	p := m.report.Preview
	if p == nil {
		return section{}
	}
	s := foldedSection("Preview: "+report.Count(len(p.Findings)+p.LeftOut, "place", "places")+" that the rules see differently",
		"row", "rows")
	s.head += "| | Policy | Before → after | Where |\n| --- | --- | --- | --- |\n"
	if p.LeftOut > 0 {
		s.foot = "\n" + report.Count(p.LeftOut, "more place is", "more places are") + " not listed.\n" + s.foot
	}
	icons := map[report.Effect]string{report.EffectFails: "❌", report.EffectPasses: "✅", report.EffectUndecided: "❔"}
	for _, f := range p.Findings {
		icon, at := cmp.Or(icons[f.Effect], "⚠️"), ""
		if f.Origin != nil {
			at = m.origin(f.Origin, f.Origin.StartLine)
		}
		s.rows = append(s.rows, fmt.Sprintf("| %s | %s<br>%s | %s<br>%s | %s<br>%s |\n", icon, breakable(f.Policy, ""),
			breakable(view.RuleName(f.Rule), ""), cellProse(view.Becomes(&f)),
			cellProse(clip(view.Reason(f.Rule, f.Message), messageRunes)), at, cellProse(view.PreviewResources(&f))))
	}
	return s
}
