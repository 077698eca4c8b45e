package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// testText writes the outcome of policy tests for people: a table for each file, like the one of the kyverno command,
// then what kept tests from running, and what it comes to. Rows where nothing was compared are left out unless all are
// asked for; they are counted.
func testText(w io.Writer, r *report.TestRun, o Options) error {
	t := newText(&report.Report{}, o)
	t.width = max(o.Width, 80)
	id := 0
	for rows := r.Rows; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n].File == rows[0].File {
			n++
		}
		t.testTable(rows[:n], &id, o.All)
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
		words += ", " + report.Count(n, "error", "errors")
	}
	t.line(t.paint.with(tone).mark(words))
	t.line(t.paint.dim(report.Count(s.Files, "test file", "test files")))
	_, err := io.WriteString(w, t.out.String())
	return err
}

// testTable writes the rows of one file.
func (t *text) testTable(rows []report.TestRow, id *int, all bool) {
	header := []string{"ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"}
	table := [][]string{header}
	var shown []*report.TestRow
	for i := range rows {
		row := &rows[i]
		*id++
		if row.Excluded && !all {
			continue
		}
		shown = append(shown, row)
		result, why := rowResult(row)
		table = append(table, []string{fmt.Sprint(*id), line(row.Policy), line(row.Rule),
			line(qualifiedName(row.Resource)), result, line(why)})
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
		for i, padded := range cells {
			if i < len(cells)-1 {
				padded += strings.Repeat(" ", widths[i]-textWidth(padded))
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

// rowResult is the result of a row in the words of the table.
func rowResult(r *report.TestRow) (result, reason string) {
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

// qualifiedName is an object as the table of the kyverno command names it: what is known of apiVersion, kind,
// namespace and name.
func qualifiedName(r report.Resource) string {
	parts := []string{r.APIVersion, r.Kind, r.Namespace, r.Name}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}
