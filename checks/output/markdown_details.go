package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// Details writes the text below the summary of a check run. It has drafted exceptions, the findings, and the changes
// that new versions of external sources cause. Findings that differ only in the resource and place are one fold, with
// the present value, the required value, and their origin. Parts that do not fit in MaxBytes are counted. It is empty
// if there is nothing to write.
func Details(r *report.Report, o MarkdownOptions) string {
	m := &markdown{report: r, o: o}
	list := view.Only(view.ByPlace(r.Findings), view.Blocking, view.Pending, view.Warning)
	out := ""
	for _, m.places = range []int{40, 20, 10, 5} {
		first, second := []section{m.drafts()}, []section{m.folds(list), m.differences(), m.resolved()}
		bytes, rows := sizes(slices.Concat(first, second))
		if rows == 0 {
			return ""
		}
		out = assemble("", first, second, "", o.MaxBytes, m.all())
		if o.MaxBytes <= 0 || bytes <= o.MaxBytes {
			break
		}
	}
	return out
}

// fence returns text as a block of code; its fence is longer than any in the text.
func fence(language, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + language + "\n" + strings.TrimRight(text, "\n") + "\n" + mark + "\n"
}

func (m *markdown) drafts() section {
	s := section{one: "draft", many: "drafts", head: "\n#### Drafted exceptions\n\n" +
		"Each file exempts one resource, and what the cluster creates from it, from the policies that it names; a " +
		"trial confirmed that. Commit the files you need to this pull request under the given paths, state the " +
		"reason in the first line, and ask for a review.\n\n"}
	for _, d := range m.report.Drafts {
		if d.YAML == "" {
			what := ""
			if names := d.Policies(); len(names) > 0 {
				what = code(d.Resource.String()) + ", " + codes(names, 10) + ": "
			}
			s.rows = append(s.rows, "- No draft: "+what+prose(d.Why)+"\n\n")
			continue
		}
		s.rows = append(s.rows, code(d.Path)+": "+codes(d.Policies(), 10)+m.newFile(&d)+"\n\n"+fence("yaml", lines(d.YAML))+
			"\n")
	}
	return s
}

// newFile returns a link to a form that creates a file with a draft.
func (m *markdown) newFile(d *report.Draft) string {
	if m.o.NewFileURL == nil {
		return ""
	}
	if address := m.o.NewFileURL(d.Path, d.YAML); address != "" {
		return " (" + link("add this file", address) + ")"
	}
	return " (too long for a link that fills it in: copy it)"
}

// folds returns the findings, folded. Findings that differ only in the resource and place are one fold.
func (m *markdown) folds(list []*report.Finding) section {
	s := section{head: "\n#### Details\n\n", one: "entry", many: "entries"}
	for _, e := range view.Entries(list, view.ByPolicy) {
		f := e[0]
		about := cmp.Or(e.Size(), codeTag(f.Resource.String()))
		s.rows = append(s.rows, fmt.Sprintf("<details><summary>%s %s: %s</summary>\n\n%s\n</details>\n",
			icons[view.StateOf(f)], codeTag(view.Title(f.Policy, f.Rule)), about, m.fold(e)))
	}
	return s
}

// codeTag returns text as code in HTML, for places where GitHub reads no Markdown.
func codeTag(s string) string { return "<code>" + references(clip(Line(s), codeRunes)) + "</code>" }

// fold returns one entry in full. Details that differ between places are shown only for an entry with one place.
func (m *markdown) fold(e view.Entry) string {
	f := e[0]
	var b strings.Builder
	row := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  - %s: %s\n", label, text)
		}
	}
	fmt.Fprintf(&b, "- %s (%s): %s\n", link(m.rule(f)), prose(view.Weight(f)), prose(clip(view.Sentence(f), 4*messageRunes)))
	row("State", prose(view.Mark(f)))
	row("Field", codes(e.Fields(), m.places))
	row("Expected", prose(f.Expected))
	if x := view.FixOf(f); x != nil {
		words := prose(x.Words("Write"))
		if x.Path != "" {
			words += " " + m.at(x.Path, x.Line, 0)
		}
		b.WriteString("  - " + words + ":\n\n" + indented(fence("diff", lines(strings.Join(x.Rows, "\n")))) + "\n")
	}
	if places := m.where(e); f.Origin == nil && len(places) == 1 {
		row("Resource", places[0])
	} else if len(places) == 1 {
		row("Edit", places[0])
	} else {
		row("Edit "+strings.TrimSuffix(places[0], ":"), "\n    - "+strings.Join(places[1:], "\n    - "))
	}
	if o := f.Origin; o != nil {
		if o.Set == nil && len(e) == 1 {
			row("Missing there", code(view.FieldName(o.Missing)))
		}
		row("Advice", prose(view.FixInstruction(f)))
		for _, c := range o.Chain {
			if len(e) == 1 {
				row("Over", m.at(c.Path, c.StartLine, 0)+" ("+prose(c.Role)+")")
			}
		}
	}
	most := 10
	if len(e) > 1 {
		most = 2 // the places name the roots, too
	}
	row("Rendered by", codes(e.Roots(), most))
	row("Clusters", codes(e.Clusters(), 10))
	if f.PolicyPath != "" {
		row("Policy", link(view.Place(f.PolicyPath, f.PolicyLine, 0), m.policy(f)))
	}
	row("Why", prose(clip(view.Why(m.report, f.Policy), messageRunes)))
	if f.Exemption != nil {
		row("Exception", code(view.Exemption(f.Exemption)))
	}
	return b.String()
}

// indented returns text for an item of a second-level list.
func indented(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

// codes returns names as code, and counts those beyond the limit.
func codes(names []string, limit int) string {
	return strings.Join(andMore(report.Mapped(names[:min(len(names), limit)], code), len(names)-limit), ", ")
}
