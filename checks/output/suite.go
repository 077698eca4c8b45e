package output

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/policytest"
	"github.com/lintel-bot/lintel/checks/report"
)

// SuiteJSON writes the report of "lintel test" for programs.
func SuiteJSON(w io.Writer, r *policytest.Report) error { return writeJSON(w, r) }

// SuiteText writes the report of "lintel test" for people: a table for each file, like the one of the kyverno
// command, then what kept tests from running, and what it comes to. Rows where nothing was compared are left out
// unless all is set; they are counted.
func SuiteText(w io.Writer, r *policytest.Report, all bool, o TextOptions) error {
	t := &text{report: &report.Report{}, width: max(o.Width, 80), paint: painter{color: o.Color}}
	id := 0
	for rows := r.Rows; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n].File == rows[0].File {
			n++
		}
		t.suiteTable(rows[:n], &id, all)
		rows = rows[n:]
	}
	for i := range r.Errors {
		t.problem("error", red, &r.Errors[i])
	}
	s := r.Summary
	tone := green
	if !r.OK() {
		tone = red
	}
	words := fmt.Sprintf("%d passed, %d failed, %d excluded (nothing was compared)", s.Passed, s.Failed, s.Excluded)
	if n := len(r.Errors); n > 0 {
		words += ", " + count(n, "error", "errors")
	}
	t.line(t.paint.with(tone).mark(words))
	t.line(t.paint.dim(count(s.Files, "test file", "test files")))
	_, err := io.WriteString(w, t.out.String())
	return err
}

// suiteTable writes the rows of one file.
func (t *text) suiteTable(rows []policytest.Row, id *int, all bool) {
	header := []string{"ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"}
	table := [][]string{header}
	var shown []*policytest.Row
	for i := range rows {
		row := &rows[i]
		*id++
		if row.Excluded && !all {
			continue
		}
		shown = append(shown, row)
		result, why := suiteResult(row)
		table = append(table, []string{fmt.Sprint(*id), line(row.Policy), line(row.Rule), line(suiteResource(row.Resource)), result, line(why)})
	}
	t.line(t.paint.bold(line(rows[0].File)))
	if len(shown) == 0 {
		t.line("  nothing was compared")
		t.blank()
		return
	}
	widths := make([]int, len(header))
	for _, cells := range table {
		for i, c := range cells {
			widths[i] = max(widths[i], textWidth(c))
		}
	}
	for n, cells := range table {
		var b strings.Builder
		for i, c := range cells {
			padded := c
			if i < len(cells)-1 {
				padded += strings.Repeat(" ", widths[i]-textWidth(c))
			}
			switch {
			case n == 0:
				padded = t.paint.bold(padded)
			case i == 4 && shown[n-1].OK:
				padded = t.paint.with(green).mark(padded)
			case i == 4 && !shown[n-1].Excluded:
				padded = t.paint.with(red).mark(padded)
			}
			b.WriteString("│ " + padded + " ")
		}
		t.line(b.String())
		if n == 0 {
			b.Reset()
			for _, width := range widths {
				b.WriteString("│" + strings.Repeat("─", width+2))
			}
			t.line(b.String())
		}
	}
	t.blank()
}

// suiteResult is the result of a row in the words of the table.
func suiteResult(r *policytest.Row) (result, reason string) {
	switch {
	case r.Excluded:
		return "Excluded", r.Reason
	case r.OK:
		return "Pass", "Ok"
	case r.Actual == "":
		return "Fail", r.Reason
	}
	return "Fail", fmt.Sprintf("Want %s, got %s: %s", r.Expected, r.Actual, r.Reason)
}

// suiteResource is an object as the table of the kyverno command names it.
func suiteResource(r report.Resource) string {
	parts := []string{r.APIVersion, r.Kind, r.Namespace, r.Name}
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "/")
}

// SuiteJUnit writes the report of "lintel test" as JUnit's XML: a suite for each file, a case for each row. Rows
// where nothing was compared are skipped, errors have a suite of their own.
func SuiteJUnit(w io.Writer, r *policytest.Report) error {
	all := &junitSuites{Name: "lintel test"}
	var last *junitSuite
	for i := range r.Rows {
		row := &r.Rows[i]
		if last == nil || last.Name != line(row.File) {
			last = &junitSuite{Name: line(row.File)}
			all.Suites = append(all.Suites, last)
		}
		c := junitCase{Name: line(strings.TrimSpace(row.Rule + " " + suiteResource(row.Resource))), Class: line(row.Policy), File: line(row.File)}
		_, why := suiteResult(row)
		switch {
		case row.Excluded:
			c.Skipped = &junitCause{Message: line(why)}
		case !row.OK:
			c.Failure = &junitCause{Message: line(why), Type: row.Actual, Text: lines(row.Reason)}
		}
		last.add(c)
	}
	if len(r.Errors) > 0 {
		last = &junitSuite{Name: "files"}
		all.Suites = append(all.Suites, last)
		for i := range r.Errors {
			p := &r.Errors[i]
			last.add(junitCase{Name: line(place(p.Path, p.Line, p.Column)), Class: "lintel", File: line(p.Path), Line: p.Line,
				Error: &junitCause{Message: line(p.Message), Type: "error", Text: lines(p.Message)}})
		}
	}
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
	_, err = io.WriteString(w, xml.Header+tameTags(string(data))+"\n")
	return err
}
