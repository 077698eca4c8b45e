package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// checkText writes the report for people at a terminal: how much each policy found, errors, then the findings, each
// with the lines it is about, those that differ in nothing but the resource as one; what the base already had and what
// exceptions cover comes short and apart; the last lines say what it comes to. Quiet text is errors and the verdict.
func checkText(w io.Writer, r *report.Report, o Options) error {
	t := newText(r, o)
	if o.Quiet {
		t.errors()
		t.verdict()
		_, err := io.WriteString(w, t.out.String())
		return err
	}
	all := byPlace(r.Findings)
	list := severe(all, o.Severity)
	t.totals(list)
	t.errors()
	t.findings(only(list, view.Blocking, view.Pending, view.Warning))
	t.short("Already in the base (these do not block):", only(list, view.Before))
	t.short("Covered by exceptions:", only(list, view.Excepted))
	if n := len(all) - len(list); n > 0 {
		t.rows("", fmt.Sprintf("%s less severe than %s and not shown.", report.Count(n, "finding is", "findings are"),
			o.Severity))
		t.blank()
	}
	t.notChecked(r.NotChecked)
	for i := range r.Warnings {
		t.problem("warning", yellow, &r.Warnings[i])
	}
	t.exceptions("Exceptions that this change adds or edits", false)
	t.exceptions(objectsTitle, true)
	t.upkeep()
	t.bumps()
	t.preview()
	t.closing()
	_, err := io.WriteString(w, t.out.String())
	return err
}

type text struct {
	report *report.Report
	o      Options
	width  int
	paint  painter
	told   map[string]bool // what need not be said again: why there is a policy, the reasons of rules
	out    strings.Builder
}

// newText begins a text of at least 24 columns, 80 where the options name none.
func newText(r *report.Report, o Options) *text {
	width := o.Width
	if width <= 0 {
		width = 80
	}
	return &text{report: r, o: o, width: max(width, 24), paint: painter{color: o.Color}, told: map[string]bool{}}
}

func (t *text) line(s string) {
	t.out.WriteString(tame(strings.TrimRight(s, " ")))
	t.out.WriteByte('\n')
}

// rows writes text in as many lines as it needs, each behind an indentation.
func (t *text) rows(indent, s string) { t.painted(indent, s, func(row string) string { return row }) }

// painted is rows with colors.
func (t *text) painted(indent, s string, paint func(string) string) {
	for _, row := range wrap(s, t.width-len(indent)) {
		t.line(indent + paint(row))
	}
}

// blank ends a paragraph.
func (t *text) blank() {
	if s := t.out.String(); s != "" && !strings.HasSuffix(s, "\n\n") {
		t.out.WriteByte('\n')
	}
}

// head writes "place  label  what", in as few lines as fit.
func (t *text) head(p painter, place string, rest ...string) {
	rest = slices.DeleteFunc(slices.Clone(rest), func(s string) bool { return s == "" })
	if len(rest) == 0 {
		rest = []string{"finding"}
	}
	place = tame(place)
	first := p.mark(rest[0])
	plain := strings.Join(rest, "  ")
	colored := strings.Join(append([]string{first}, rest[1:]...), "  ")
	if place == "" {
		t.line(colored)
		return
	}
	if textWidth(place)+2+textWidth(plain) <= t.width {
		t.line(p.bold(place) + "  " + colored)
		return
	}
	t.line(p.bold(place))
	if 2+textWidth(plain) <= t.width {
		t.line("  " + colored)
		return
	}
	t.line("  " + first)
	for _, s := range rest[1:] {
		t.rows("  ", s)
	}
}

func (t *text) frame(path string, s span, p painter) {
	if rows := frame(t.report.Excerpts[path], s, t.width, p); rows != nil {
		t.blank()
		for _, row := range rows {
			t.line(row)
		}
		t.blank()
	}
}

// fact writes one labeled line below a finding; further lines are indented.
func (t *text) fact(label, s string) {
	if s == "" {
		return
	}
	for i, row := range wrap(line(s), t.width-13) {
		if i > 0 {
			label = ""
		}
		t.line("  " + t.paint.dim(fmt.Sprintf("%-9s", label)) + "  " + row)
	}
}

func (t *text) problem(label, tone string, p *report.Problem) {
	paint := t.paint.with(tone)
	where := ""
	if p.Path != "" {
		where = line(view.Place(p.Path, p.Line, p.Column))
	}
	t.head(paint, where, label)
	t.rows("  ", lines(p.Message))
	if p.Line > 0 {
		t.frame(p.Path, span{startLine: p.Line, endLine: p.Line, start: p.Column}, paint)
	}
	t.blank()
}

// exceptions writes about the exceptions of the change, or about the objects that wait as if they were some.
func (t *text) exceptions(title string, objects bool) {
	first := slices.IndexFunc(t.report.Exceptions, func(e report.Exception) bool { return e.Object == objects })
	if first < 0 {
		return
	}
	t.line(t.paint.bold(title + ":"))
	t.blank()
	for i := range t.report.Exceptions {
		e := &t.report.Exceptions[i]
		if e.Object != objects {
			continue
		}
		t.head(t.paint.with(yellow), "  "+line(view.Place(e.Path, e.Line, 0)), line(string(e.State)), line(e.Name))
		for _, f := range facts(e, t.report.Approvers) {
			for i, row := range wrap(line(f.plain()), t.width-6) {
				if i > 0 {
					row = "  " + row
				}
				t.line("    " + row)
			}
		}
	}
	t.blank()
}

func (t *text) upkeep() {
	if len(t.report.Upkeep) == 0 {
		return
	}
	t.line(t.paint.bold("Exceptions to look after:"))
	t.blank()
	for i := range t.report.Upkeep {
		u := &t.report.Upkeep[i]
		t.head(t.paint.with(yellow), "  "+line(view.Place(u.Path, u.Line, 0)), line(u.Name))
		t.rows("    ", line(upkeepWords(u)))
	}
	t.blank()
}

func (t *text) errors() {
	for i := range t.report.Errors {
		t.problem("error", red, &t.report.Errors[i])
	}
}

func (t *text) verdict() {
	t.painted("", line(verdict(t.report)), t.paint.with(toneOf(t.report.Conclusion)).mark)
}

func (t *text) closing() {
	t.rows("", counts(t.report))
	t.verdict()
	for _, s := range steps(t.report, "above", false) {
		t.rows("", line("Next: "+strings.Join(s.words, "")))
		if s.command != "" {
			t.blank()
			t.line("    " + s.command) // to be copied: not wrapped
			t.blank()
		}
	}
	t.painted("", line(work(t.report)), t.paint.dim)
}

func toneOf(c report.Conclusion) string {
	switch c {
	case report.Success:
		return green
	case report.Neutral, report.ActionRequired:
		return yellow
	}
	return red
}
