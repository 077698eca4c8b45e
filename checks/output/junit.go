package output

import (
	"cmp"
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suites []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	File    string      `xml:"file,attr,omitempty"`
	Line    int         `xml:"line,attr,omitempty"`
	Failure *junitCause `xml:"failure"`
	Error   *junitCause `xml:"error"`
	Skipped *junitCause `xml:"skipped"`
	Output  string      `xml:"system-out,omitempty"`
}

type junitCause struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// checkJUnit writes the report as JUnit's XML: a suite for each policy, a case for each finding, and one suite for the
// check itself. Blocking findings are failures, and errors are errors. Findings are skipped if an exception covers
// them, the base has them, or the cluster is needed. An audited violation passes, with its message as output.
func checkJUnit(w io.Writer, r *report.Report, _ Options) error {
	all := newJUnit("lintel")
	check := all.suite("lintel")
	for _, p := range r.Errors {
		check.add(junitProblem(cmp.Or(view.KnownPlace(p.Path, p.Line, p.Column), "check"), p))
	}
	for _, p := range view.NotChecked(r.NotChecked, r.Causes) {
		check.add(junitCase{Name: Line(view.Place(p.Path, p.Line, 0)), Class: "lintel", File: Line(p.Path), Line: p.Line,
			Skipped: &junitCause{Message: Line(p.Message)}})
	}
	if len(r.Errors) == 0 {
		check.add(junitCase{Name: "check", Class: "lintel", Output: Line(view.Work(r))})
	}
	for _, findings := range report.Grouped[view.Entry](view.ByPlace(r.Findings), func(f *report.Finding) string { return f.Policy }) {
		s := all.suite(findings[0].Policy)
		for _, f := range findings {
			s.add(junitFinding(f))
		}
	}
	slices.SortStableFunc(all.Suites[1:], func(a, b *junitSuite) int { return strings.Compare(a.Name, b.Name) })
	return all.write(w)
}

func newJUnit(name string) *junitSuites { return &junitSuites{junitCounts: junitCounts{Name: name}} }

func (all *junitSuites) suite(name string) *junitSuite {
	s := &junitSuite{junitCounts: junitCounts{Name: Line(name)}}
	all.Suites = append(all.Suites, s)
	return s
}

func (all *junitSuites) write(w io.Writer) error {
	for _, s := range all.Suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	// Line breaks in texts are written as references, so that no text begins a line.
	_, err = io.WriteString(w, xml.Header+tameTags(string(data))+"\n")
	return err
}

func junitProblem(name string, p report.Problem) junitCase {
	return junitCase{Name: Line(name), Class: "lintel", File: Line(p.Path), Line: p.Line,
		Error: &junitCause{Message: Line(p.Message), Type: string(report.Error), Text: lines(p.Message)}}
}

func junitFinding(f *report.Finding) junitCase {
	name := strings.TrimSpace(view.RuleName(f.Rule) + " " + f.Resource.String() + " " +
		view.FieldName(f.Field))
	o := view.OriginOf(f)
	c := junitCase{Name: Line(name), Class: Line(f.Policy), File: Line(o.Path), Line: o.StartLine}
	text := view.PlaceOf(f.Origin) + "\n" + view.Sentence(f) + details(f, strings.ToLower)
	cause := &junitCause{Message: Line(view.Sentence(f)), Type: string(f.Result), Text: lines(text)}
	if m := view.Mark(f); m != "" {
		cause.Message = m + ": " + cause.Message
	}
	switch s := view.StateOf(f); {
	case s == view.Excepted || s == view.Before || !f.Blocks && (f.Result == report.Unknown || f.Result == report.Error):
		cause.Type = ""
		c.Skipped = cause
	case f.Result == report.Error:
		c.Error = cause
	case view.LevelOf(f) == view.Failure:
		c.Failure = cause
	default:
		c.Output = cause.Text
	}
	return c
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// testJUnit writes the results of policy tests as JUnit's XML: a suite for each file, a case for each row, and one
// suite for errors. Rows without a comparison are skipped.
func testJUnit(w io.Writer, r *report.TestRun, _ Options) error {
	all := newJUnit("lintel test")
	var last *junitSuite
	for _, row := range r.Rows {
		if last == nil || last.Name != Line(row.File) {
			last = all.suite(row.File)
		}
		name := strings.TrimSpace(row.Rule + " " + qualifiedName(row.Resource))
		c := junitCase{Name: Line(name), Class: Line(row.Policy), File: Line(row.File)}
		_, why := rowResult(&row)
		switch {
		case row.Excluded:
			c.Skipped = &junitCause{Message: Line(why)}
		case !row.OK:
			c.Failure = &junitCause{Message: Line(why), Type: string(row.Actual), Text: lines(row.Reason)}
		}
		last.add(c)
	}
	if len(r.Errors) > 0 {
		last = all.suite("files")
		for _, p := range r.Errors {
			last.add(junitProblem(view.Place(p.Path, p.Line, p.Column), p))
		}
	}
	return all.write(w)
}
