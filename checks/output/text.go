package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// checkText writes the report for people at a terminal: errors first, then the findings by file and line, each
// with the lines it is about; what the base already had and what exceptions cover comes short and apart;
// the last lines say what it comes to.
func checkText(w io.Writer, r *report.Report, o Options) error {
	t := newText(r, o)
	for i := range r.Errors {
		t.problem("error", red, &r.Errors[i])
	}
	list := byPlace(r.Findings)
	var last *report.Origin
	for _, f := range only(list, blocking, pending, warning) {
		t.finding(f, last)
		last = f.Origin
	}
	t.short("Already in the base (these do not block):", only(list, before))
	t.short("Covered by exceptions:", only(list, excepted))
	for _, n := range r.NotChecked {
		p := n.Problem()
		t.problem("not checked", yellow, &p)
	}
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
	width  int
	paint  painter
	out    strings.Builder
}

// newText begins a text of at least 24 columns, 80 where the options name none.
func newText(r *report.Report, o Options) *text {
	width := o.Width
	if width <= 0 {
		width = 80
	}
	return &text{report: r, width: max(width, 24), paint: painter{color: o.Color}}
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
		where = line(place(p.Path, p.Line, p.Column))
	}
	t.head(paint, where, label)
	t.rows("  ", lines(p.Message))
	if p.Line > 0 {
		t.frame(p.Path, span{startLine: p.Line, endLine: p.Line, start: p.Column}, paint)
	}
	t.blank()
}

func (t *text) finding(f *report.Finding, last *report.Origin) {
	paint := t.paint.with(yellow)
	if standingOf(f) == blocking {
		paint = t.paint.with(red)
	}
	m := mark(f)
	if m != "" {
		m = "[" + m + "]"
	}
	t.head(paint, line(placeOf(f)), line(weight(f)), line(ruleName(f.Policy, f.Rule)), m)
	t.rows("  ", lines(f.Reason()))
	if o := f.Origin; o != nil && (last == nil || !sameSpan(o, last)) {
		t.frame(o.Path, span{o.StartLine, o.EndLine, o.StartColumn, o.EndColumn}, paint)
	}
	t.write(f)
	t.facts(f)
	t.blank()
}

// write shows what to write, as a difference of the source where its lines are known.
func (t *text) write(f *report.Finding) {
	rows := f.Write()
	if rows == nil || standingOf(f) != blocking && standingOf(f) != warning {
		return
	}
	words := "  write"
	if f.Suggestion.Example {
		words += ", for example"
	}
	if d := f.Suggestion.Diff; d != nil {
		words += fmt.Sprintf(" (%s)", place(f.Origin.Path, d.Line, 0))
	}
	t.line(t.paint.dim(line(words) + ":"))
	t.blank()
	for _, row := range rows {
		row = "    " + line(row)
		switch {
		case strings.HasPrefix(row, "    +"):
			row = t.paint.with(green).mark(row)
		case strings.HasPrefix(row, "    -"):
			row = t.paint.with(red).mark(row)
		}
		t.line(row)
	}
	t.blank()
}

func sameSpan(a, b *report.Origin) bool {
	return a.Path == b.Path && a.StartLine == b.StartLine && a.EndLine == b.EndLine &&
		a.StartColumn == b.StartColumn && a.EndColumn == b.EndColumn
}

func (t *text) facts(f *report.Finding) {
	resource := f.Resource.String()
	if f.Operation != "" {
		resource += ", " + strings.ToLower(f.Operation)
	}
	t.fact("field", report.FieldName(f.Field))
	t.fact("expected", f.Expected)
	t.fact("why", why(t.report, f.Policy))
	if f.PolicyPath != "" {
		t.fact("policy", place(f.PolicyPath, f.PolicyLine, 0))
	}
	t.fact("resource", resource)
	if n := len(f.Resources); n > 0 {
		var names []string
		for _, r := range f.Resources[:min(n, 5)] {
			names = append(names, r.String())
		}
		if n > 5 {
			names = append(names, fmt.Sprintf("%d more", n-5))
		}
		t.fact("also", strings.Join(names, ", "))
	}
	t.fact("roots", strings.Join(f.Roots, ", "))
	t.fact("clusters", strings.Join(f.Clusters, ", "))
	if o := f.Origin; o != nil {
		if o.Set == nil {
			t.fact("missing", report.FieldName(o.Missing))
		}
		t.fact("advice", o.Advice)
		if o.Side == report.Base {
			t.fact("note", "the place is in the base; the change deletes it")
		} else if o.How == report.Enclosing && o.Missing == "" && o.Advice == "" {
			t.fact("note", "this is the nearest place that could be found")
		}
		for _, c := range o.Chain {
			t.fact("over", place(c.Path, c.StartLine, 0)+" ("+c.Role+")")
		}
	}
	if f.Exemption != nil {
		t.fact("exception", exemptionWords(f.Exemption))
	}
}

// short lists findings without their lines of code.
func (t *text) short(title string, list []*report.Finding) {
	if len(list) == 0 {
		return
	}
	t.line(t.paint.bold(title))
	t.blank()
	for _, f := range list {
		t.head(t.paint.with(cyan), "  "+line(placeOf(f)), line(weight(f)), line(ruleName(f.Policy, f.Rule)))
		detail := f.Resource.String()
		if f.Exemption != nil {
			detail += ", " + exemptionWords(f.Exemption)
		}
		if f.Denied {
			detail += ", " + deniedWords
		}
		t.rows("    ", line(detail))
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
		t.head(t.paint.with(yellow), "  "+line(place(e.Path, e.Line, 0)), line(string(e.State)), line(e.Name))
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
		t.head(t.paint.with(yellow), "  "+line(place(u.Path, u.Line, 0)), line(u.Name))
		t.rows("    ", line(upkeepWords(u)))
	}
	t.blank()
}

func (t *text) closing() {
	t.rows("", counts(t.report))
	t.painted("", line(verdict(t.report)), t.paint.with(toneOf(t.report.Conclusion)).mark)
	for _, s := range steps(t.report, "above", false) {
		t.rows("", line("Next: "+strings.Join(s, "")))
	}
	t.painted("", work(t.report), t.paint.dim)
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
