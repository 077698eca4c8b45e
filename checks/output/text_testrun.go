package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// manyRows is the number of rows above which only failed rows are shown by default.
const manyRows = 20

// testText writes the results of policy tests for people: a table for each file, like that of the kyverno command, then
// the errors and the totals. Omitted rows are counted.
func testText(w io.Writer, r *report.TestRun, o Options) error {
	t := newText(&report.Report{}, o)
	if o.Rows == "" && r.Summary.Checked > manyRows {
		o.Rows = FailedRows
	}
	id, hidden := 0, 0
	for rows := r.Rows; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n].File == rows[0].File {
			n++
		}
		hidden += t.testTable(rows[:n], &id, o)
		rows = rows[n:]
	}
	t.problems("error", red, r.Errors)
	if hidden > 0 {
		t.rows("", report.Count(hidden, "row that passed is", "rows that passed are")+" not shown; --all shows all")
	}
	t.coverage(r.Coverage)
	s := r.Summary
	tone := green
	if !r.OK() {
		tone = red
	}
	words := fmt.Sprintf("%d passed, %d failed, %d excluded (nothing was compared)", s.Passed, s.Failed, s.Excluded)
	if n := len(r.Errors); n > 0 {
		words += ", " + report.Count(n, "error", "errors")
	}
	t.painted("", words, t.paint.with(tone).mark)
	t.line(t.paint.dim(report.Count(s.Files, "test file", "test files")))
	return t.write(w)
}

// coverage writes the rules that rows cover only partly, and counts the others.
func (t *text) coverage(list []report.RuleCoverage) {
	if len(list) == 0 {
		return
	}
	reached, failing := 0, 0
	for _, c := range list {
		if c.Reached() {
			reached++
		}
		if c.Fails() {
			failing++
		}
		if gap := c.Gap(); gap != "" {
			t.head(t.paint.with(yellow), Line(view.Place(c.Path, c.Line, 0)), Line(gap), Line(view.Title(c.Policy, c.Rule)))
		}
	}
	if failing < len(list) {
		t.blank()
	}
	t.rows("", fmt.Sprintf("coverage: test rows reach %d of %s, and %d of these fail or change something in a row", reached,
		report.Count(len(list), "rule", "rules"), failing))
}

// testTable writes the rows of one file, and returns the number of omitted passed rows.
func (t *text) testTable(rows []report.TestRow, id *int, o Options) (hidden int) {
	var table []tableRow
	for _, row := range rows {
		*id++
		switch {
		case row.Excluded && o.Rows != AllRows:
			continue
		case row.OK && o.Rows == FailedRows:
			hidden++
			continue
		}
		result, why := rowResult(&row)
		out := tableRow{cells: []string{fmt.Sprint(*id), row.Policy, row.Rule, qualifiedName(row.Resource), result}}
		switch {
		case row.OK:
			out.tone = green
		case !row.Excluded:
			out.tone = red
		}
		if !row.OK {
			out.note = why
		} else if o.Messages {
			out.note = row.Reason
		}
		table = append(table, out)
	}
	if len(table) == 0 && o.Rows == FailedRows {
		return hidden
	}
	t.line(t.paint.bold(Line(rows[0].File)))
	if len(table) == 0 {
		t.line("  nothing was compared")
	} else {
		t.table([]string{"ID", "POLICY", "RULE", "RESOURCE", "RESULT"}, table)
	}
	t.blank()
	return hidden
}

// rowResult returns the result of a row in the words of the table.
func rowResult(r *report.TestRow) (result, reason string) {
	switch {
	case r.Excluded:
		return "Excluded", r.Reason
	case r.OK:
		return "Pass", ""
	case r.Actual == "":
		return "Fail", r.Reason
	}
	return "Fail", fmt.Sprintf("Want %s, got %s: %s", r.Expected, r.Actual, r.Reason)
}

// qualifiedName returns the name of an object as in the table of the kyverno command: the known parts of apiVersion,
// kind, namespace and name.
func qualifiedName(r report.Resource) string {
	return strings.Join(report.Filled(r.APIVersion, r.Kind, r.Namespace, r.Name), "/")
}
