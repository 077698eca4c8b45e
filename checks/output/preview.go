package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

const (
	previewTitle = "Preview: what this change does to the rules"
	// previewLines is how many differences the text lists; JSON has more.
	previewLines = 20
)

// previewItem is one sentence of a preview and where it belongs.
type previewItem struct {
	path  string
	line  int
	gone  bool // the place is in the base only
	words string
}

// previewItems are the sentences of a preview in order: settings, policies, exceptions, tests.
func previewItems(p *report.Preview) []previewItem {
	var list []previewItem
	if words := p.SettingsWords(); words != "" {
		list = append(list, previewItem{path: report.SettingsPath, words: words})
	}
	for i := range p.Policies {
		o := &p.Policies[i]
		list = append(list, previewItem{o.Path, o.Line, o.Edit == report.Removed, o.Words()})
	}
	for i := range p.Exceptions {
		x := &p.Exceptions[i]
		list = append(list, previewItem{x.Path, x.Line, x.Edit == report.Removed, x.Words()})
	}
	if words := p.TestWords(); words != "" {
		list = append(list, previewItem{words: words})
	}
	return list
}

// previewIntro says what a preview is of.
func previewIntro(p *report.Preview) string {
	intro := "This check used the rules of the base branch."
	if p.Stats.Roots > 0 {
		intro += " Once merged, for " + p.Scope() + ":"
	}
	return intro
}

// becomes is "pass → fail".
func becomes(f *report.PreviewFinding) string {
	name := func(r report.Result, none string) string {
		if r == "" {
			return none
		}
		if r == report.Skip {
			return "excepted"
		}
		return string(r)
	}
	words := name(f.Before, "no rule") + " → " + name(f.After, "no rule")
	if f.Exception != "" {
		words += ", exception " + f.Exception
	}
	return words
}

// previewResources names the resources of a difference in short.
func previewResources(f *report.PreviewFinding) string {
	words := f.Resource.String()
	if n := len(f.Resources) + f.More.Resources; n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	if n := len(f.Roots) + f.More.Roots; n > 1 {
		words += fmt.Sprintf(" in %d roots", n)
	}
	return words
}

func previewRule(f *report.PreviewFinding) string {
	return ruleName(f.Policy, f.Rule)
}

func previewTone(e report.Effect) string {
	switch e {
	case report.EffectFails:
		return red
	case report.EffectPasses:
		return green
	}
	return yellow
}

// preview writes what the change does to the rules, for people at a terminal.
func (t *text) preview() {
	p := t.report.Preview
	if p == nil {
		return
	}
	t.blank()
	t.line(t.paint.bold(previewTitle))
	for _, row := range wrap(line(previewIntro(p)), t.width) {
		t.line(row)
	}
	t.blank()
	for _, item := range previewItems(p) {
		for i, row := range wrap(line(item.words), t.width-4) {
			t.line("  " + []string{"- ", "  "}[min(i, 1)] + row)
		}
		if item.path != "" {
			t.line("    " + t.paint.dim(tame(line(place(item.path, item.line, 0)))))
		}
	}
	for i := range p.Warnings {
		t.blank()
		t.problem("warning", yellow, &p.Warnings[i])
	}
	t.blank()
	for _, f := range p.Findings[:min(len(p.Findings), previewLines)] {
		where := placeOf(&report.Finding{Origin: f.Origin})
		t.head(t.paint.with(previewTone(f.Effect)), "  "+line(where), line(string(f.Effect)), line(previewRule(&f)))
		for _, row := range wrap(line(previewResources(&f)+": "+becomes(&f)), t.width-4) {
			t.line("    " + row)
		}
	}
	if n := len(p.Findings) - previewLines + p.LeftOut; n > 0 && len(p.Findings) >= previewLines {
		t.line(fmt.Sprintf("  and %s", count(n, "more place", "more places")))
	}
	t.blank()
}

// preview is the sentences of a preview.
func (m *markdown) preview() section {
	p := m.report.Preview
	if p == nil {
		return section{}
	}
	s := section{head: "\n#### " + previewTitle + "\n\n" + prose(previewIntro(p)) + "\n\n", one: "line", many: "lines"}
	for _, item := range previewItems(p) {
		row := "- " + prose(item.words)
		switch {
		case item.gone:
			row += " (" + code(place(item.path, item.line, 0)) + ")"
		case item.path != "":
			row += " (" + m.at(item.path, item.line, 0) + ")"
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
	s := section{
		head: fmt.Sprintf("\n<details><summary>Preview: %s that the rules see differently</summary>\n\n", count(len(p.Findings)+p.LeftOut, "place", "places")) +
			"| | Resource | Policy | Where | Before → after |\n| --- | --- | --- | --- | --- |\n",
		foot: "\n</details>\n", one: "row", many: "rows",
	}
	if p.LeftOut > 0 {
		s.foot = "\n" + count(p.LeftOut, "more place is", "more places are") + " not listed.\n" + s.foot
	}
	icons := map[report.Effect]string{report.EffectFails: "❌", report.EffectPasses: "✅", report.EffectUndecided: "❔"}
	for i := range p.Findings {
		f := &p.Findings[i]
		icon := icons[f.Effect]
		if icon == "" {
			icon = "⚠️"
		}
		s.rows = append(s.rows, fmt.Sprintf("| %s | %s | %s<br>%s | %s | %s<br>%s |\n", icon, prose(previewResources(f)), code(f.Policy), code(f.Rule),
			m.origin(f.Origin), prose(becomes(f)), prose(clip(f.Message, messageRunes))))
	}
	return s
}

// previewCommands are the sentences as workflow commands.
func previewCommands(b *strings.Builder, p *report.Preview) {
	if p == nil {
		return
	}
	for i := range p.Notices {
		command(b, "notice", "Lintel preview", p.Notices[i].Message, problemPlace(&p.Notices[i]))
	}
}

// previewJSON is a preview in which no list is null.
func previewJSON(p *report.Preview) *report.Preview {
	if p == nil {
		return nil
	}
	out := *p
	out.Policies = append([]report.PolicyPreview{}, p.Policies...)
	out.Findings = slices.Clone(p.Findings)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.Roots = append([]string{}, f.Roots...)
		if f.Origin != nil {
			origin := *f.Origin
			origin.Chain = append([]report.Place{}, origin.Chain...)
			f.Origin = &origin
		}
	}
	return &out
}
