package results

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// HTML is a results.Renderer: it renders the pages with package output.
type HTML struct {
	SignIn bool // readers can sign in
}

// frame returns the header of a page: its name, links, and the controls to sign in and out.
func (of HTML) frame(v View, name output.Link) output.Frame {
	f := output.Frame{Name: name, Static: v.Base + "/static/"}
	switch {
	case v.SignedIn:
		f.SignOut = v.Base + signOutPath
	case of.SignIn && v.Here != "":
		f.SignIn = v.Base + signInPath(v.Here)
	}
	return f
}

// Result implements results.Renderer.
func (of HTML) Result(w io.Writer, r *Stored, v View) error {
	if r.Report == nil {
		name, _ := titles(r)
		return writeMessage(w, of.frame(v, name), "This result can no longer be shown",
			"It was created by another version of Lintel, or its report was removed: re-run the check on GitHub for "+
				"a new one.")
	}
	return of.whole(r, v).Write(w)
}

// titles returns the name of the pull request, branch or merge group that a result is about, with a detail.
func titles(r *Stored) (name output.Link, detail string) {
	name = output.Link{Text: r.Repository.String(), Address: r.RepositoryURL()}
	detail = r.Branch
	switch {
	case r.Pull != nil:
		name = output.Link{Text: fmt.Sprintf("%s #%d", r.Repository, r.Pull.Number), Address: r.PullURL()}
		detail = r.Pull.Title + " · by " + r.Pull.Author
		if r.Pull.Nameless {
			detail += " · " + Nameless
		}
	case r.Of != nil:
		detail = "what " + r.Of.String() + " would change here"
	case r.Group != "":
		detail = "a merge queue's group for " + r.Group
	}
	return name, detail
}

// whole returns the page of a result that has a report.
func (of HTML) whole(r *Stored, v View) *output.Page {
	name, detail := titles(r)
	drafts := ""
	if r.Command != "" {
		drafts = r.Command + " --draft-exceptions -"
	}
	p := output.PageOf(r.Report.Withhold(v.Withheld), output.PageOptions{Name: name, Detail: detail, Facts: resultFacts(r, v),
		Command: r.Command, BlobURL: output.Blob(r.RepositoryURL(), r.Head), PolicyURL: output.Blob(r.RepositoryURL(), r.Rules),
		BaseURL: output.Blob(r.RepositoryURL(), r.Base), Button: r.Pull != nil, Drafts: drafts})
	around := of.frame(v, p.Name)
	around.Detail, around.Parts = p.Detail, v.Here+"/"
	p.Frame = around
	p.Notices = notices(r, v)
	return p
}

// notices returns sentences about what the page of a result lacks.
func notices(r *Stored, v View) (list []string) {
	switch {
	case r.TooLarge:
		list = append(list, "The report was too large to store: this page has only its totals. The command below "+
			"prints the whole report.")
	case len(r.LeftOut) > 0:
		lacks := report.Mapped(r.LeftOut, func(field string) string { return cmp.Or(leftOut[field], "details") })
		lacks = report.Union(nil, lacks)
		list = append(list, "These parts of the report were too large to store: "+strings.Join(lacks, ", ")+
			". The command below prints the whole report.")
	}
	if r.Outdated {
		list = append(list, "This result was created by another version of Lintel: re-run the check on GitHub for a "+
			"complete one.")
	}
	if len(v.Withheld) > 0 {
		list = append(list, "Lines of "+output.Line(strings.Join(v.Withheld, ", "))+
			" are shown only to those who may read it.")
	}
	return list
}

// leftOut describes, for each field of a report that may be left out, what it contains.
var leftOut = map[string]string{"differences": "the rendered differences", "images": "the changes of images",
	"bumps": "what other versions change", "preview": "the preview of the rules", "excerpts": "the source lines"}

// resultFacts returns the facts of a result that its report does not contain.
func resultFacts(r *Stored, v View) (facts []output.Fact) {
	add := func(label string, items ...output.Link) {
		if len(items) > 0 && items[0].Text != "" {
			facts = append(facts, output.Fact{Label: label, Items: items})
		}
	}
	commit := func(label, id string) {
		if id == "" {
			return
		}
		facts = append(facts, output.Fact{Label: label, Code: true,
			Items: []output.Link{{Text: id[:min(len(id), 10)], Address: r.RepositoryURL() + "/commit/" + id}}})
	}
	add("Repository", output.Link{Text: r.Repository.String(), Address: v.Base + RepositoryPath(r.Repository)})
	commit("Head", r.Head)
	commit("Base", r.Base)
	commit("Policies from", r.Rules)
	when := r.Completed.UTC().Format("2 January 2006 15:04 UTC")
	if took := r.Completed.Sub(r.Started); !r.Started.IsZero() && took >= time.Second/10 {
		when += ", in " + took.Round(time.Second/10).String()
	}
	add("Checked", output.Link{Text: when, Address: r.CheckRunURL()})
	var others []output.Link
	for _, m := range v.Others {
		if m.ID != r.ID {
			others = append(others, output.Link{Text: m.Completed.UTC().Format("2 January 15:04"), Address: v.Base + m.Path()})
		}
	}
	add("Other results of this commit", others...)
	return facts
}

// Part implements results.Renderer.
func (of HTML) Part(w io.Writer, r *Stored, part string, v View) error {
	if r.Report == nil {
		return ErrNone
	}
	err := of.whole(r, v).WritePart(w, part)
	if errors.Is(err, output.ErrNoPart) {
		return ErrNone
	}
	return err
}

func writeMessage(w io.Writer, f output.Frame, title, text string) error {
	return (&output.Message{Frame: f, Heading: title, Text: text}).Write(w)
}

// chartBars is how many reports a chart shows, and listedReports how many of them are listed with a link.
const chartBars, listedReports = 60, 20

// Repository implements results.Renderer.
func (of HTML) Repository(w io.Writer, o *Overview, v View) error {
	address := strings.TrimRight(o.GitHub, "/") + "/" + url.PathEscape(o.Repository.Owner) + "/" +
		url.PathEscape(o.Repository.Name)
	out := &output.Overview{Frame: of.frame(v, output.Link{Text: o.Repository.String(), Address: address}),
		Heading: o.Repository.String(), Chart: chart(o), Facts: []output.Fact{{Label: "Account", Items: []output.Link{
			{Text: o.Repository.Owner, Address: v.Base + OrganisationPath(o.Repository.Owner)}}}}}
	if len(o.Branch) > 0 {
		out.Facts = append(out.Facts, output.Fact{Label: "Default branch",
			Items: []output.Link{{Text: output.Line(o.Branch[0].Name)}}})
		newest, first := o.Branch[0], o.Branch[min(len(o.Branch), chartBars)-1]
		out.Policies = policyRows(&first, &newest)
		if len(o.Branch) > 1 {
			out.Since = date(first.Completed)
		}
		blob := output.Blob(address, newest.Head)
		for i := range o.Exceptions {
			out.Exceptions = append(out.Exceptions, exception(&o.Exceptions[i], newest.Completed, blob))
		}
		out.MoreExceptions = o.MoreExceptions
		for _, n := range o.NotChecked {
			out.NotChecked = append(out.NotChecked, output.Note{Where: output.Place(n.Path, n.Line, blob(n.Path, n.Line)),
				Text: output.Line(n.Problem().Message)})
		}
		if o.MoreNotChecked > 0 {
			out.NotChecked = append(out.NotChecked, output.Note{Text: fmt.Sprintf("and %d more", o.MoreNotChecked)})
		}
	}
	for i := range o.Branch[:min(len(o.Branch), listedReports)] {
		e := &o.Branch[i]
		name := output.Link{Text: e.Head[:min(len(e.Head), 10)], Address: address + "/commit/" + e.Head}
		out.Reports = append(out.Reports, result(e, o.Repository, name, v))
	}
	for i := range o.Pulls {
		e := &o.Pulls[i]
		name := output.Link{Text: fmt.Sprintf("#%d %s", e.Pull, output.Line(e.Name)),
			Address: fmt.Sprintf("%s/pull/%d", address, e.Pull)}
		row := result(e, o.Repository, name, v)
		if e.Author != "" {
			row.Detail = "by " + output.Line(e.Author)
		}
		out.Results = append(out.Results, row)
	}
	for i := range v.Previews {
		e := &v.Previews[i]
		out.FleetPreviews = append(out.FleetPreviews, output.ResultRow{State: string(e.Conclusion), When: minute(e.Completed),
			Name:   output.Link{Text: fmt.Sprintf("#%d", e.Number), Address: fmt.Sprintf("%s/pull/%d", address, e.Number)},
			Detail: "in " + e.Repository.String(),
			Page:   output.Link{Text: output.Line(e.Title), Address: v.Base + e.Path()}})
	}
	out.MoreRepositories = v.More
	return out.Write(w)
}

// exception says when an exception ends, as it was known when the default branch was checked.
func exception(e *Exception, checked time.Time, blob func(string, int) string) output.ExceptionRow {
	row := output.ExceptionRow{Name: output.Line(e.Name), Where: output.Place(e.Path, e.Line, blob(e.Path, e.Line))}
	switch {
	case e.Never:
		row.Ends = "never"
	case e.Expires.IsZero() && e.Expired:
		row.Ends = "ended"
	case e.Expires.IsZero(): // stored by an earlier version, which did not store Never
		row.Ends = "not known"
	case e.Expired || e.Expires.Before(checked):
		row.Ends = "ended on " + date(e.Expires)
	default:
		row.Ends = date(e.Expires)
	}
	switch {
	case e.Expired:
		row.Words, row.Look = "nothing now", true
	case e.Unused:
		row.Words, row.Look = "nothing that needs it", true
	default:
		row.Words = report.Count(e.Covers, "finding", "findings")
	}
	return row
}

func date(t time.Time) string { return t.UTC().Format("2 January 2006") }

// Organisation implements results.Renderer.
func (of HTML) Organisation(w io.Writer, owner string, repositories []*Summary, v View) error {
	account := output.Link{Text: owner}
	out := &output.Overview{Frame: of.frame(v, account), Heading: owner, MoreRepositories: v.More}
	for _, s := range repositories {
		name := output.Link{Text: s.Repository.String(), Address: v.Base + RepositoryPath(s.Repository)}
		row := output.RepositoryRow{ResultRow: output.ResultRow{Name: name}, Known: len(s.Trend) > 0}
		if s.Newest != nil {
			row.ResultRow = result(s.Newest, s.Repository, name, v)
			if s.Newest.Pull > 0 {
				row.Detail = fmt.Sprintf("#%d", s.Newest.Pull)
			}
		}
		if row.Known {
			row.Blocking, row.Violations = s.Trend[0].Blocking, s.Trend[0].Total
		}
		row.Chart = spark(s)
		out.Repositories = append(out.Repositories, row)
	}
	return out.Write(w)
}

func result(e *Entry, r forge.Repository, name output.Link, v View) output.ResultRow {
	return output.ResultRow{Name: name, State: string(e.Conclusion), When: minute(e.Completed),
		Page: output.Link{Text: output.Line(e.Title), Address: v.Base + e.Path(r)}}
}

// chartPolicies is how many policies have their own color in a chart.
const chartPolicies = 5

// chart returns the violations of the default branch by policy, the oldest report first; nil if there is no report.
func chart(o *Overview) *output.Chart {
	if len(o.Branch) == 0 {
		return nil
	}
	shown := o.Branch[:min(len(o.Branch), chartBars)]
	index := map[string]int{}
	c := &output.Chart{Title: "Violations of the default branch by policy"}
	for _, of := range shown[0].Violations[:min(len(shown[0].Violations), chartPolicies)] {
		index[of.Policy] = len(c.Legend)
		c.Legend = append(c.Legend, output.Line(of.Policy))
	}
	c.Legend = append(c.Legend, "others")
	for i := range slices.Backward(shown) {
		e := &shown[i]
		bar := output.Bar{When: minute(e.Completed), Parts: make([]int, len(c.Legend))}
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
	last := len(c.Legend) - 1
	if !slices.ContainsFunc(c.Bars, func(b output.Bar) bool { return b.Parts[last] > 0 }) {
		c.Legend = c.Legend[:last] // no bar has violations of other policies
		for i := range c.Bars {
			c.Bars[i].Parts = c.Bars[i].Parts[:last]
		}
	}
	c.Words = overTime(c)
	return c
}

// spark returns the violations of a repository's default branch, the blocking ones at the bottom; nil if there is no
// report.
func spark(s *Summary) *output.Chart {
	if len(s.Trend) == 0 {
		return nil
	}
	c := &output.Chart{Title: "Violations of " + s.Repository.String(), Legend: []string{"blocking", "others"}}
	for _, p := range slices.Backward(s.Trend) {
		c.Bars = append(c.Bars, output.Bar{When: minute(p.At), Parts: []int{p.Blocking, max(0, p.Total-p.Blocking)}})
	}
	c.Words = overTime(c)
	return c
}

// overTime returns a sentence that describes what a chart shows.
func overTime(c *output.Chart) string {
	last := len(c.Bars) - 1
	reports := report.Count(len(c.Bars), "report", "reports")
	if c.Most() == 0 {
		return "none in " + reports
	}
	return fmt.Sprintf("%d on %s, %d on %s, at most %d in %s", c.Bars[0].Sum(), c.Bars[0].When, c.Bars[last].Sum(),
		c.Bars[last].When, c.Most(), reports)
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// policyRows compares the violations of the newest report with those of the first report in the chart. A policy that an
// entry does not list has no violations, unless the entry lists the most violated policies only.
func policyRows(first, newest *Entry) (rows []output.PolicyRow) {
	before := map[string]int{}
	for _, v := range first.Violations {
		before[v.Policy] = v.Count
	}
	all := func(e *Entry) bool {
		sum := 0
		for _, v := range e.Violations {
			sum += v.Count
		}
		return sum >= e.Total
	}
	for _, v := range newest.Violations {
		row := output.PolicyRow{Policy: output.Line(v.Policy), Severity: output.Line(v.Severity), Violations: v.Count}
		if was, known := before[v.Policy]; known || all(first) {
			row.Change = change(v.Count - was)
		}
		delete(before, v.Policy)
		rows = append(rows, row)
	}
	for _, v := range first.Violations {
		if _, left := before[v.Policy]; left && all(newest) {
			rows = append(rows, output.PolicyRow{Policy: output.Line(v.Policy), Severity: output.Line(v.Severity),
				Change: change(-v.Count)})
		}
	}
	return rows
}

// change formats a number with its sign.
func change(n int) string {
	switch {
	case n < 0:
		return fmt.Sprintf("−%d", -n)
	case n == 0:
		return "0"
	}
	return fmt.Sprintf("+%d", n)
}
