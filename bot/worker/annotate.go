package worker

import (
	"cmp"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
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

// candidate is an annotation with what decides whether it is among those that are posted.
type candidate struct {
	forge.Annotation
	group    string // the policy; what is no policy's is one group by its title
	severity int    // 0 is the worst
	old      bool
}

// annotate turns the findings and problems of a report into annotations: failure for what blocks, notice
// for what the base had, too, and for what is audited with a low severity, warning for the rest. Only places in files
// of the head can carry one; the summary tells the others. There are at most as many as the report says, chosen by
// choose; left is how many more there would be. The worst come first.
func annotate(rep *report.Report) (list []forge.Annotation, left int) {
	var all []candidate
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
		all = append(all, candidate{n.annotation(), "policy " + n.finding.Policy, report.SeverityRank(n.finding.Severity),
			!n.finding.New})
	}
	add := func(a forge.Annotation) { all = append(all, candidate{Annotation: a, group: a.Title}) }
	for _, p := range rep.Errors {
		// A problem in a file that the change leaves alone can be one of the base, where the lines differ.
		if p.Path == "" || !p.Changed {
			continue
		}
		add(problem(p))
	}
	for _, n := range rep.NotChecked {
		if n.Changed {
			a := problem(n.Problem())
			a.Level, a.Title = forge.LevelWarning, "Lintel: not checked"
			add(a)
		}
	}
	for _, a := range previewNotes(rep.Preview, rep.Errors) {
		add(a)
	}
	chosen := choose(all, rep.MaxAnnotations())
	for _, c := range chosen {
		list = append(list, c.Annotation)
	}
	slices.SortStableFunc(list, func(a, b forge.Annotation) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), strings.Compare(a.Path, b.Path),
			cmp.Compare(a.StartLine, b.StartLine))
	})
	return list, len(all) - len(chosen)
}

// choose picks at most so many annotations: what blocks first, then by severity, what is new before what the base had,
// then by place; but of each policy one before any gets a second.
func choose(all []candidate, most int) []candidate {
	if len(all) <= most {
		return all
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		old := func(c candidate) int {
			if c.old {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), cmp.Compare(a.severity, b.severity),
			cmp.Compare(old(a), old(b)), strings.Compare(a.Path, b.Path), cmp.Compare(a.StartLine, b.StartLine),
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

// unannotated is the end of a summary that counts the annotations that are left out, "" for none. page is the web
// address of a page that has them; may be empty.
func unannotated(shown, left int, page string) string {
	if left == 0 {
		return ""
	}
	words := fmt.Sprintf("\n%s shown on the lines of the files, %d more would be: at most annotations.max in "+
		".lintel.yaml.", report.Count(shown, "annotation is", "annotations are"), left)
	if u, err := url.Parse(page); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		words += fmt.Sprintf(" <a href=\"%s\">All of them</a>", html.EscapeString(page))
	}
	return words + "\n"
}

func rank(level string) int {
	return slices.Index([]string{forge.LevelFailure, forge.LevelWarning, forge.LevelNotice}, level)
}

// levelOf is "" for a finding that needs nobody's attention.
func levelOf(f *report.Finding) string {
	switch {
	case f.Blocks:
		return forge.LevelFailure
	case f.Exemption != nil && f.Exemption.State == report.Pending:
		return forge.LevelWarning
	case f.Result == report.Skip:
		return ""
	case !f.New, f.Result == report.Warn && (f.Severity == "low" || f.Severity == "info"):
		return forge.LevelNotice
	}
	return forge.LevelWarning
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

func (n *note) annotation() forge.Annotation {
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
	return forge.Annotation{
		Path: n.path, StartLine: n.startLine, EndLine: n.endLine, StartColumn: n.startCol, EndColumn: n.endCol,
		Level: n.level, Title: titleOf(f),
		Message: strings.Join(lines, "\n"),
	}
}

// titleOf is "policy / rule", or the policy alone where it has no rules, or one of its own name.
func titleOf(f *report.Finding) string {
	if rule := report.RuleName(f.Rule); rule != "" && rule != f.Policy {
		return f.Policy + " / " + rule
	}
	return f.Policy
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

func problem(p report.Problem) forge.Annotation {
	line := max(p.Line, 1)
	a := forge.Annotation{Path: p.Path, StartLine: line, EndLine: line, Level: forge.LevelFailure,
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
