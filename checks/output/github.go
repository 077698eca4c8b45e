package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// checkGitHub writes a first line for the log, and workflow commands, which GitHub Actions shows as annotations
// (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands). It omits findings that an
// exception covers. Pre-existing findings are notices.
func checkGitHub(w io.Writer, r *report.Report, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Lintel: %s. %s\n", view.Counts(r), tame(Line(view.Verdict(r))))
	problems := func(name, title string, list []report.Problem) {
		for _, p := range list {
			var at *report.Origin
			if p.Path != "" {
				at = &report.Origin{Path: p.Path, StartLine: p.Line, EndLine: p.Line, StartColumn: p.Column}
			}
			command(&b, name, title, p.Message, at)
		}
	}
	problems("error", "Lintel", r.Errors)
	for _, f := range view.Only(view.ByPlace(r.Findings), view.Blocking, view.Pending, view.Warning, view.Before) {
		message := view.Sentence(f)
		if m := view.Mark(f); m != "" {
			message += "\n(" + m + ")"
		}
		message += "\n" + f.Resource.String()
		if f.Field != "" {
			message += ", field " + view.FieldName(f.Field)
		}
		message += details(f, strings.ToLower)
		if w := view.Why(r, f.Policy); w != "" {
			message += "\nwhy: " + w
		}
		command(&b, commandNames[view.LevelOf(f)], view.Title(f.Policy, f.Rule), message, f.Origin)
	}
	for _, c := range view.CausesOf(r, view.ByPlace(r.Findings)) {
		p := c.Problem()
		for _, one := range c.List { // that of the first cause stands for all: the message has the others
			if p.Path == "" {
				p.Path, p.Line = one.Path, one.Line
			}
		}
		for _, w := range c.Waiting() {
			p.Message += "\n" + w.Label + ": " + report.Some(report.Mapped(w.Items, view.Item.String), fewNames)
		}
		problems("warning", "Lintel: "+c.Label(), []report.Problem{p})
	}
	problems("warning", "Lintel", view.Alone(r.Warnings))
	if r.Preview != nil {
		problems("notice", "Lintel preview", r.Preview.Notices)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var commandNames = map[view.Level]string{view.Failure: "error", view.Warn: "warning", view.Notice: "notice"}

// details are the facts and the fix of a finding in lines that each begin with a line end. label writes the labels.
func details(f *report.Finding, label func(string) string) string {
	var b strings.Builder
	for _, fact := range view.Facts(f) {
		b.WriteString("\n" + label(fact.Label) + ": " + fact.Text)
	}
	if x := view.FixOf(f); x != nil {
		b.WriteString("\n" + strings.Join(x.Rows, "\n"))
	}
	return b.String()
}

func command(b *strings.Builder, name, title, message string, o *report.Origin) {
	b.WriteString("::" + name + " ")
	if o != nil {
		b.WriteString("file=" + commandProperty(o.Path) + ",")
		if o.StartLine > 0 {
			fmt.Fprintf(b, "line=%d,", o.StartLine)
			if o.EndLine > o.StartLine {
				fmt.Fprintf(b, "endLine=%d,", o.EndLine)
			} else if o.StartColumn > 0 { // columns are shown only for a place on one line
				fmt.Fprintf(b, "col=%d,", o.StartColumn)
				if o.EndColumn > 0 {
					fmt.Fprintf(b, "endColumn=%d,", o.EndColumn)
				}
			}
		}
	}
	b.WriteString("title=" + commandProperty(title) + "::" + commandData(message) + "\n")
}

// commandData escapes the message of a command.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(tameTags(lines(s)))
}

// commandProperty escapes a property of a command, which a comma or colon would end.
func commandProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(tameTags(Line(s)))
}
