package output

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
)

// initText writes a plan of "lintel init" for people: what was found, what is written and not written, and what to do
// next.
func initText(w io.Writer, p *report.InitPlan, o Options) error {
	t := newText(nil, o)
	list := func(title string, notes []string) {
		if len(notes) > 0 {
			t.heading(title)
		}
		for _, n := range notes {
			t.item("  ", n)
		}
	}
	list("Found", p.Found)
	done := "Written"
	if p.DryRun {
		done = "Would be written"
	}
	var rows, same, left [][2]string
	add := func(action report.PlanAction, name, note, reason string) {
		switch action {
		case report.PlanWrite:
			rows = append(rows, [2]string{name, note})
		case report.PlanSame:
			same = append(same, [2]string{name, ""})
		default:
			left = append(left, [2]string{name, reason})
		}
	}
	for _, f := range p.Files {
		if !slices.ContainsFunc(p.Policies, func(r report.PlannedRule) bool { return strings.HasPrefix(f.Path, r.Folder+"/") }) {
			add(f.Action, f.Path, "the settings", f.Reason)
		}
	}
	for _, r := range p.Policies {
		add(r.Action, r.Folder+"/", r.Title, r.Reason)
	}
	t.pairs(done, rows)
	t.pairs("Already there, identical", same)
	t.pairs("Left as it is", left)
	list("Note", p.Notes)
	t.pairs("Next", report.Mapped(p.Next, func(s report.PlannedStep) [2]string { return [2]string{s.Command, s.For} }))
	return t.write(w)
}

// fixText writes the fixes of deprecated fields for people: a line for each place, and their number.
func fixText(w io.Writer, r *report.Fixes, _ Options) error {
	var b strings.Builder
	for _, e := range r.Edits {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", Line(e.Path), e.Line, e.Column, Line(e.Message))
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "%s:%d:%d: left as it is: %s\n", Line(l.Path), l.Line, l.Column, Line(l.Message))
	}
	done := "rewritten"
	if r.Proposed {
		done = "to rewrite"
	}
	switch {
	case len(r.Edits) > 0:
		fmt.Fprintf(&b, "%s %s in %s\n", report.Count(len(r.Edits), "place", "places"), done,
			report.Count(len(r.Files), "file", "files"))
	case len(r.Left) == 0:
		b.WriteString("nothing is deprecated\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func buildText(w io.Writer, b report.Build, _ Options) error {
	words := "lintel " + b.Number
	if b.Commit != "" {
		words += " " + b.Commit
	}
	if b.Date != "" {
		words += " of " + b.Date
	}
	if b.Modified {
		words += " (modified)"
	}
	_, err := fmt.Fprintf(w, "%s %s %s\n", words, b.Go, b.Platform)
	return err
}

// fetchedText lists external sources, two lines each.
func fetchedText(w io.Writer, list []report.Fetched, _ Options) error {
	out := bufio.NewWriter(w)
	for _, f := range list {
		fmt.Fprintf(out, "%-5s  %s", f.Kind, Line(f.URL))
		for _, part := range []string{f.Name, f.Ref} {
			if part != "" {
				fmt.Fprintf(out, "  %s", Line(part))
			}
		}
		fmt.Fprint(out, "\n       ")
		if !f.OK {
			fmt.Fprintf(out, "not fetched: %s\n", Line(f.Reason))
			continue
		}
		if f.Revision != "" && f.Revision != f.Ref {
			fmt.Fprintf(out, "%s  ", Line(f.Revision))
		}
		fmt.Fprint(out, Line(f.Digest))
		if f.Bytes > 0 {
			fmt.Fprintf(out, "  %d KiB", (f.Bytes+1023)>>10)
		}
		fmt.Fprintln(out)
		if f.Changed != "" {
			fmt.Fprintf(out, "       it was %s when it was first fetched\n", Line(f.Changed))
		}
	}
	return out.Flush()
}

// objectsYAML prints objects as "kustomize build" does: keys sorted, one document each.
func objectsYAML(w io.Writer, objects []report.Object, _ Options) error {
	out := bufio.NewWriter(w)
	for i, o := range objects {
		data, err := doc.Print(map[string]any(o))
		if err != nil {
			return fmt.Errorf("print a rendered resource: %w", err)
		}
		if i > 0 {
			fmt.Fprint(out, "---\n")
		}
		_, _ = out.Write(data) // Flush returns the error
	}
	return out.Flush()
}

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
