package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// Details writes what stands below the summary of a check run: drafted exceptions, one fold for each resource
// and policy with what the field holds, what it should, and where it comes from, and what other versions of things from
// outside change. What does not fit in MaxBytes is
// counted. It is empty where there is nothing to tell.
func Details(r *report.Report, o MarkdownOptions) string {
	m := &markdown{report: r, o: o}
	first := []section{m.drafts()}
	second := []section{m.folds(only(byPlace(r.Findings), blocking, pending, warning)), m.differences(),
		m.resolved()}
	if _, rows := sizes(slices.Concat(first, second)); rows == 0 {
		return ""
	}
	return assemble("", first, second, "", o.MaxBytes)
}

// fence quotes text as a block of code that nothing in it can end.
func fence(language, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + language + "\n" + strings.TrimRight(text, "\n") + "\n" + mark + "\n"
}

// drafts are the exceptions that somebody asked for.
func (m *markdown) drafts() section {
	s := section{one: "draft", many: "drafts", head: "\n#### Drafted exceptions\n\n" +
		"Each file lets one resource through, and what the cluster makes of it, past the policies that it names and no " +
		"others; that was tried out. Commit those you need to this pull request under the paths given, say why in the " +
		"first line, and ask for a review.\n\n"}
	for i := range m.report.Drafts {
		d := &m.report.Drafts[i]
		if d.YAML == "" {
			what := ""
			if names := d.Policies(); len(names) > 0 {
				what = code(d.Resource.String()) + ", " + codes(names, 10) + ": "
			}
			s.rows = append(s.rows, "- No draft: "+what+prose(d.Why)+"\n\n")
			continue
		}
		s.rows = append(s.rows, code(d.Path)+": "+codes(d.Policies(), 10)+m.newFile(d)+"\n\n"+fence("yaml", lines(d.YAML))+
			"\n")
	}
	return s
}

// newFile is a link that fills in a draft as a new file.
func (m *markdown) newFile(d *report.Draft) string {
	if m.o.NewFileURL == nil {
		return ""
	}
	if address := m.o.NewFileURL(d.Path, d.YAML); address != "" {
		return " (" + link("add this file", address) + ")"
	}
	return " (too long for a link that fills it in: copy it)"
}

// folds are the findings by resource and policy, folded.
func (m *markdown) folds(list []*report.Finding) section {
	s := section{head: "\n#### Details\n\n", one: "entry", many: "entries"}
	groups, order := grouped(list)
	for _, k := range order {
		var b strings.Builder
		fmt.Fprintf(&b, "<details><summary>%s %s: %s</summary>\n\n", icons[loudest(groups[k])],
			codeTag(k.resource.String()), codeTag(k.policy))
		for _, f := range groups[k] {
			b.WriteString(m.fold(f))
		}
		b.WriteString("\n</details>\n")
		s.rows = append(s.rows, b.String())
	}
	return s
}

// codeTag is text between tags of HTML, where references are all that is read.
func codeTag(s string) string { return "<code>" + references(clip(line(s), codeRunes)) + "</code>" }

// fold is one finding in full.
func (m *markdown) fold(f *report.Finding) string {
	var b strings.Builder
	row := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  - %s: %s\n", label, text)
		}
	}
	fmt.Fprintf(&b, "- %s (%s): %s\n", m.policy(f), prose(weight(f)), prose(clip(f.Reason(), 4*messageRunes)))
	row("State", prose(mark(f)))
	row("Field", code(report.FieldName(f.Field)))
	row("Expected", prose(f.Expected))
	if rows := f.Write(); rows != nil {
		words := "Write"
		if f.Suggestion.Example {
			words += ", for example"
		}
		if d := f.Suggestion.Diff; d != nil {
			words += " " + m.at(f.Origin.Path, d.Line, 0)
		}
		b.WriteString("  - " + words + ":\n\n" + indented(fence("diff", lines(strings.Join(rows, "\n")))) + "\n")
	}
	if o := f.Origin; o != nil {
		row("Edit", m.origin(o))
		if o.Set == nil {
			row("Missing there", code(report.FieldName(o.Missing)))
		}
		row("Advice", prose(o.Advice))
		for _, c := range o.Chain {
			row("Over", m.at(c.Path, c.StartLine, 0)+" ("+prose(c.Role)+")")
		}
	}
	row("Rendered by", codes(f.Roots, 10))
	row("Clusters", codes(f.Clusters, 10))
	if f.PolicyPath != "" {
		address := ""
		if m.o.PolicyURL != nil {
			address = m.o.PolicyURL(f.PolicyPath, max(f.PolicyLine, 1))
		}
		row("Policy", link(place(f.PolicyPath, f.PolicyLine, 0), address))
	}
	row("Why", prose(clip(why(m.report, f.Policy), messageRunes)))
	if f.Exemption != nil {
		row("Exception", code(exemptionWords(f.Exemption)))
	}
	return b.String()
}

// indented puts text into an item of a list of the second level.
func indented(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

// codes are names as code, those beyond the limit counted.
func codes(names []string, limit int) string {
	var out []string
	for _, n := range names[:min(len(names), limit)] {
		out = append(out, code(n))
	}
	if more := len(names) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
