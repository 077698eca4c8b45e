package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// explainText writes explanations for people: one or a few in full, many as a list.
func explainText(w io.Writer, list []report.Explanation, o Options) error {
	t := newText(nil, o)
	if len(list) > fewExplanations { // a line each
		rows, names := map[report.ExplanationKind][][2]string{}, []string{}
		for _, e := range list {
			rows[e.Kind], names = append(rows[e.Kind], [2]string{e.Name, e.About}), append(names, e.Name)
		}
		t.pairs("Checks that need no policy", rows[report.ExplainCheck], names...)
		t.pairs("Messages", rows[report.ExplainMessage], names...)
		t.pairs("Policies of this repository", rows[report.ExplainPolicy], names...)
		return t.write(w)
	}
	for i := range list {
		t.blank()
		t.explanation(&list[i])
	}
	return t.write(w)
}

// fewExplanations is how many are printed in full.
const fewExplanations = 5

func (t *text) explanation(e *report.Explanation) {
	t.rows("", t.paint.bold(Line(e.Name))+": "+Line(cmp.Or(e.About, "a policy of this repository")))
	var facts []string
	if e.Path != "" {
		facts = append(facts, fmt.Sprintf("%s:%d", e.Path, e.Line))
	}
	if e.Severity != "" {
		facts = append(facts, "severity "+e.Severity)
	}
	if e.Category != "" {
		facts = append(facts, "category "+e.Category)
	}
	switch {
	case e.Setting != "":
		facts = append(facts, fmt.Sprintf("default: %s; the setting %s changes it", e.Level, e.Setting))
	case e.Level != "":
		facts = append(facts, "always on: "+e.Level)
	}
	if len(e.Rules) > 0 {
		facts = append(facts, "rules "+strings.Join(e.Rules, ", "))
	}
	if len(facts) > 0 {
		t.rows("", Line(strings.Join(facts, "; ")))
	}
	for _, part := range []struct{ title, text string }{{"What it means", e.Means}, {"What to do", e.ToDo}} {
		if part.text != "" {
			t.heading(part.title)
			t.rows("  ", Line(strings.Join(strings.Fields(part.text), " ")))
		}
	}
	if len(e.Printed) > 0 {
		t.heading("As it is printed")
		for _, printed := range e.Printed {
			t.rows("  ", Line(printed))
		}
	}
	for _, part := range []struct{ title, text string }{{"Wrong", e.Wrong}, {"Right", e.Right}} {
		if part.text == "" {
			continue
		}
		t.heading(part.title)
		for line := range strings.Lines(part.text) {
			t.line("  " + Line(strings.TrimRight(line, "\n")))
		}
	}
}
