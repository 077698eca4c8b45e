package output

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// PageOptions are the parts of a page besides its report.
type PageOptions struct {
	Name    Link   // what was checked
	Detail  string // its title and author
	Facts   []Fact // commits, times
	Command string // shows the same on a laptop
	// BlobURL and PolicyURL are like those of MarkdownOptions.
	BlobURL, PolicyURL func(path string, line int) string
	BaseURL            func(path string, line int) string // the same at the merge base
	Button             bool                               // the reader has the buttons of a check run
	Drafts             string                             // the command that drafts exceptions; empty: it needs no flags
}

// PageOf returns the complete page of a report. The caller says how it is served.
func PageOf(r *report.Report, o PageOptions) *Page {
	b := &pageOf{report: r, o: o, ids: map[string]int{}}
	p := &Page{
		Frame: Frame{Name: Link{Text: shown(o.Name.Text), Address: o.Name.Address}, Detail: shown(o.Detail)},
		State: string(r.Conclusion), Verdict: shown(view.Verdict(r)), Counts: shown(view.Breakdown(r)), Work: shown(view.Work(r)),
		Command: shown(o.Command), Facts: append(slices.Clone(o.Facts), b.facts()...),
		Errors: b.notes(r.Errors), NotChecked: b.causes(), Warnings: b.notes(view.Alone(r.Warnings)),
		NextActions: view.NextActions(r, o.Button, o.Drafts),
	}
	list := view.ByPlace(r.Findings)
	p.Groups, p.Totals = b.groups(list)
	if !view.NeedTotals(list) {
		p.Totals = nil
	}
	p.of, p.Exceptions, p.Bumps = b, r.Exceptions, report.Mapped(r.Bumps, b.bump)
	for _, u := range r.Cleanup {
		p.Cleanup = append(p.Cleanup, Note{Where: b.at(u.Path, u.Line), Text: shown(u.Name + " " + view.CleanupWords(&u))})
	}
	if more := view.MoreBumps(r); more != "" {
		p.More = append(p.More, shown(more))
	}
	p.Preview = b.preview()
	b.differences(p, r.Rendered())
	unfold(p.Changes, openLines)
	return p
}

// checkHTML writes the report as one file that loads nothing else.
func checkHTML(w io.Writer, r *report.Report, o Options) error {
	o.HTML.Drafts = o.Drafts
	p := PageOf(r, o.HTML)
	p.Inline = true
	return p.Write(w)
}

type pageOf struct {
	report *report.Report
	o      PageOptions
	ids    map[string]int
}

// at returns a place of the head with its address. A place outside of the repository has no address.
func (b *pageOf) at(path string, n int) Link { return Place(path, n, ownAddress(b.o.BlobURL, path, n)) }

// rule returns the place of a policy or rule, at the commit of the rules.
func (b *pageOf) rule(path string, n int) Link {
	return Place(path, n, address(b.o.PolicyURL, path, max(n, 1)))
}

// base returns the address of a line at the merge base.
func (b *pageOf) base(path string, n int) string { return ownAddress(b.o.BaseURL, path, n) }

// Place returns a place with its address; an empty link without a path.
func Place(path string, n int, address string) Link {
	if path == "" {
		return Link{}
	}
	return Link{Text: shown(view.Place(path, n, 0)), Address: address}
}

// address returns the address of a line; "" if there is none.
func address(of func(path string, line int) string, path string, line int) string {
	if of == nil {
		return ""
	}
	return of(path, line)
}

// ownAddress is address for files of the repository only.
func ownAddress(of func(path string, line int) string, path string, line int) string {
	if strings.Contains(path, "://") {
		return ""
	}
	return address(of, path, line)
}

func (b *pageOf) notes(problems []report.Problem) []Note { return report.Mapped(problems, b.note) }

func (b *pageOf) note(p report.Problem) Note {
	return Note{Where: b.at(p.Path, p.Line), Text: shown(p.Message), Code: b.code(p.Path, p.Line, p.Line, 0, 0)}
}

func (b *pageOf) causes() (list []Note) {
	for _, c := range view.CausesOf(b.report, view.ByPlace(b.report.Findings)) {
		note := b.note(c.Problem())
		for _, w := range c.Waiting() {
			f := Fact{Label: strings.ToUpper(w.Label[:1]) + w.Label[1:], Folded: true}
			for _, item := range w.Items {
				at := b.at(item.Path, item.Line)
				if item.Rule {
					at = b.rule(item.Path, item.Line)
				}
				f.Items = append(f.Items, Link{Text: shown(item.String()), Address: at.Address})
			}
			note.Facts = append(note.Facts, f)
		}
		list = append(list, note)
	}
	return list
}

func (b *pageOf) facts() []Fact {
	roots := report.Mapped(b.report.Bumps, func(b report.Bump) string { return b.Root })
	for i := range b.report.Findings {
		roots = append(roots, b.report.Findings[i].Roots...)
	}
	for i := range b.report.Differences {
		roots = append(roots, b.report.Differences[i].Roots...)
	}
	slices.Sort(roots)
	name := func(s string) Link { return Link{Text: shown(s)} }
	return report.Kept([]Fact{{Label: "Clusters", Items: report.Mapped(b.report.Clusters, name)},
		{Label: "Rendered by", Code: true, Items: report.Mapped(slices.Compact(roots), name)}},
		func(f Fact) bool { return len(f.Items) > 0 })
}

// id returns an anchor that is the same in later checks of the same thing.
func (b *pageOf) id(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	id := kind + "-" + hex.EncodeToString(sum[:6])
	if b.ids[id]++; b.ids[id] > 1 {
		id += fmt.Sprintf("-%d", b.ids[id])
	}
	return id
}

func diffLine(row string) DiffLine {
	sign, text := " ", row
	switch {
	case strings.HasPrefix(row, "@@"):
		sign, text = "@", strings.Trim(row, "@ ")
	case row != "" && strings.Contains(" +-", row[:1]):
		sign, text = row[:1], row[1:]
	}
	return DiffLine{Sign: sign, Words: []view.WordSpan{{Text: codeText(text)}}}
}

// shown makes text safe to show, also where the log of a CI system shows the page's source.
func shown(s string) string { return tameTags(Line(s)) }

func each(list []string) []string { return report.Mapped(list, shown) }

// code returns the lines around a place; columns count characters from 1, and to is after the place.
func (b *pageOf) code(path string, start, end, from, to int) (list []CodeLine) {
	excerpt := b.report.Excerpts[path]
	if _, ok := excerpt[start]; !ok || start < 1 {
		return nil
	}
	end = max(start, end)
	for _, n := range slices.Sorted(maps.Keys(excerpt)) {
		if n < start-frameContext || n > end+frameContext {
			continue
		}
		l := CodeLine{Number: n, Before: codeText(excerpt[n]), Here: n >= start && n <= end}
		if text := []rune(excerpt[n]); n == start && end == start && from > 0 && to > from && to <= len(text)+1 {
			l.Before, l.Marked, l.After = codeText(string(text[:from-1])), codeText(string(text[from-1:to-1])),
				codeText(string(text[to-1:]))
		}
		list = append(list, l)
	}
	return list
}

// codeText returns a line of a file with its tabs; other hostile characters are escaped.
func codeText(s string) string {
	return tameTags(clean(strings.TrimSuffix(s, "\r"), map[rune]string{'\t': "\t"}))
}
