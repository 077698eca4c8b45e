package pages

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/page"
	"github.com/lintel-bot/lintel/checks/report"
)

// chartBars is how many reports a chart shows.
const chartBars, sparkBars = 60, 30

// Repository implements results.Renderer.
func (Renderer) Repository(w io.Writer, o *results.Overview, v results.View) error {
	out := &page.Overview{
		Frame:   frame(v, page.Link{Text: o.Repository.String(), Address: strings.TrimRight(o.GitHub, "/") + "/" + o.Repository.String()}),
		Heading: o.Repository.String(), Chart: chart(o, chartBars, v),
	}
	if len(o.Branch) > 0 {
		newest := o.Branch[0]
		out.Policies = policyRows(o.Branch[min(len(o.Branch), chartBars)-1], newest)
		blob := page.Blob(strings.TrimRight(o.GitHub, "/")+"/"+o.Repository.String(), newest.Head)
		for _, e := range o.Exceptions {
			row := page.ExceptionRow{Name: e.Name, Where: place(blob, e.Path, e.Line)}
			if !e.Expires.IsZero() {
				row.Ends = e.Expires.UTC().Format("2 January 2006")
			}
			switch {
			case e.Expired:
				row.Words = "it covers nothing any more"
			case e.Unused:
				row.Words = "nothing needs it"
			case e.Covers > 0:
				row.Words = "covers " + report.Count(e.Covers, "finding", "findings")
			}
			out.Exceptions = append(out.Exceptions, row)
		}
		for _, n := range o.NotChecked {
			out.NotChecked = append(out.NotChecked, page.Note{Where: place(blob, n.Path, n.Line), Text: output.Visible(n.Problem().Message)})
		}
		if o.MoreNotChecked > 0 {
			out.NotChecked = append(out.NotChecked, page.Note{Text: fmt.Sprintf("and %d more", o.MoreNotChecked)})
		}
	}
	for i := range o.Pulls {
		e := &o.Pulls[i]
		name := page.Link{Text: fmt.Sprintf("#%d %s", e.Pull, output.Visible(e.Name)),
			Address: strings.TrimRight(o.GitHub, "/") + "/" + o.Repository.String() + fmt.Sprintf("/pull/%d", e.Pull)}
		out.Results = append(out.Results, result(e, o.Repository, name, v))
	}
	return page.WriteOverview(w, out)
}

// Organisation implements results.Renderer.
func (Renderer) Organisation(w io.Writer, owner string, repositories []*results.Overview, v results.View) error {
	out := &page.Overview{Frame: frame(v, page.Link{Text: owner}), Heading: owner}
	for _, o := range repositories {
		name := page.Link{Text: o.Repository.String(), Address: v.Base + results.RepositoryPath(o.Repository)}
		var row page.ResultRow
		switch {
		case len(o.Branch) > 0:
			row = result(&o.Branch[0], o.Repository, name, v)
		case len(o.Pulls) > 0:
			row = result(&o.Pulls[0], o.Repository, name, v)
		default:
			row.Name = name
		}
		row.Chart = chart(o, sparkBars, v)
		out.Repositories = append(out.Repositories, row)
	}
	return page.WriteOverview(w, out)
}

func place(blob func(string, int) string, file string, line int) page.Link {
	if file == "" {
		return page.Link{}
	}
	l := page.Link{Text: output.Visible(file), Address: blob(file, line)}
	if line > 0 {
		l.Text += fmt.Sprintf(":%d", line)
	}
	return l
}

func result(e *results.Entry, r results.Repository, name page.Link, v results.View) page.ResultRow {
	return page.ResultRow{Name: name, State: string(e.Conclusion), When: e.Completed.UTC().Format("2006-01-02 15:04"),
		Page: page.Link{Text: output.Visible(e.Title), Address: v.Base + e.Path(r)}}
}

// chartPolicies is how many policies have a color of their own.
const chartPolicies = 5

// chart are the violations of the default branch by policy, the oldest report first; nil where there are none to draw.
func chart(o *results.Overview, bars int, v results.View) *page.Chart {
	if len(o.Branch) == 0 {
		return nil
	}
	shown := o.Branch[:min(len(o.Branch), bars)]
	index := map[string]int{}
	c := &page.Chart{Title: "Violations of the default branch by policy"}
	for _, of := range shown[0].Violations[:min(len(shown[0].Violations), chartPolicies)] {
		index[of.Policy] = len(c.Legend)
		c.Legend = append(c.Legend, output.Visible(of.Policy))
	}
	c.Legend = append(c.Legend, "others")
	for i := range slices.Backward(shown) {
		e := &shown[i]
		bar := page.Bar{When: e.Completed.UTC().Format("2006-01-02 15:04"), Link: v.Base + e.Path(o.Repository),
			Parts: make([]int, len(c.Legend))}
		rest := e.Total
		for _, of := range e.Violations {
			if k, ok := index[of.Policy]; ok {
				bar.Parts[k] += of.Count
				rest -= of.Count
			}
		}
		bar.Parts[len(c.Legend)-1] = max(0, rest)
		c.Bars = append(c.Bars, bar)
	}
	return c
}

// policyRows compares the violations of the newest report with those of the first one that is drawn.
func policyRows(first, newest results.Entry) (rows []page.PolicyRow) {
	before := map[string]int{}
	for _, v := range first.Violations {
		before[v.Policy] = v.Count
	}
	for _, v := range newest.Violations {
		rows = append(rows, page.PolicyRow{Policy: output.Visible(v.Policy), Violations: v.Count, Fewer: before[v.Policy] - v.Count})
	}
	return rows
}
