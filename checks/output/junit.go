package output

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Skipped  int           `xml:"skipped,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
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

// JUnit writes the report as JUnit's XML: a suite for each policy, a case for each finding, and one suite
// for the check itself. What blocks is a failure, what could not be done an error; what does not block
// because an exception covers it, the base had it or the cluster is needed is skipped; an audited
// violation passes with its message as output.
func JUnit(w io.Writer, r *report.Report) error {
	check := &junitSuite{Name: "lintel"}
	for i := range r.Errors {
		p := &r.Errors[i]
		name := "check"
		if p.Path != "" {
			name = place(p.Path, p.Line, p.Column)
		}
		check.add(junitCase{Name: line(name), Class: "lintel", File: line(p.Path), Line: p.Line,
			Error: &junitCause{Message: line(p.Message), Type: "error", Text: lines(p.Message)}})
	}
	if len(r.Errors) == 0 {
		check.add(junitCase{Name: "check", Class: "lintel", Output: line(work(r.Stats))})
	}
	all := &junitSuites{Name: "lintel", Suites: []*junitSuite{check}}
	suites := map[string]*junitSuite{}
	for _, f := range byPlace(r.Findings) {
		s := suites[f.Policy]
		if s == nil {
			s = &junitSuite{Name: line(f.Policy)}
			suites[f.Policy] = s
			all.Suites = append(all.Suites, s)
		}
		s.add(junitFinding(f))
	}
	slices.SortStableFunc(all.Suites[1:], func(a, b *junitSuite) int { return strings.Compare(a.Name, b.Name) })
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
	// Line ends of texts are written as references, so no text begins a line.
	_, err = io.WriteString(w, xml.Header+tameTags(string(data))+"\n")
	return err
}

func junitFinding(f *report.Finding) junitCase {
	name := strings.TrimSpace(f.Rule + " " + resourceName(f.Resource) + " " + f.Field)
	c := junitCase{Name: line(name), Class: line(f.Policy)}
	if f.Origin != nil {
		c.File, c.Line = line(f.Origin.Path), f.Origin.StartLine
	}
	cause := &junitCause{Message: line(f.Message), Type: string(f.Result), Text: lines(placeOf(f) + "\n" + f.Message)}
	if m := mark(f); m != "" {
		cause.Message = m + ": " + cause.Message
	}
	switch s := standingOf(f); {
	case s == excepted || s == before || f.Result == report.Unknown && !f.Blocks:
		cause.Type = ""
		c.Skipped = cause
	case f.Result == report.Error:
		c.Error = cause
	case s == blocking || s == pending:
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
