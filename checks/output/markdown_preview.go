package output

import (
	"cmp"
	"fmt"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// preview is the sentences of a preview.
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

// previewTable is what is said differently, folded.
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
	for i := range p.Findings {
		f := &p.Findings[i]
		icon := cmp.Or(icons[f.Effect], "⚠️")
		s.rows = append(s.rows, fmt.Sprintf("| %s | %s<br>%s | %s<br>%s | %s<br>%s |\n", icon, breakable(f.Policy, ""),
			breakable(view.RuleName(f.Rule), ""), cellProse(view.Becomes(f)),
			cellProse(clip(view.Reason(f.Rule, f.Message), messageRunes)), m.origin(f.Origin), cellProse(view.PreviewResources(f))))
	}
	return s
}
