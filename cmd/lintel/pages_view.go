package main

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/lintel-bot/lintel/bot/access"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/page"
	"github.com/lintel-bot/lintel/checks/report"
)

// pageView is a results.Renderer: stored results as the pages of package page.
type pageView struct{}

// frame is what is around a page.
func frame(v results.View, name page.Link) page.Frame {
	f := page.Frame{Name: name, Static: v.Base + "/static/"}
	if v.SignedIn {
		f.SignOut = v.Base + access.SignOutPath
	}
	return f
}

// Result implements results.Renderer.
func (pageView) Result(w io.Writer, r *results.Stored, v results.View) error {
	name := page.Link{Text: r.Repository.String(), Address: r.RepositoryURL()}
	detail := r.Branch
	switch {
	case r.Pull != nil:
		name = page.Link{Text: fmt.Sprintf("%s #%d", r.Repository, r.Pull.Number), Address: r.PullURL()}
		detail = r.Pull.Title + " by " + r.Pull.Author
	case r.Group != "":
		detail = "a merge queue's group for " + r.Group
	}
	if r.Report == nil {
		return writeMessage(w, frame(v, name), "This result cannot be shown any more",
			"It was made by another version of Lintel, or its report is gone: re-run the check on GitHub to have a new one.")
	}
	p := output.Page(r.Report, output.PageOptions{Name: name, Detail: detail, Facts: resultFacts(r, v), Command: r.Command,
		BlobURL: page.Blob(r.RepositoryURL(), r.Head), PolicyURL: page.Blob(r.RepositoryURL(), r.Rules),
		BaseURL: page.Blob(r.RepositoryURL(), r.Base), Button: r.Pull != nil})
	around := frame(v, p.Name)
	around.Detail = p.Detail
	p.Frame = around
	switch {
	case r.TooLarge:
		p.More = append(p.More, "The report was too large to be kept: only its totals are here. The command below shows all of it.")
	case len(r.LeftOut) > 0:
		p.More = append(p.More, "Of this report was too large to be kept: "+strings.Join(r.LeftOut, ", ")+
			". The command below shows all of it.")
	case r.Outdated:
		p.More = append(p.More, "This result was made by another version of Lintel: re-run the check on GitHub for all that "+
			"this one would say.")
	}
	return page.Write(w, p)
}

// resultFacts are what a result knows beside its report.
func resultFacts(r *results.Stored, v results.View) (facts []page.Fact) {
	add := func(label string, items ...page.Link) {
		if len(items) > 0 && items[0].Text != "" {
			facts = append(facts, page.Fact{Label: label, Items: items})
		}
	}
	commit := func(id string) page.Link {
		l := page.Link{Text: id[:min(len(id), 10)]}
		if id != "" {
			l.Address = r.RepositoryURL() + "/commit/" + id
		}
		return l
	}
	add("Repository", page.Link{Text: r.Repository.String(), Address: v.Base + results.RepositoryPath(r.Repository)})
	add("Head", commit(r.Head))
	add("Base", commit(r.Base))
	add("Rules", commit(r.Rules))
	when := r.Completed.UTC().Format("2 January 2006 15:04 UTC")
	if took := r.Completed.Sub(r.Started); !r.Started.IsZero() && took >= 0 {
		when += ", in " + took.Round(time.Second/10).String()
	}
	add("Checked", page.Link{Text: when, Address: r.CheckRunURL()})
	var others []page.Link
	for _, m := range v.Others {
		if m.ID != r.ID {
			others = append(others, page.Link{Text: m.Completed.UTC().Format("2 January 15:04"), Address: v.Base + m.Path()})
		}
	}
	add("Other results of this commit", others...)
	return facts
}

// Part implements results.Renderer.
func (pageView) Part(io.Writer, *results.Stored, string, results.View) error { return results.ErrNone }

// chartBars is how many reports a chart shows.
const chartBars, sparkBars = 60, 30

// Repository implements results.Renderer.
func (pageView) Repository(w io.Writer, o *results.Overview, v results.View) error {
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
func (pageView) Organisation(w io.Writer, owner string, repositories []*results.Overview, v results.View) error {
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

// Message implements results.Renderer.
func (pageView) Message(w io.Writer, m results.Message, v results.View) error {
	return writeMessage(w, frame(v, page.Link{}), m.Title, m.Text)
}

func writeMessage(w io.Writer, f page.Frame, title, text string) error {
	return page.Write(w, &page.Page{Frame: f, State: string(report.Neutral), Verdict: title, Counts: text})
}

// Assets implements results.Renderer.
func (pageView) Assets() fs.FS {
	files := fstest.MapFS{} // a file system in memory; that is all that is used of the package
	for _, a := range page.Assets() {
		files[path.Clean(a.Name)] = &fstest.MapFile{Data: a.Data, Mode: 0o444}
	}
	return files
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
