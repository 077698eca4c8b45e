package output

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
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

// What changes in clusters takes more lines in a short text than in a long one, and what is left out is counted.
func TestClustersTakeFewLines(t *testing.T) {
	r := &report.Report{}
	for i := range 14 {
		r.RootChanges = append(r.RootChanges, report.RootChange{Root: strings.Repeat("clusters/production/", 6) + string(rune('a'+i)), Added: i + 1})
	}
	long := &report.Report{RootChanges: r.RootChanges}
	for i := range 60 {
		long.Errors = append(long.Errors, report.Problem{Message: fmt.Sprint("error ", i)})
	}
	for _, c := range []struct {
		name       string
		report     *report.Report
		o          Options
		rows, left int
	}{
		{"short", r, Options{}, 10, 4}, {"long", long, Options{}, 3, 11}, {"wide", long, Options{Width: 200}, 10, 4},
		{"narrow", long, Options{Width: 44}, 1, 13}, {"all", long, Options{AllPlaces: true}, 14, 0},
	} {
		var out strings.Builder
		if err := checkText(&out, c.report, c.o); err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(out.String(), view.ClusterChangesTitle)
		rows := regexp.MustCompile(`│ +[0-9]+ +│`).FindAllString(table, -1)
		if said := strings.Contains(table, fmt.Sprintf("\nand %d more rows; --all-places lists them\n", c.left)); len(rows) != c.rows ||
			said != (c.left > 0) {
			t.Errorf("%s: %d rows, the others counted: %t\n%s", c.name, len(rows), said, table)
		}
	}
}

// Of many groups of causes, each names fewer of what depends on it.
func TestManyCausesNameFew(t *testing.T) {
	for n, named := range map[int]int{manyCauses: fewCauses, manyCauses + 1: 1} {
		r := &report.Report{}
		for i := range n {
			for k := range 9 {
				r.NotChecked = append(r.NotChecked, report.NotChecked{Root: fmt.Sprintf("root-%d-%d", i, k), Path: fmt.Sprintf("%d.yaml", k),
					Reason: fmt.Sprint("reason ", i)})
			}
		}
		var out strings.Builder
		if err := checkText(&out, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if got, more := strings.Count(out.String(), "root-0-"), fmt.Sprintf("and %d more; --all-places", 8-named); got != 1+named ||
			strings.Count(out.String(), more) != n {
			t.Errorf("%d causes: %d roots are named\n%s", n, got, out.String())
		}
	}
}
