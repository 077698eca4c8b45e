package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// MarkdownOptions are the options of Markdown.
type MarkdownOptions struct {
	// BlobURL is the web address of a line of a file at the head commit; line 0 is the file. May be nil,
	// or return "" where there is none.
	BlobURL func(path string, line int) string
	// PolicyURL is the same at the commit that the policies are read from. May be nil.
	PolicyURL func(path string, line int) string
	// NewFileURL is the web address of a form for a new file at the head that is filled in. May be nil where there
	// is no such form, or return "" for what is too long for it.
	NewFileURL func(path, content string) string
	// MaxBytes bounds the result, in bytes; GitHub takes 65,535 for the summary of a check run
	// (https://docs.github.com/en/rest/checks/runs). 0 means no limit.
	MaxBytes int
	// Button says that the reader has the buttons of a check run.
	Button bool
}

// messageRunes is how much of a message a table shows; annotations have the whole.
const messageRunes = 1000

// Markdown writes the report for the summary of a check run: the verdict, errors, a row for each resource
// and policy, what GitHub does not show beside the changed lines, exceptions and what they lack,
// warnings, and what the base already had. What does not fit in MaxBytes is counted.
func Markdown(r *report.Report, o MarkdownOptions) string {
	m := &markdown{report: r, o: o}
	list := byPlace(r.Findings)
	active := only(list, blocking, pending, warning)
	first := []section{
		m.problems("Errors", r.Errors),
		m.problems("Not checked", notChecked(r)),
		m.table("Findings", active, false),
		m.outside(active),
		m.exceptions("Exceptions of this change", false),
		m.exceptions(objectsTitle, true),
		m.upkeep(),
		m.bumps(),
		m.preview(),
	}
	second := []section{
		m.problems("Warnings", r.Warnings),
		m.table("Already in the base", only(list, before), true),
		m.covered(only(list, excepted)),
		m.previewTable(),
	}
	icon := map[report.Conclusion]string{report.Success: "✅", report.Neutral: "⚠️",
		report.ActionRequired: "⏳"}[r.Conclusion]
	head := fmt.Sprintf("**%s %s**\n\n%s\n", cmp.Or(icon, "❌"), prose(clip(verdict(r), 300)), prose(counts(r))) +
		next(r, o.Button)
	foot := "\n<sub>" + prose(work(r)) + "</sub>\n"
	whole := assemble(head, first, second, foot, 0)
	switch {
	case o.MaxBytes <= 0 || len(whole) <= o.MaxBytes:
		return whole
	case len(head)+len(foot)+leftOutBytes <= o.MaxBytes:
		return assemble(head, first, second, foot, o.MaxBytes)
	}
	// Our own words only: cut markup is no longer inert.
	return truncate(counts(r)+"; the rest is left out for lack of space\n", o.MaxBytes)
}

// checkMarkdown writes the summary of a check run that has no limit, no links and no buttons.
func checkMarkdown(w io.Writer, r *report.Report, _ Options) error {
	_, err := io.WriteString(w, Markdown(r, MarkdownOptions{}))
	return err
}

// next says what to do, as a list.
func next(r *report.Report, button bool) string {
	var b strings.Builder
	for _, s := range steps(r, "below", button) {
		if b.Len() == 0 {
			b.WriteString("\n**What to do**\n\n")
		}
		b.WriteString("- ")
		for i, part := range s {
			if i%2 == 1 {
				part = code(part)
			}
			b.WriteString(part)
		}
		b.WriteString("\n")
	}
	return b.String()
}

type markdown struct {
	report *report.Report
	o      MarkdownOptions
}

func (m *markdown) at(path string, line, column int) string {
	address := ""
	if m.o.BlobURL != nil && path != "" {
		address = m.o.BlobURL(path, line)
	}
	return link(place(path, line, column), address)
}

// origin links a finding's place; one that only the base has is not a line of the head.
func (m *markdown) origin(o *report.Origin) string {
	if o == nil {
		return ""
	}
	if o.Side == "base" {
		return code(place(o.Path, o.StartLine, 0)) + " (deleted)"
	}
	return m.at(o.Path, o.StartLine, 0)
}

func (m *markdown) problems(title string, problems []report.Problem) section {
	s := section{head: "\n#### " + title + "\n\n", one: "line", many: "lines"}
	for _, p := range problems {
		where := ""
		if p.Path != "" {
			where = m.at(p.Path, p.Line, p.Column) + ": "
		}
		s.rows = append(s.rows, "- "+where+prose(clip(p.Message, 2*messageRunes))+"\n")
	}
	return s
}

// table has one row for each resource and policy, whatever the rules' actions.
func (m *markdown) table(title string, list []*report.Finding, folded bool) section {
	s := section{head: "\n#### " + title + "\n\n", one: "row", many: "rows"}
	if folded {
		s.head = fmt.Sprintf("\n<details><summary>%s, not blocking: %s</summary>\n\n", title,
			report.Count(len(list), "finding", "findings"))
		s.foot = "\n</details>\n"
	}
	s.head += "| | Resource | Policy | Where | What |\n| --- | --- | --- | --- | --- |\n"
	groups, order := grouped(list)
	for _, k := range order {
		s.rows = append(s.rows, m.row(k.resource, groups[k]))
	}
	return s
}

// subject is what one row of a table is about.
type subject struct {
	resource report.Resource
	policy   string
}

// grouped puts the findings of each resource and policy together, whatever the rules' actions; the loudest first.
func grouped(list []*report.Finding) (map[subject][]*report.Finding, []subject) {
	groups := map[subject][]*report.Finding{}
	var order []subject
	for _, f := range list {
		for _, res := range append([]report.Resource{f.Resource}, f.Resources...) {
			k := subject{res, f.Policy}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], f)
		}
	}
	slices.SortStableFunc(order, func(a, b subject) int { return cmp.Compare(loudest(groups[a]), loudest(groups[b])) })
	return groups, order
}

func loudest(list []*report.Finding) standing {
	s := excepted
	for _, f := range list {
		s = min(s, standingOf(f))
	}
	return s
}

// icons are what a row begins with.
var icons = map[standing]string{blocking: "❌", pending: "⏳", warning: "⚠️", before: "▫️"}

// cellLines is how many lines a cell has at most: more than the rules and fields that one policy finds wrong with one
// resource in practice.
const cellLines = 40

func (m *markdown) row(res report.Resource, list []*report.Finding) string {
	icon := icons[loudest(list)]
	var rules, places, messages []string
	for _, f := range list {
		rules = append(rules, strings.TrimSpace(m.policy(f)+" "+prose(weight(f))))
		if f.Origin != nil {
			places = append(places, m.origin(f.Origin))
		}
		message := prose(clip(f.Reason(), messageRunes))
		if f.Expected != "" {
			message += " Expected: " + prose(f.Expected) + "."
		}
		if a := f.Advice(); a != "" {
			message += " To do: " + code(a) + "."
		}
		if mk := mark(f); mk != "" {
			message += " _(" + mk + ")_"
		}
		messages = append(messages, message)
	}
	return fmt.Sprintf("| %s | %s | %s<br>%s | %s | %s |\n", icon, code(res.String()), code(list[0].Policy),
		few(rules, cellLines), few(places, cellLines), few(messages, cellLines))
}

// policy links the name of a finding's rule to where it is written, at the commit that the rules are of.
func (m *markdown) policy(f *report.Finding) string {
	address := ""
	if m.o.PolicyURL != nil && f.PolicyPath != "" {
		address = m.o.PolicyURL(f.PolicyPath, max(f.PolicyLine, 1))
	}
	return link(cmp.Or(report.RuleName(f.Rule), f.Policy), address)
}

// few joins the different items as lines of a cell, and counts those beyond the limit.
func few(items []string, limit int) string {
	var unique []string
	for _, s := range items {
		if !slices.Contains(unique, s) {
			unique = append(unique, s)
		}
	}
	if n := len(unique) - limit; n > 0 {
		unique = append(unique[:limit], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(unique, "<br>")
}

// outside lists what GitHub shows no annotation for, because the change does not touch the file.
func (m *markdown) outside(list []*report.Finding) section {
	s := section{head: "\n#### Outside the changed files\n\n" +
		"GitHub shows no annotations there, so here are the lines to edit.\n\n", one: "line", many: "lines"}
	for _, f := range list {
		if f.Origin == nil || f.Origin.Changed {
			continue
		}
		s.rows = append(s.rows, fmt.Sprintf("- %s: %s, %s: %s\n", m.origin(f.Origin), code(ruleName(f.Policy, f.Rule)),
			code(f.Resource.String()), prose(clip(f.Reason(), messageRunes))))
	}
	return s
}

// exceptions lists the exceptions of the change, or the objects that wait as if they were some.
func (m *markdown) exceptions(title string, objects bool) section {
	s := section{head: "\n#### " + title + "\n\n", one: "line", many: "lines"}
	for i := range m.report.Exceptions {
		e := &m.report.Exceptions[i]
		if e.Object != objects {
			continue
		}
		icon := map[report.State]string{
			report.Approved: "✅", report.Pending: "⏳", report.Expired: "⌛", report.Refused: "❌",
		}[e.State]
		s.rows = append(s.rows, fmt.Sprintf("- %s (%s): **%s**\n",
			strings.TrimSpace(icon+" "+code(e.Name)), m.at(e.Path, e.Line, 0), prose(string(e.State))))
		for _, f := range facts(e, m.report.Approvers) {
			s.rows = append(s.rows, "  - "+strings.TrimSpace(f.words+" "+codes(f.names, 20)+f.after)+"\n")
		}
	}
	return s
}

// upkeep lists merged exceptions to remove or to renew.
func (m *markdown) upkeep() section {
	s := section{head: "\n#### Exceptions to look after\n\n", one: "exception", many: "exceptions"}
	for i := range m.report.Upkeep {
		u := &m.report.Upkeep[i]
		s.rows = append(s.rows, fmt.Sprintf("- %s (%s) %s\n", code(u.Name), m.at(u.Path, u.Line, 0), upkeepWords(u)))
	}
	return s
}

// covered counts what each exception lets through.
func (m *markdown) covered(list []*report.Finding) section {
	s := section{
		head: fmt.Sprintf("\n<details><summary>Covered by exceptions: %s</summary>\n\n",
			report.Count(len(list), "finding", "findings")),
		foot: "\n</details>\n", one: "line", many: "lines",
	}
	for _, f := range list {
		row := fmt.Sprintf("- %s, %s", code(f.Resource.String()), code(ruleName(f.Policy, f.Rule)))
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
