package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// checkText writes the report for a terminal. It has the verdict and what to do, errors and causes, and totals by
// policy if there are many findings. Then follow the findings with their lines, merged if they differ in the resource
// only, pre-existing and excepted ones in short, and changes by cluster. Quiet text is the verdict and the errors.
func checkText(w io.Writer, r *report.Report, o Options) error {
	t := newText(r, o)
	t.verdict()
	if o.Quiet {
		t.problems("error", red, r.Errors)
		return t.write(w)
	}
	t.next()
	all := view.ByPlace(r.Findings)
	list := view.Severe(all, o.Severity)
	t.problems("error", red, r.Errors)
	causes := view.CausesOf(r, list)
	few := fewCauses
	if len(causes) > manyCauses {
		few = 1
	}
	for _, c := range causes {
		t.causes(c, few)
	}
	t.totals(list)
	t.findings(view.Only(list, view.Blocking, view.Pending, view.Warning))
	t.short("Already in the base (these do not block):", view.Only(list, view.Before))
	t.short("Covered by exceptions:", view.Only(list, view.Excepted))
	if n := len(all) - len(list); n > 0 {
		t.rows("", fmt.Sprintf("%s less severe than %s and not shown.", report.Count(n, "finding is", "findings are"),
			o.Severity))
		t.blank()
	}
	t.problems("warning", yellow, view.Alone(r.Warnings))
	t.exceptions("Exceptions that this change adds or edits", false)
	t.exceptions(view.ObjectsTitle, true)
	t.cleanup()
	t.clusters(r.RootChanges)
	t.bumps()
	t.preview()
	if words := view.Work(r); words != "" {
		t.painted("", Line(words), t.paint.dim)
	}
	if strings.Count(t.out.String(), "\n") > screenRows {
		t.verdict() // repeated, because the first line has scrolled away
	}
	return t.write(w)
}

// screenRows is the approximate number of lines of a terminal.
const screenRows = 40

type text struct {
	report *report.Report
	o      Options
	width  int
	paint  painter
	told   map[string]bool // what was written already: why a policy exists, the reasons of rules
	out    strings.Builder
}

// newText begins a text of at least 24 columns; 80 if the options set no width.
func newText(r *report.Report, o Options) *text {
	width := o.Width
	if width <= 0 {
		width = 80
	}
	return &text{report: r, o: o, width: max(width, 24), paint: painter{color: o.Color}, told: map[string]bool{}}
}

func (t *text) write(w io.Writer) error {
	_, err := io.WriteString(w, t.out.String())
	return err
}

func (t *text) line(s string) {
	t.out.WriteString(tame(strings.TrimRight(s, " ")))
	t.out.WriteByte('\n')
}

// rows writes text on as many lines as needed, each with an indentation.
func (t *text) rows(indent, s string) { t.painted(indent, s, func(row string) string { return row }) }

// painted is rows with colors.
func (t *text) painted(indent, s string, paint func(string) string) {
	for _, row := range Wrap(s, t.width-len(indent)) {
		t.line(indent + paint(row))
	}
}

// item writes text with an indentation; further lines are indented more.
func (t *text) item(indent, s string) {
	for i, row := range Wrap(Line(s), t.width-len(indent)-2) {
		t.line(indent + strings.Repeat("  ", min(i, 1)) + row)
	}
}

// blank ends a paragraph.
func (t *text) blank() {
	if s := t.out.String(); s != "" && !strings.HasSuffix(s, "\n\n") {
		t.out.WriteByte('\n')
	}
}

func (t *text) title(s string) {
	t.line(t.paint.bold(s))
	t.blank()
}

// heading begins a small part after an empty line, without one below.
func (t *text) heading(s string) {
	t.blank()
	t.line(t.paint.bold(s))
}

// pairs writes a heading, and rows of two columns; nothing without rows. The first column is as wide as the longest of
// the names.
func (t *text) pairs(title string, rows [][2]string, names ...string) {
	width := 0
	for _, r := range rows {
		names = append(names, r[0])
	}
	for _, name := range names {
		width = max(width, textWidth(Line(name)))
	}
	if len(rows) > 0 {
		t.heading(title)
	}
	for _, r := range rows {
		name := Line(r[0])
		t.line("  " + name + strings.Repeat(" ", width-textWidth(name)) + "  " + Line(r[1]))
	}
}

// head writes "place  label  what", in as few lines as fit.
func (t *text) head(p painter, place string, rest ...string) {
	rest = report.Filled(rest...)
	if len(rest) == 0 {
		rest = []string{"finding"}
	}
	place = tame(place)
	first := p.mark(rest[0])
	plain := strings.Join(rest, "  ")
	colored := strings.Join(append([]string{first}, rest[1:]...), "  ")
	switch {
	case place == "":
		t.line(colored)
	case textWidth(place)+2+textWidth(plain) <= t.width:
		t.line(p.bold(place) + "  " + colored)
	case 2+textWidth(plain) <= t.width:
		t.line(p.bold(place))
		t.line("  " + colored)
	default:
		t.line(p.bold(place))
		t.line("  " + first)
		for _, s := range rest[1:] {
			t.rows("  ", s)
		}
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
	for i, row := range Wrap(Line(s), t.width-13) {
		if i > 0 {
			label = ""
		}
		t.line("  " + t.paint.dim(fmt.Sprintf("%-9s", label)) + "  " + row)
	}
}

func (t *text) problems(label, tone string, list []report.Problem) {
	for _, p := range list {
		t.said(label, tone, p)
		t.code(tone, p)
		t.blank()
	}
}

// code shows the source lines around a problem.
func (t *text) code(tone string, p report.Problem) {
	if p.Line > 0 {
		t.frame(p.Path, span{startLine: p.Line, endLine: p.Line, start: p.Column}, t.paint.with(tone))
	}
}

// said writes a problem without source lines.
func (t *text) said(label, tone string, p report.Problem) {
	t.head(t.paint.with(tone), Line(view.KnownPlace(p.Path, p.Line, p.Column)), label)
	t.rows("  ", lines(p.Message))
}

// causes writes causes once, with the names of the first few things that depend on them.
func (t *text) causes(c *view.Causes, most int) {
	p := c.Problem()
	t.said(c.Label(), yellow, p)
	if c.One() {
		t.code(yellow, p)
	}
	for _, w := range c.Waiting() {
		few := most
		if t.o.AllPlaces || len(w.Items) <= fewNames {
			few = len(w.Items)
		}
		if w.Label == "roots" && min(len(c.Findings), len(w.Items)) > 1 && !t.o.AllPlaces {
			continue // the objects have the same information
		}
		var names []string
		for i, item := range w.Items {
			switch {
			case item.Path == "":
				names = append(names, item.Words)
			case i < few:
				t.fact([]string{w.Label, ""}[min(i, 1)], item.String())
			}
		}
		t.fact(w.Label, report.Some(names, few))
		t.more(len(w.Items) - len(names) - few)
	}
	t.blank()
}

// more counts the places that are not shown.
func (t *text) more(n int) {
	if n > 0 {
		t.fact("", fmt.Sprintf("and %d more; --all-places lists them", n))
	}
}

// exceptions writes the exceptions of the change, or the objects that need approval.
func (t *text) exceptions(title string, objects bool) {
	list := view.Exceptions(t.report, objects)
	if len(list) == 0 {
		return
	}
	t.title(title + ":")
	for _, e := range list {
		t.head(t.paint.with(yellow), "  "+Line(view.Place(e.Path, e.Line, 0)), Line(string(e.State)), Line(e.Name))
		for _, f := range view.ExceptionFacts(e, t.report.Approvers) {
			t.item("    ", f.String())
		}
	}
	t.blank()
}

func (t *text) cleanup() {
	if len(t.report.Cleanup) == 0 {
		return
	}
	t.title("Exceptions to renew or remove:")
	for _, u := range t.report.Cleanup {
		t.head(t.paint.with(yellow), "  "+Line(view.Place(u.Path, u.Line, 0)), Line(u.Name))
		t.rows("    ", Line(view.CleanupWords(&u)))
	}
	t.blank()
}

func (t *text) verdict() {
	t.painted("", Line(view.Verdict(t.report)), t.paint.with(toneOf(string(t.report.Conclusion))).mark)
}

func (t *text) next() {
	t.rows("", view.Breakdown(t.report))
	for _, s := range view.NextActions(t.report, false, t.o.Drafts) {
		t.rows("", Line("Next: "+s.String()))
		if command := s.Command(); command != "" {
			t.blank()
			t.line("    " + command) // not wrapped, so that it can be copied
			t.blank()
		}
	}
	t.blank()
}

// The table of what changes in clusters has at most clusterRows rows, and as many lines as a text of longText lines has
// left, but at least clusterLines.
const clusterRows, clusterLines, longText = 10, 14, 100

func (t *text) clusters(list []report.RootChange) {
	columns, all := view.ClusterChanges(list)
	if len(all) == 0 {
		return
	}
	rows := report.Mapped(all, func(cells []string) tableRow { return tableRow{cells: cells} })
	if !t.o.AllPlaces {
		left := max(clusterLines, longText-strings.Count(t.out.String(), "\n"))
		rows = t.fitting(columns, rows[:min(len(rows), clusterRows)], left)
	}
	t.title(view.ClusterChangesTitle + ":")
	t.table(columns, rows)
	if n := len(all) - len(rows); n > 0 {
		t.rows("", fmt.Sprintf("and %s; --all-places lists them", report.Count(n, "more row", "more rows")))
	}
	t.blank()
}

// toneOf returns the color of a conclusion, a result or the effect of a preview.
func toneOf(word string) string {
	switch word {
	case string(report.Success), string(report.Pass), string(report.Skip), string(report.EffectPasses):
		return green
	case string(report.Failure), string(report.Fail), string(report.Error), string(report.EffectFails):
		return red
	}
	return yellow
}

type painter struct {
	color bool
	tone  string // of marks: an SGR parameter
}

func (p painter) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) dim(s string) string  { return p.paint("2", s) }
func (p painter) bold(s string) string { return p.paint("1", s) }
func (p painter) mark(s string) string { return p.paint("1;"+p.tone, s) }
func (p painter) with(tone string) painter {
	p.tone = tone
	return p
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// bumpLines is how many lines the text has of one kind for one bump; JSON has more.
const bumpLines = 10

func (t *text) bumps() {
	if len(t.report.Bumps) > 0 {
		t.title(view.BumpsTitle + ":")
	}
	for _, b := range t.report.Bumps {
		for _, m := range b.Moved {
			t.head(t.paint.with(cyan), "  "+Line(view.Place(m.Path, m.Line, 0)), Line(m.Name), Line(view.Versions(&m)))
		}
		t.rows("    ", Line("in "+b.Root))
		if b.Problem == "" {
			t.rows("    ", Line(view.BumpCounts(&b)))
		}
		images := report.Mapped(view.ImageWords(b.Images), func(words string) string { return "image " + words })
		for _, list := range [][]string{images, view.CareWords(&b)} {
			for _, words := range list[:min(len(list), bumpLines)] {
				t.rows("    ", Line("- "+words))
			}
			if n := len(list) - bumpLines; n > 0 {
				t.rows("    ", "- "+report.Count(n, "more line", "more lines"))
			}
		}
		t.blank()
	}
	if more := view.MoreBumps(t.report); more != "" {
		t.rows("  ", more)
		t.blank()
	}
	for _, r := range t.report.Resolved {
		t.rows("", Line(strings.TrimPrefix(view.KnownPlace(r.Path, r.Line, 0)+": ", ": ")+r.String()))
	}
	if len(t.report.Resolved) > 0 {
		t.blank()
	}
}

// previewLines is how many differences the text lists; JSON has more.
const previewLines = 20

func (t *text) preview() {
	p := t.report.Preview
	if p == nil {
		return
	}
	t.heading(view.PreviewTitle)
	t.rows("", Line(view.PreviewIntro(t.report)))
	t.blank()
	for _, item := range view.PreviewItems(p) {
		for i, row := range Wrap(Line(item.Words), t.width-4) {
			t.line("  " + []string{"- ", "  "}[min(i, 1)] + row)
		}
		if item.Path != "" {
			t.line("    " + t.paint.dim(tame(Line(view.Place(item.Path, item.Line, 0)))))
		}
	}
	if len(p.Warnings) > 0 {
		t.blank()
	}
	t.problems("warning", yellow, p.Warnings)
	t.blank()
	for _, f := range p.Findings[:min(len(p.Findings), previewLines)] {
		t.head(t.paint.with(toneOf(string(f.Effect))), "  "+Line(view.PlaceOf(f.Origin)), Line(string(f.Effect)),
			Line(view.Title(f.Policy, f.Rule)))
		t.rows("    ", Line(view.PreviewResources(&f)+": "+view.Becomes(&f)))
	}
	if n := len(p.Findings) - previewLines + p.LeftOut; n > 0 && len(p.Findings) >= previewLines {
		t.line(fmt.Sprintf("  and %s", report.Count(n, "more place", "more places")))
	}
	t.blank()
}
