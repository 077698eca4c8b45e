package output

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Overview is a page about a repository, or about the repositories of an organisation.
type Overview struct {
	Frame
	Heading          string
	Facts            []Fact
	Chart            *Chart // nil: there is no report
	Policies         []PolicyRow
	Since            string      // time of the report that PolicyRow.Change compares with; empty: there is none
	Reports          []ResultRow // of the default branch, the newest first
	Exceptions       []ExceptionRow
	MoreExceptions   int // number of exceptions that Exceptions omits
	NotChecked       []Note
	Results          []ResultRow // of pull requests, the newest first
	FleetPreviews    []ResultRow // what pull requests would change in other repositories, the newest first
	Repositories     []RepositoryRow
	MoreRepositories bool // there are more repositories than listed
}

// PolicyRow contains the number of violations of a policy.
type PolicyRow struct {
	Policy, Severity string // Severity may be empty
	Violations       int
	Change           string // difference to the report of Overview.Since; empty: unknown
}

// More reports whether the policy has more violations than before, Fewer whether it has fewer.
func (r PolicyRow) More() bool  { return strings.HasPrefix(r.Change, "+") }
func (r PolicyRow) Fewer() bool { return strings.HasPrefix(r.Change, "−") }

// ExceptionRow is a merged exception.
type ExceptionRow struct {
	Name  string
	Where Link
	Ends  string // in words
	Words string // what it covers, or why it needs attention
	Look  bool   // it needs attention
}

// RepositoryRow is a repository with the newest report of its default branch.
type RepositoryRow struct {
	ResultRow
	Known                bool // such a report exists; otherwise, the result is one of a pull request
	Violations, Blocking int
}

// ResultRow is a check with its page.
type ResultRow struct {
	Name   Link   // what was checked
	Detail string // further details
	State  string
	Page   Link // its verdict
	When   string
	Chart  *Chart // nil: there is nothing to draw
}

// Write writes the page. It returns the error of w, or an error of a template.
func (o *Overview) Write(w io.Writer) error {
	return execute(w, "overview.html", struct {
		*Overview
		common
	}{o, o.Frame.common(o.Heading)}, nil)
}

// Chart is a bar chart over time, with stacked parts.
type Chart struct {
	Title  string // what the chart shows
	Words  string // description for readers who do not see the chart
	Legend []string
	Bars   []Bar // the oldest first
}

// Bar is one time.
type Bar struct {
	When  string
	Parts []int // by the index of the legend
}

// The size of a chart in units of its drawing.
const (
	chartWidth, chartHeight = 720, 120
	chartSeries             = 6 // colors that the styles have
)

// ChartPart is a part of a bar, with its position in the drawing.
type ChartPart struct {
	X, Y, Width, Height string
	Class, Title        string
}

// Drawn returns the parts to draw, scaled by the largest bar.
func (c *Chart) Drawn() (list []ChartPart) {
	most := c.Most()
	if most == 0 || len(c.Bars) == 0 {
		return nil
	}
	step := float64(chartWidth) / float64(max(len(c.Bars), 20))
	for i, bar := range c.Bars {
		y := float64(chartHeight)
		for k, n := range bar.Parts {
			if n <= 0 || k >= len(c.Legend) {
				continue
			}
			height := float64(n) * (chartHeight - 4) / float64(most)
			y -= height
			list = append(list, ChartPart{X: fmt.Sprintf("%.1f", float64(i)*step), Y: fmt.Sprintf("%.1f", y),
				Width: fmt.Sprintf("%.1f", step*0.85), Height: fmt.Sprintf("%.1f", height),
				Class: fmt.Sprint("s", min(k, chartSeries-1)), Title: fmt.Sprintf("%s: %s %d", bar.When, c.Legend[k], n)})
		}
	}
	return list
}

// Numbers returns the bars as rows of a table, the newest first.
func (c *Chart) Numbers() []Bar {
	rows := slices.Clone(c.Bars)
	slices.Reverse(rows)
	return rows
}

// Most returns the height of the largest bar.
func (c *Chart) Most() (most int) {
	for _, bar := range c.Bars {
		most = max(most, bar.Sum())
	}
	return most
}

// Sum returns the height of a bar.
func (b Bar) Sum() (sum int) {
	for _, n := range b.Parts {
		sum += max(0, n)
	}
	return sum
}

// Size returns the drawing's view box.
func (c *Chart) Size() string { return fmt.Sprintf("0 0 %d %d", chartWidth, chartHeight) }

// Series returns the style class for the color of a part of the legend.
func (c *Chart) Series(i int) string { return fmt.Sprint("s", min(i, chartSeries-1)) }
