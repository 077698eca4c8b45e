package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// maxNames is how many resources or roots one annotation lists.
const maxNames = 20

// maxReasons is how many causes one annotation lists.
const maxReasons = 3

type candidate struct {
	report.Annotation
	group    string // the policy; for other annotations, the title
	severity int    // 0 is the worst
	old      int    // 1: also in the base
}

// Annotations converts the findings and problems of a report to annotations, the worst first. Blocking ones are
// failures; pre-existing ones, and audited ones with a low severity, are notices; the rest are warnings. Only places in
// files of the head can have one; the summary lists the others. The report limits their number; left is the number of
// omitted ones.
func Annotations(rep *report.Report) (list []report.Annotation, left int) {
	var findings view.Entry
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if o := f.Origin; view.LevelOf(f) != view.Ignored && o != nil && o.Side == report.Head && o.Path != "" {
			findings = append(findings, f)
		}
	}
	type noted struct {
		at                    report.Annotation
		policy, rule, message string
	}
	var all []candidate
	for _, same := range report.Grouped[view.Entry](findings, func(f *report.Finding) noted {
		if view.StateOf(f) == view.Undecided { // the annotation at the first place stands for all findings with the same cause
			return noted{report.Annotation{}, f.Policy, f.Rule, strings.Join(f.Causes, " ")}
		}
		return noted{placeAnnotation(f), f.Policy, f.Rule, f.Message}
	}) {
		f := same[0]
		c := candidate{placeAnnotation(f), "policy " + f.Policy, report.SeverityRank(f.Severity), 1}
		if f.New {
			c.old = 0
		}
		c.Title, c.Message = view.Title(f.Policy, f.Rule), annotationMessage(rep, same)
		all = append(all, c)
	}
	add := func(a report.Annotation) { all = append(all, candidate{Annotation: a, group: a.Title}) }
	for _, p := range rep.Errors {
		// A problem in a file that the change does not touch may be one of the base, where the lines differ.
		if p.Path != "" && p.Changed {
			add(ProblemAnnotation(p, view.Failure, "Could not be checked"))
		}
	}
	inHead := slices.DeleteFunc(slices.Clone(rep.NotChecked), func(n report.NotChecked) bool { return n.Side == report.Base })
	for _, p := range view.NotChecked(inHead, nil) {
		if p.Changed {
			add(ProblemAnnotation(p, view.Warn, "Lintel: not checked"))
		}
	}
	if p := rep.Preview; p != nil { // effects on a policy or an exception are shown at its own line
		for _, n := range p.Notices {
			add(ProblemAnnotation(n, view.Notice, "Preview"))
		}
		for _, e := range rep.Errors { // failed rows of policy tests that the change does not edit
			if !e.Changed && p.Tests != nil && slices.Contains(p.Tests.Files, e.Path) {
				add(ProblemAnnotation(e, view.Failure, "Policy test"))
			}
		}
	}
	chosen := choose(all, rep.MaxAnnotations())
	list = report.Mapped(chosen, func(c candidate) report.Annotation { return c.Annotation })
	slices.SortStableFunc(list, func(a, b report.Annotation) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), strings.Compare(a.Path, b.Path),
			cmp.Compare(a.StartLine, b.StartLine))
	})
	return list, len(all) - len(chosen)
}

// choose selects at most most annotations: blocking first, then by severity, new before pre-existing, then by place.
// Each policy gets one before any gets a second.
func choose(all []candidate, most int) []candidate {
	if len(all) <= most {
		return all
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), cmp.Compare(a.severity, b.severity),
			cmp.Compare(a.old, b.old), strings.Compare(a.Path, b.Path), cmp.Compare(a.StartLine, b.StartLine),
			cmp.Compare(a.StartColumn, b.StartColumn), strings.Compare(a.Title, b.Title),
			strings.Compare(a.Message, b.Message))
	})
	seen := map[string]bool{}
	var first, others []candidate
	for _, c := range all {
		if seen[c.group] {
			others = append(others, c)
			continue
		}
		seen[c.group] = true
		first = append(first, c)
	}
	return append(first, others...)[:max(most, 0)]
}

// Unannotated returns the end of a summary that counts the omitted annotations; "" if there are none. page is the
// address of a page that has them; it may be empty.
func Unannotated(shown, left int, page string) string {
	if left == 0 {
		return ""
	}
	words := fmt.Sprintf("\n%s shown on the lines of the files, %d more are not: annotations.max in "+
		".lintel.yaml limits them.", report.Count(shown, "annotation is", "annotations are"), left)
	if address, ok := webAddress(page); ok {
		words += fmt.Sprintf(" <a href=\"%s\">All of them</a>", address)
	}
	return words + "\n"
}

func rank(level string) int {
	return slices.Index([]view.Level{view.Failure, view.Warn, view.Notice}, view.Level(level))
}

// placeAnnotation returns the place of a finding's annotation: with columns on a single line only, and on lines that
// GitHub accepts.
func placeAnnotation(f *report.Finding) report.Annotation {
	o := f.Origin
	a := report.Annotation{Path: o.Path, StartLine: max(o.StartLine, 1), Level: string(view.LevelOf(f))}
	a.EndLine = max(o.EndLine, a.StartLine)
	if a.StartLine == a.EndLine && o.StartColumn > 0 && o.EndColumn > 0 {
		// Our end column is after the last character; GitHub's is that of the last character.
		a.StartColumn, a.EndColumn = o.StartColumn, max(o.EndColumn-1, o.StartColumn)
	}
	return a
}

// annotationMessage returns the text of one or several findings at a place.
func annotationMessage(rep *report.Report, e view.Entry) string {
	f := e[0]
	lines := []string{view.Sentence(f), "", "What to do: " + view.ToDo(f)}
	if reasons := view.Reasons(rep, f); len(reasons) > 0 {
		lines = append(lines, "Because: "+report.Some(reasons, maxReasons))
	}
	if f.Expected != "" {
		lines = append(lines, "Expected: "+f.Expected)
	}
	if x := view.FixOf(f); x != nil {
		lines = append(append(lines, "", x.Words("Write")+":"), append(x.Rows, "")...)
	}
	if f.Field != "" {
		lines = append(lines, "Field: "+view.FieldName(f.Field))
	}
	resources, label := e.Resources(), "Resource: "
	if len(resources) > 1 {
		label = "Resources: "
	}
	lines = append(lines, label+report.Some(resources, maxNames))
	if roots := e.Roots(); len(roots) > 0 {
		lines = append(lines, "Rendered by: "+report.Some(roots, maxNames))
	}
	if f.PolicyPath != "" {
		lines = append(lines, fmt.Sprintf("Policy: %s:%d", f.PolicyPath, max(f.PolicyLine, 1)))
	}
	return strings.Join(lines, "\n")
}

// ProblemAnnotation returns the annotation of a problem, or of another message about a place.
func ProblemAnnotation(p report.Problem, level view.Level, title string) report.Annotation {
	line := max(p.Line, 1)
	a := report.Annotation{Path: p.Path, StartLine: line, EndLine: line, Level: string(level), Title: title, Message: p.Message}
	if p.Line > 0 && p.Column > 0 {
		a.StartColumn, a.EndColumn = p.Column, p.Column
	}
	return a
}
