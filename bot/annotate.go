package bot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/checks/report"
)

// maxNames is how many resources or roots one annotation lists.
const maxNames = 20

// place is what makes two findings one annotation.
type place struct {
	path                                 string
	startLine, endLine, startCol, endCol int
	policy, rule, level, message         string
}

// note is an annotation in the making.
type note struct {
	place
	finding   report.Finding // the first at this place
	resources []string
	roots     []string
	listed    map[string]bool // what is in either; there can be thousands
}

// annotate turns the findings and problems of a report into annotations: failure for what blocks, notice
// for what the base had, too, and for what is audited with a low severity, warning for the rest. Only places in files
// of the head can carry one; the summary tells the others. The worst come first, as the client posts a limited number
// and counts the rest.
func annotate(rep *report.Report) []github.Annotation {
	var list []github.Annotation
	var notes []*note
	byPlace := map[place]*note{}
	for _, f := range rep.Findings {
		level := levelOf(&f)
		if level == "" || f.Origin == nil || f.Origin.Side != "" || f.Origin.Path == "" {
			continue
		}
		key := placeOf(&f, level)
		n := byPlace[key]
		if n == nil {
			n = &note{place: key, finding: f, listed: map[string]bool{}}
			byPlace[key] = n
			notes = append(notes, n)
		}
		n.add(&f)
	}
	for _, n := range notes {
		list = append(list, n.annotation())
	}
	for _, p := range rep.Errors {
		// A problem in a file that the change leaves alone can be one of the base, where the lines differ.
		if p.Path == "" || !p.Changed {
			continue
		}
		list = append(list, problem(p))
	}
	for _, n := range rep.NotChecked {
		if n.Changed {
			a := problem(n.Problem())
			a.Level, a.Title = github.LevelWarning, "Lintel: not checked"
			list = append(list, a)
		}
	}
	list = append(list, previewNotes(rep.Preview, rep.Errors)...)
	slices.SortStableFunc(list, func(a, b github.Annotation) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), strings.Compare(a.Path, b.Path),
			cmp.Compare(a.StartLine, b.StartLine))
	})
	return list
}

func rank(level string) int {
	return slices.Index([]string{github.LevelFailure, github.LevelWarning, github.LevelNotice}, level)
}

// levelOf is "" for a finding that needs nobody's attention.
func levelOf(f *report.Finding) string {
	switch {
	case f.Blocks:
		return github.LevelFailure
	case f.Exemption != nil && f.Exemption.State == report.Pending:
		return github.LevelWarning
	case f.Result == report.Skip:
		return ""
	case !f.New, f.Result == report.Warn && (f.Severity == "low" || f.Severity == "info"):
		return github.LevelNotice
	}
	return github.LevelWarning
}

// placeOf gives columns only on one line, and lines that GitHub takes.
func placeOf(f *report.Finding, level string) place {
	o := f.Origin
	p := place{path: o.Path, startLine: max(o.StartLine, 1), policy: f.Policy, rule: f.Rule, level: level,
		message: f.Message}
	p.endLine = max(o.EndLine, p.startLine)
	if p.startLine == p.endLine && o.StartColumn > 0 && o.EndColumn > 0 {
		// Ours is the column behind the last character, GitHub's is the last one.
		p.startCol, p.endCol = o.StartColumn, max(o.EndColumn-1, o.StartColumn)
	}
	return p
}

func (n *note) add(f *report.Finding) {
	for _, r := range append([]report.Resource{f.Resource}, f.Resources...) {
		if name := r.String(); !n.listed["resource "+name] {
			n.listed["resource "+name] = true
			n.resources = append(n.resources, name)
		}
	}
	for _, root := range f.Roots {
		if !n.listed["root "+root] {
			n.listed["root "+root] = true
			n.roots = append(n.roots, root)
		}
	}
}

func (n *note) annotation() github.Annotation {
	f := &n.finding
	lines := []string{f.Reason(), ""}
	lines = append(lines, "What to do: "+advice(f))
	if f.Expected != "" {
		lines = append(lines, "Expected: "+f.Expected)
	}
	if rows := f.Write(); rows != nil {
		lines = append(append(lines, "", writeWords(f.Suggestion)), append(rows, "")...)
	}
	if f.Field != "" {
		lines = append(lines, "Field: "+report.FieldName(f.Field))
	}
	lines = append(lines, names("Resource", n.resources))
	if len(n.roots) > 0 {
		lines = append(lines, names("Rendered by", n.roots))
	}
	if f.PolicyPath != "" {
		lines = append(lines, fmt.Sprintf("Policy: %s:%d", f.PolicyPath, max(f.PolicyLine, 1)))
	}
	return github.Annotation{
		Path: n.path, StartLine: n.startLine, EndLine: n.endLine, StartColumn: n.startCol, EndColumn: n.endCol,
		Level: n.level, Title: strings.TrimSuffix(f.Policy+" / "+report.RuleName(f.Rule), " / "),
		Message: strings.Join(lines, "\n"),
	}
}

// writeWords is the line above what to write.
func writeWords(s *report.Suggestion) string {
	if s.Example {
		return "Write, for example:"
	}
	return "Write:"
}

// advice says what the reader of a finding can do.
func advice(f *report.Finding) string {
	e := f.Exemption
	switch {
	case e != nil && e.State == report.Pending:
		return "nothing here; exception " + e.Exception + " (" + e.Path + ") covers this once it is approved in review."
	case e != nil && e.State == report.Refused:
		return "fix the value, or exception " + e.Exception + " (" + e.Path + "): " + e.By + " asked for changes of it."
	case e != nil && e.State == report.Expired:
		return "exception " + e.Exception + " (" + e.Path + ") has expired; renew it, or fix the value."
	case f.Result == report.Unknown:
		return "check by hand; the rule needs data that only the cluster has, or declare that data under context in " +
			".lintel.yaml."
	case f.Result == report.Error:
		return "fix the policy or the value it stumbles over; the rule could not be evaluated."
	case !f.New && !f.Blocks:
		return "nothing has to be done here; the base branch has this violation already and it does not block."
	}
	edit := "change the value here so that the rule holds"
	switch {
	case f.Operation == "DELETE":
		edit = "keep what is removed here"
	case f.Origin.Advice != "":
		edit = f.Origin.Advice
	case f.Origin.Missing != "":
		edit = "add " + report.FieldName(f.Origin.Missing) + " at this place"
	}
	if f.Result == report.Warn {
		return "better " + edit + "; the policy only audits, so this does not block."
	}
	return edit + ", or add an exception and have it approved (the button Draft exceptions writes one)."
}

func problem(p report.Problem) github.Annotation {
	line := max(p.Line, 1)
	a := github.Annotation{Path: p.Path, StartLine: line, EndLine: line, Level: github.LevelFailure,
		Title: "Could not be checked", Message: p.Message}
	if p.Line > 0 && p.Column > 0 {
		a.StartColumn, a.EndColumn = p.Column, p.Column
	}
	return a
}

// names lists some and counts the rest.
func names(what string, all []string) string {
	if len(all) > 1 && what == "Resource" {
		what = "Resources"
	}
	shown := all[:min(len(all), maxNames)]
	text := what + ": " + strings.Join(shown, ", ")
	if more := len(all) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
