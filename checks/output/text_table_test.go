package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// A table fits the terminal for any cells, without losing text.
func TestTableFits(t *testing.T) {
	long := report.TestRow{File: "f", Policy: strings.Repeat("disallow-", 9) + "x", Rule: strings.Repeat("autogen", 12),
		Resource: report.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: strings.Repeat("n", 63),
			Name: strings.Repeat("界", 40)}, Expected: report.Pass, Actual: report.Fail, Reason: strings.Repeat("because ", 40)}
	for _, width := range []int{0, 60, 80, 200} {
		r := &report.TestRun{Rows: []report.TestRow{long, {File: "f", OK: true}, {File: "f", Excluded: true, Reason: "nothing"}}}
		var out strings.Builder
		if err := testText(&out, r, Options{Width: width, Rows: AllRows}); err != nil {
			t.Fatal(err)
		}
		limit := width
		if limit == 0 {
			limit = 80
		}
		columns := make([]string, 5)
		for row := range strings.Lines(out.String()) {
			row = strings.TrimSuffix(row, "\n")
			if n := textWidth(row); n > limit {
				t.Errorf("width %d: a row of %d columns: %s", width, n, row)
			}
			cells := strings.Split(row, "│")
			for i := 1; len(cells) == 6 && i < 6; i++ {
				columns[i-1] += strings.TrimSpace(cells[i])
			}
		}
		for i, want := range []string{long.Policy, long.Rule, qualifiedName(long.Resource)} {
			if !strings.Contains(columns[i+1], want) {
				t.Errorf("width %d: %q is not in %q", width, want, columns[i+1])
			}
		}
	}
}

// If there are many rows, only failed ones are shown, and the others counted, unless all are requested.
func TestManyRows(t *testing.T) {
	for _, c := range []struct {
		rows   int
		show   Rows
		passed int
	}{{20, "", 19}, {21, "", 0}, {21, AllRows, 20}, {3, FailedRows, 0}} {
		r := &report.TestRun{}
		for i := range c.rows {
			r.Rows = append(r.Rows, report.TestRow{File: "f", Policy: "p", OK: i > 0})
			r.Summary.Count(&r.Rows[i])
		}
		var out strings.Builder
		if err := testText(&out, r, Options{Rows: c.show}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "│ Pass"); n != c.passed || strings.Count(out.String(), "│ Fail") != 1 {
			t.Errorf("%+v: %d rows that passed:\n%s", c, n, out.String())
		}
		if hidden := c.rows - 1 - c.passed; (hidden > 0) != strings.Contains(out.String(), fmt.Sprintf("%d rows that passed are", hidden)) {
			t.Errorf("%+v:\n%s", c, out.String())
		}
	}
}
