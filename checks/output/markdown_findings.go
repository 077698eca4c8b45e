package output

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// icons are the first character of a row.
var icons = map[view.State]string{view.Blocking: "❌", view.Pending: "⏳", view.Warning: "⚠️", view.Undecided: "⚠️", view.Before: "▫️", view.Excepted: "✅"}

// table returns one row for each entry. The resource and place share a column, since only three columns fit beside a
// conversation.
func (m *markdown) table(title string, list []*report.Finding, folded bool) section {
	s := section{head: "\n#### " + title + "\n\n", one: "row", many: "rows"}
	if folded {
		s = foldedSection(title+", not blocking: "+report.Count(len(list), "finding", "findings"), "row", "rows")
	}
	s.head += "| | Policy | What | Where |\n| --- | --- | --- | --- |\n"
	s.rows = report.Mapped(view.Entries(list, view.ByPolicy), m.row)
	return s
}

func (m *markdown) row(e view.Entry) string {
	f := e[0]
	what := cellProse(clip(view.Sentence(f), messageRunes))
	if e.Named() {
		what += " _(the others name their own resource)_"
	}
	if f.Expected != "" {
		what += " Expected: " + cellProse(f.Expected) + "."
	}
	toDo := view.FixInstruction(f)
	if len(e) == 1 {
		toDo = view.FixWords(f)
	}
	if toDo != "" {
		what += " To do: " + breakable(toDo, "") + "."
	}
	if mk := view.Mark(f); mk != "" {
		what += " _(" + mk + ")_"
	}
	name := breakable(m.rule(f))
	if rule := view.RuleName(f.Rule); rule != "" && rule != f.Policy {
		name = breakable(f.Policy, "") + "<br>" + name
	}
	if w := view.Weight(f); w != "" {
		name += "<br>" + cellProse(w)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", icons[view.StateOf(f)], name, what, m.cell(e))
}

// where returns the places of an entry, each with its resource, below a line with their number. Places beyond the limit
// of a row are counted.
func (m *markdown) where(e view.Entry) (out []string) {
	list := e.Spots()
	if len(list) > 1 {
		out = append(out, e.Size()+":")
	}
	shown := list[:min(len(list), m.places)]
	return andMore(append(out, report.Mapped(shown, m.spot)...), view.Places(list[len(shown):]))
}

// cellPlaces limits the unfolded places of a cell, since each takes several lines in the narrow column.
const cellPlaces = 3

// cell is where for a table cell: places after the first few are folded.
func (m *markdown) cell(e view.Entry) string {
	out := m.where(e)
	if len(out) <= 2+cellPlaces {
		return strings.Join(out, "<br>")
	}
	first, rest := out[:1+cellPlaces], out[1+cellPlaces:]
	return strings.Join(first, "<br>") + "<details><summary>" + report.Count(view.Places(e.Spots()[cellPlaces:]), "more place",
		"more places") + "</summary>" + strings.Join(rest, "<br>") + "</details>"
}

// spot returns a place, or the lines in one file, with the resources rendered from it.
func (m *markdown) spot(s view.Spot) string {
	var at []string
	for i, n := range s.Lines[:min(len(s.Lines), m.places)] {
		if i == 0 || s.Origin.Side == report.Base {
			at = append(at, m.origin(s.Origin, n))
		} else { // a further line in the file named before
			at = append(at, link(fmt.Sprint(n), m.blob(s.Origin.Path, n)))
		}
	}
	names := append([]string{m.resource(s.Resource)}, report.Mapped(s.Others[:min(len(s.Others), m.places)], m.resource)...)
	at, names = andMore(at, len(s.Lines)-m.places), andMore(names, len(s.Others)-m.places)
	return strings.TrimSpace(strings.Join(at, ", ") + " " + strings.Join(names, ", "))
}

// resource returns the name of a resource for a cell. The limit is longer than any name in Kubernetes.
func (m *markdown) resource(r report.Resource) string { return cellProse(clip(r.String(), codeRunes)) }

// rule returns the name of a finding's rule, and the address of its definition.
func (m *markdown) rule(f *report.Finding) (name, address string) {
	return cmp.Or(view.RuleName(f.Rule), f.Policy), m.policy(f)
}

// policy returns the address of the definition of a finding's rule, at the commit of the rules.
func (m *markdown) policy(f *report.Finding) string {
	if f.PolicyPath == "" {
		return ""
	}
	return address(m.o.PolicyURL, f.PolicyPath, max(f.PolicyLine, 1))
}

// outside lists findings in files that the change does not touch, for which GitHub shows no annotations.
func (m *markdown) outside(list []*report.Finding) section {
	s := section{head: "\n#### Outside the changed files\n\n" +
		"GitHub shows no annotations there, so here are the lines to edit.\n\n", one: "line", many: "lines"}
	list = report.Kept(list, func(f *report.Finding) bool { return f.Origin != nil && !f.Origin.Changed })
	for _, e := range view.Entries(list, view.ByPolicy) {
		f := e[0]
		s.rows = append(s.rows, fmt.Sprintf("- %s: %s<br>%s\n", code(view.Title(f.Policy, f.Rule)),
			prose(clip(view.Sentence(f), messageRunes)), m.cell(e)))
	}
	return s
}

// covered counts the findings that each exception covers.
func (m *markdown) covered(list []*report.Finding) section {
	s := foldedSection("Covered by exceptions: "+report.Count(len(list), "finding", "findings"), "line", "lines")
	for _, one := range view.Entries(list, view.ByPolicy) {
		f := one[0]
		row := fmt.Sprintf("- %s, %s", codes(one.Resources(), m.places), code(view.Title(f.Policy, f.Rule)))
		if e := f.Exemption; e != nil {
			row += fmt.Sprintf(": %s (%s), %s", code(e.Exception), m.at(e.Path, 0, 0), prose(string(e.State)))
			if e.By != "" {
				row += " by " + code(e.By)
			}
		}
		s.rows = append(s.rows, row+"\n")
	}
	return s
}
