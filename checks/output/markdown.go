package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// MarkdownOptions are the options of Markdown.
type MarkdownOptions struct {
	// BlobURL returns the web address of a line of a file at the head commit; line 0 is the file. It may be nil, or
	// return "" for a file without an address.
	BlobURL func(path string, line int) string
	// PolicyURL is like BlobURL, at the commit that the policies are read from. It may be nil.
	PolicyURL func(path string, line int) string
	// NewFileURL returns the web address of a form that creates a file in the head with the given content. It may be
	// nil if there is no such form, or return "" for content that is too long.
	NewFileURL func(path, content string) string
	// MaxBytes bounds the result, in bytes; GitHub takes 65,535 for the summary of a check run
	// (https://docs.github.com/en/rest/checks/runs). 0 means no limit.
	MaxBytes int
	// Button says that the reader has the buttons of a check run.
	Button bool
	// Drafts is the command that drafts exceptions; empty: it needs no flags.
	Drafts string
	// Page is the web address of a page with the whole report; may be empty.
	Page string
}

// messageRunes limits the characters of a message in a table. Annotations have the whole message.
const messageRunes = 1000

// Markdown writes the report for the summary of a check run. It has the verdict, what to do, errors and causes, totals
// by policy if there are many findings, and a row for findings that differ in resource and place only. Then follow
// findings in files that the change does not touch, exceptions, warnings, and pre-existing findings. To stay within
// MaxBytes, rows name fewer places, then there are fewer rows; omitted ones are counted.
func Markdown(r *report.Report, o MarkdownOptions) string {
	m := &markdown{report: r, o: o}
	list := view.ByPlace(r.Findings)
	icon := map[report.Conclusion]string{report.Success: "✅", report.Neutral: "⚠️",
		report.ActionRequired: "⏳"}[r.Conclusion]
	head := fmt.Sprintf("**%s %s**\n", cmp.Or(icon, "❌"), prose(clip(view.Verdict(r), 300)))
	if words := view.Breakdown(r); words != "" {
		head += "\n" + prose(words) + "\n"
	}
	head += m.page()
	foot := ""
	if words := view.Work(r); words != "" {
		foot = "\n<sub>" + prose(words) + "</sub>\n"
	}
	whole := ""
	var first, second []section
	for _, m.places = range []int{20, 10, 5, 3} {
		first, second = m.sections(list)
		whole = assemble(head, first, second, foot, 0, "")
		if o.MaxBytes <= 0 || len(whole) <= o.MaxBytes {
			return whole
		}
	}
	if len(head)+len(foot)+leftOutBytes+len(m.all()) <= o.MaxBytes {
		return assemble(head, first, second, foot, o.MaxBytes, m.all())
	}
	// These are only our own words, since cut text of the repository could become markup.
	words := view.Counts(r) + "; the rest is left out for lack of space\n"
	return words[:min(len(words), o.MaxBytes)]
}

// sections returns the parts of the summary, the most important first.
func (m *markdown) sections(list []*report.Finding) (first, second []section) {
	r := m.report
	active := view.Only(list, view.Blocking, view.Pending, view.Warning)
	first = []section{
		m.next(),
		m.problems("Errors", r.Errors),
		m.causes(list),
		m.totals(list),
		m.table("Findings", active, false),
		m.outside(active),
		m.exceptions("Exceptions of this change", false),
		m.exceptions(view.ObjectsTitle, true),
		m.cleanup(),
		m.clusters(r.RootChanges),
		m.bumps(),
		m.preview(),
	}
	second = []section{
		m.problems("Warnings", view.Alone(r.Warnings)),
		m.table("Already in the base", view.Only(list, view.Before), true),
		m.covered(view.Only(list, view.Excepted)),
		m.previewTable(),
	}
	return first, second
}

// page returns a link to the page with the whole report.
func (m *markdown) page() string {
	address, ok := webAddress(m.o.Page)
	if !ok {
		return ""
	}
	words := "The whole report"
	if n := len(m.report.Findings); n > 1 {
		words = fmt.Sprintf("All %d findings", n)
	}
	return "\n" + words + `: <a href="` + address + `">` + references(m.o.Page) + "</a>\n"
}

// all says where the omitted parts are; empty without a page.
func (m *markdown) all() string {
	address, ok := webAddress(m.o.Page)
	if !ok {
		return ""
	}
	return ` <a href="` + address + `">The whole report</a> has them.`
}

// totals returns a table of the findings by policy. It is empty if there are few findings.
func (m *markdown) totals(list []*report.Finding) section {
	s := section{one: "policy", many: "policies"}
	if !view.NeedTotals(list) {
		return s
	}
	all := view.Totals(list)
	rows := view.TotalsTable(all)
	s.head = "\n|"
	for _, cell := range rows[0] {
		s.head += " | " + strings.ToUpper(cell[:1]) + cell[1:]
	}
	s.head += " |\n| --- | --- | --- | ---" + strings.Repeat(" | ---:", len(rows[0])-3) + " |\n"
	for i, cells := range rows[1:] {
		icon := ""
		if cells[0] = "**" + cells[0] + "**"; i < len(all) {
			icon, cells[0] = icons[all[i].Loudest], breakable(all[i].Policy, "")
		}
		for k := range 2 { // severity and action
			cells[1+k] = cellProse(strings.TrimPrefix(cells[1+k], "-"))
		}
		s.rows = append(s.rows, "| "+icon+" | "+strings.Join(cells, " | ")+" |\n")
	}
	return s
}

// checkMarkdown writes the summary of a check run that has no limit, no links and no buttons.
func checkMarkdown(w io.Writer, r *report.Report, o Options) error {
	_, err := io.WriteString(w, Markdown(r, MarkdownOptions{Page: o.Page, Drafts: o.Drafts}))
	return err
}

func (m *markdown) next() section {
	s := section{head: "\n**What to do**\n\n", one: "step", many: "steps"}
	for _, step := range view.NextActions(m.report, m.o.Button, m.o.Drafts) {
		row := "- "
		for _, run := range step {
			switch {
			case run.Command:
				row += " " + code(run.Text)
			case run.Code:
				row += code(run.Text)
			default:
				row += run.Text
			}
		}
		s.rows = append(s.rows, row+"\n")
	}
	return s
}

type markdown struct {
	report *report.Report
	o      MarkdownOptions
	places int // files and resources that one row names
}

func (m *markdown) at(path string, line, column int) string {
	return link(view.Place(path, line, column), m.blob(path, line))
}

// blob returns the web address of a line, "" if there is none.
func (m *markdown) blob(path string, line int) string {
	if path == "" {
		return ""
	}
	return address(m.o.BlobURL, path, line)
}

// origin returns a link to a line of a finding's file for a cell. A line of the base only is not linked, since the head
// does not have it.
func (m *markdown) origin(o *report.Origin, line int) string {
	if o.Side == report.Base {
		return breakable(view.Place(o.Path, line, 0), "") + " (deleted)"
	}
	return breakable(view.Place(o.Path, line, 0), m.blob(o.Path, line))
}

func (m *markdown) problems(title string, problems []report.Problem) section {
	return section{head: "\n#### " + title + "\n\n", one: "line", many: "lines",
		rows: report.Mapped(problems, func(p report.Problem) string { return m.problem(p) + "\n" })}
}

func (m *markdown) problem(p report.Problem) string {
	return "- " + m.before(p.Path, p.Line, p.Column) + prose(clip(p.Message, 2*messageRunes))
}

// before returns a place in front of a message about it, "" if the place is unknown.
func (m *markdown) before(path string, line, column int) string {
	if path == "" {
		return ""
	}
	return m.at(path, line, column) + ": "
}

// causes lists what prevents results, each cause once, with the findings that depend on it folded.
func (m *markdown) causes(findings []*report.Finding) section {
	s := section{head: "\n#### " + view.CausesTitle + "\n\n", one: "line", many: "lines"}
	for _, c := range view.CausesOf(m.report, findings) {
		row := m.problem(c.Problem())
		for _, w := range c.Waiting() {
			items := report.Mapped(w.Items[:min(len(w.Items), m.places)], m.item)
			items = andMore(items, len(w.Items)-len(items))
			switch {
			case w.Label == "likewise":
				row += fmt.Sprintf("<details><summary>Likewise %d more</summary>%s</details>", len(w.Items), strings.Join(items, "<br>"))
			case len(w.Items) == 1:
				row += "<br>" + w.Label + ": " + items[0]
			default:
				row += fmt.Sprintf("<details><summary>%d %s</summary>%s</details>", len(w.Items), w.Label, strings.Join(items, "<br>"))
			}
		}
		s.rows = append(s.rows, row+"\n")
	}
	return s
}

// item returns an item that depends on a cause, with a link to its place.
func (m *markdown) item(i view.Item) string {
	at := ""
	switch {
	case i.Path == "":
	case i.Rule:
		at = link(view.Place(i.Path, i.Line, 0), address(m.o.PolicyURL, i.Path, max(i.Line, 1)))
	default:
		at = m.at(i.Path, i.Line, 0)
	}
	return strings.TrimSpace(prose(clip(i.Words, codeRunes)) + " " + at)
}

// andMore limits a list to n items, and counts the others.
func andMore(list []string, n int) []string {
	if n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return list
}

// exceptions lists the exceptions of the change, or the looked-up objects that wait for approval like exceptions.
func (m *markdown) exceptions(title string, objects bool) section {
	s := section{head: "\n#### " + title + "\n\n", one: "line", many: "lines"}
	icons := map[report.State]string{report.Approved: "✅", report.Pending: "⏳", report.Expired: "⌛", report.Refused: "❌"}
	for _, e := range view.Exceptions(m.report, objects) {
		s.rows = append(s.rows, fmt.Sprintf("- %s (%s): **%s**\n",
			strings.TrimSpace(icons[e.State]+" "+code(e.Name)), m.at(e.Path, e.Line, 0), prose(string(e.State))))
		for _, f := range view.ExceptionFacts(e, m.report.Approvers) {
			s.rows = append(s.rows, "  - "+f.With(codes(f.Names, 20))+"\n")
		}
	}
	return s
}

func (m *markdown) cleanup() section {
	s := section{head: "\n#### Exceptions to renew or remove\n\n", one: "exception", many: "exceptions"}
	for _, u := range m.report.Cleanup {
		s.rows = append(s.rows, fmt.Sprintf("- %s (%s) %s\n", code(u.Name), m.at(u.Path, u.Line, 0), view.CleanupWords(&u)))
	}
	return s
}
