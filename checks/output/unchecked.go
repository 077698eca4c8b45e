package output

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// unchecked is what is not checked for one and the same reason. It is never empty.
type unchecked []report.NotChecked

// uncheckedOf puts together what is not checked for the same reason, as all releases of a chart that cannot be had, in
// the order of the first of each.
func uncheckedOf(list []report.NotChecked) (out []unchecked) {
	type key struct {
		reason string
		rules  bool
	}
	at := map[key]int{}
	for _, n := range list {
		k := key{n.Reason, n.Rules}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}

// notChecked says what was not looked at: the first of each reason as a problem, the others below it by their names.
func (t *text) notChecked(list []report.NotChecked) {
	for _, u := range uncheckedOf(list) {
		p := u[0].Problem()
		t.problem("not checked", yellow, &p)
		rest := u[1:]
		shown := rest
		if len(rest) > manyPlaces && !t.o.AllPlaces {
			shown = rest[:fewPlaces]
		}
		label := "likewise"
		for i := range shown {
			t.fact(label, strings.TrimSpace(shown[i].Root+" "+view.Place(shown[i].Path, shown[i].Line, 0)))
			label = ""
		}
		if n := len(rest) - len(shown); n > 0 {
			t.fact("", fmt.Sprintf("and %d more; --all-places lists them", n))
		}
		t.blank()
	}
}

// notChecked is notChecked of the text as a list, in which the others are folded.
func (m *markdown) notChecked() section {
	s := section{head: "\n#### Not checked\n\n", one: "line", many: "lines"}
	for _, u := range uncheckedOf(m.report.NotChecked) {
		row := m.problem(u[0].Problem())
		if rest := u[1:]; len(rest) > 0 {
			var names []string
			for i := range rest[:min(len(rest), m.places)] {
				names = append(names, strings.TrimSpace(prose(clip(rest[i].Root, codeRunes))+" "+m.at(rest[i].Path, rest[i].Line, 0)))
			}
			if n := len(rest) - len(names); n > 0 {
				names = append(names, fmt.Sprintf("and %d more", n))
			}
			row += fmt.Sprintf("<details><summary>Likewise %d more</summary>%s</details>", len(rest), strings.Join(names, "<br>"))
		}
		s.rows = append(s.rows, row+"\n")
	}
	return s
}
