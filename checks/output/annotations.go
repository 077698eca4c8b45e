package output

import (
	"cmp"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// maxNames is how many resources or roots one annotation lists.
const maxNames = 20

// noted is what makes two findings one annotation.
type noted struct {
	path                                 string
	startLine, endLine, startCol, endCol int
	policy, rule, message                string
	level                                view.Level
}

// Annotation is a note on lines of a file of the head. Columns are those of GitHub, whose last one is inside.
type Annotation struct {
	Path                                       string
	StartLine, EndLine, StartColumn, EndColumn int
	Level                                      view.Level
	Title, Message                             string
}

// note is an annotation in the making.
type note struct {
	noted
	finding   report.Finding // the first at this place
	resources []string
	roots     []string
	listed    map[string]bool // what is in either; there can be thousands
}

// candidate is an annotation with what decides whether it is among those that are posted.
type candidate struct {
	Annotation
	group    string // the policy; what is no policy's is one group by its title
	severity int    // 0 is the worst
	old      bool
}

// Annotations turns the findings and problems of a report into annotations: failure for what blocks, notice
// for what the base had, too, and for what is audited with a low severity, warning for the rest. Only places in files
// of the head can carry one; the summary has the others. There are at most as many as the report says, chosen by
// choose; left is how many more there would be. The worst come first.
func Annotations(rep *report.Report) (list []Annotation, left int) {
	var all []candidate
	var notes []*note
	byPlace := map[noted]*note{}
	for _, f := range rep.Findings {
		level := view.LevelOf(&f)
		if level == view.Ignored || f.Origin == nil || f.Origin.Side != "" || f.Origin.Path == "" {
			continue
		}
		key := notedOf(&f, level)
		n := byPlace[key]
		if n == nil {
			n = &note{noted: key, finding: f, listed: map[string]bool{}}
			byPlace[key] = n
			notes = append(notes, n)
		}
		n.add(&f)
	}
	for _, n := range notes {
		all = append(all, candidate{n.annotation(), "policy " + n.finding.Policy, report.SeverityRank(n.finding.Severity),
			!n.finding.New})
	}
	add := func(a Annotation) { all = append(all, candidate{Annotation: a, group: a.Title}) }
	for _, p := range rep.Errors {
		// A problem in a file that the change leaves alone can be one of the base, where the lines differ.
		if p.Path == "" || !p.Changed {
			continue
		}
		add(ProblemAnnotation(p))
	}
	for _, n := range rep.NotChecked {
		if n.Changed {
			a := ProblemAnnotation(n.Problem())
			a.Level, a.Title = view.Warn, "Lintel: not checked"
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
	slices.SortStableFunc(list, func(a, b Annotation) int {
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

// Unannotated is the end of a summary that counts the annotations that are left out, "" for none. page is the web
// address of a page that has them; may be empty.
func Unannotated(shown, left int, page string) string {
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

func rank(level view.Level) int {
	return slices.Index([]view.Level{view.Failure, view.Warn, view.Notice}, level)
}

// notedOf gives columns only on one line, and lines that GitHub takes.
func notedOf(f *report.Finding, level view.Level) noted {
	o := f.Origin
	p := noted{path: o.Path, startLine: max(o.StartLine, 1), policy: f.Policy, rule: f.Rule, level: level,
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

func (n *note) annotation() Annotation {
	f := &n.finding
	lines := []string{view.Sentence(f), "", "What to do: " + view.ToDo(f)}
	if f.Expected != "" {
		lines = append(lines, "Expected: "+f.Expected)
	}
	if x := view.FixOf(f); x != nil {
		lines = append(append(lines, "", x.Words("Write")+":"), append(x.Rows, "")...)
	}
	if f.Field != "" {
		lines = append(lines, "Field: "+view.FieldName(f.Field))
	}
	lines = append(lines, names("Resource", n.resources))
	if len(n.roots) > 0 {
		lines = append(lines, names("Rendered by", n.roots))
	}
	if f.PolicyPath != "" {
		lines = append(lines, fmt.Sprintf("Policy: %s:%d", f.PolicyPath, max(f.PolicyLine, 1)))
	}
	return Annotation{
		Path: n.path, StartLine: n.startLine, EndLine: n.endLine, StartColumn: n.startCol, EndColumn: n.endCol,
		Level: n.level, Title: view.Title(f.Policy, f.Rule),
		Message: strings.Join(lines, "\n"),
	}
}

// ProblemAnnotation is the annotation of what could not be checked.
func ProblemAnnotation(p report.Problem) Annotation {
	line := max(p.Line, 1)
	a := Annotation{Path: p.Path, StartLine: line, EndLine: line, Level: view.Failure,
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

// previewNotes are the annotations of a preview: what becomes of a policy or an exception at its own line, and the
// failed rows of policy tests that the change itself leaves alone. Those of tests it edits are among the errors.
func previewNotes(p *report.Preview, errors []report.Problem) []Annotation {
	if p == nil {
		return nil
	}
	var list []Annotation
	for _, n := range p.Notices {
		a := ProblemAnnotation(n)
		a.Level, a.Title = view.Notice, "Preview"
		list = append(list, a)
	}
	if p.Tests == nil {
		return list
	}
	for _, e := range errors {
		if !e.Changed && slices.Contains(p.Tests.Files, e.Path) {
			a := ProblemAnnotation(e)
			a.Title = "Policy test"
			list = append(list, a)
		}
	}
	return list
}
