package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// diffHTML writes the differences of rendered resources as one file that loads nothing else.
func diffHTML(w io.Writer, d *report.Differences, o Options) error {
	b := &pageOf{report: &report.Report{Clusters: d.Clusters}, o: o.HTML, ids: map[string]int{}}
	p := &Page{of: b,
		Frame:  Frame{Name: o.HTML.Name, Detail: shown(o.HTML.Detail), Inline: true},
		Errors: b.notes(d.Errors), NotChecked: b.notes(view.NotChecked(d.NotChecked, nil)), Warnings: b.notes(d.Warnings),
		Facts:   append(slices.Clone(o.HTML.Facts), b.facts()...),
		Verdict: shown(view.DiffCounts(d)), Counts: shown(view.UnknownWords(d)), Work: shown(view.OtherRoots(d)),
		Command: shown(o.HTML.Command),
	}
	if p.Counts != "" {
		p.State = "neutral" // a difference is neither good nor bad
	}
	b.differences(p, d)
	unfold(p.Changes, openLinesAlone)
	return p.Write(w)
}

// Differences of up to openLines lines are unfolded, or up to openLinesAlone on a page that has only differences.
const openLines, openLinesAlone = 60, 600

// unfold unfolds the first differences that together have at most most lines.
func unfold(changes []Change, most int) {
	for i := range changes {
		most -= len(changes[i].Lines)
	}
	for i := range changes {
		changes[i].Open = most >= 0
	}
}

func (b *pageOf) differences(p *Page, d *report.Differences) {
	for i := range d.Differences {
		one := &d.Differences[i]
		change := Change{ID: b.id("d", append(slices.Clone(one.Roots), one.Resource.String(), one.Operation)...),
			Resource:  shown(one.Resource.String()),
			Operation: shown(view.Operation(one)),
			Roots:     each(one.Roots), Clusters: each(one.Clusters), Added: one.Added(), Removed: one.Removed(),
			LeftOut: view.LeftOutWords(one)}
		if one.Replaces != nil && *one.Replaces != one.Resource {
			change.Note = "in place of " + shown(one.Replaces.String())
		}
		if one.From != "" {
			change.Note = "deployed by " + shown(one.From) + " before"
		}
		path := ""
		for k := range one.Hunks {
			change.Lines = append(change.Lines, b.hunk(&one.Hunks[k], &path)...)
		}
		change.First = i == 0 || !slices.Equal(one.Roots, d.Differences[i-1].Roots)
		p.Changes = append(p.Changes, change)
	}
	if d.More > 0 {
		p.More = append(p.More, report.Count(d.More, "more resource differs and is", "more resources differ and are")+" not listed.")
	}
	if d.Relabeled > 0 {
		p.More = append(p.More, report.Count(d.Relabeled, "resource differs", "resources differ")+
			" only in the label that states the version: not listed.")
	}
	p.Clusters = clusters(d.RootChanges)
	p.Images = images(d.Images)
}

// contextRunes limits the shown part of an unchanged line.
const contextRunes = 400

// hunk returns the lines of a hunk. path is the file of the last line before it: a line in the same file shows its line
// number only.
func (b *pageOf) hunk(h *report.DiffHunk, path *string) []DiffLine {
	list := []DiffLine{{Sign: "@", Words: []view.WordSpan{{Text: codeText(h.Path)}}}}
	var last Link
	for i, l := range h.Lines {
		one := DiffLine{Sign: signOf(l.Sign), Words: []view.WordSpan{{Text: codeText(l.Text)}}}
		if runes := []rune(l.Text); one.Sign == " " && len(runes) > contextRunes {
			one.Words[0].Text = codeText(string(runes[:contextRunes])) +
				fmt.Sprintf("… (%d more characters)", len(runes)-contextRunes)
		}
		if l.Origin != nil {
			at := b.at(l.Origin.Path, l.Origin.StartLine)
			if l.Origin.Side == report.Base || l.Sign == "-" {
				at.Address = b.base(l.Origin.Path, l.Origin.StartLine)
			}
			if at.Text = shown(view.LineOrigin(l.Origin)); at != last || i == 0 {
				one.Where = at // only the first of several lines with the same place shows it
			}
			last = at
			if l.Origin.Path == *path && strings.HasPrefix(one.Where.Text, shown(*path)+":") {
				one.Where.Text = strings.TrimPrefix(one.Where.Text, shown(*path))
			}
			*path = l.Origin.Path
		}
		list = append(list, one)
	}
	text := func(i int) string { return codeText(h.Lines[i].Text) }
	pairs := view.LinePairs(len(h.Lines), func(i int) (sign, line string) { return signOf(h.Lines[i].Sign), text(i) })
	for i, k := range pairs {
		if k > i {
			list[i+1].Words, list[k+1].Words = view.WordsOf(text(i), text(k))
		}
	}
	return list
}

func clusters(list []report.RootChange) (rows []ClusterRow) {
	columns, table := view.ClusterChanges(list)
	for _, texts := range table {
		row := make(ClusterRow, len(texts))
		for i, text := range texts {
			row[i] = Cell{columns[i], shown(text)}
		}
		rows = append(rows, row)
	}
	return rows
}

// images returns the changes of images, each once, with the number of containers.
func images(list []report.ImageChange) (rows []Row) {
	type change struct{ from, to string }
	for _, same := range report.Grouped[[]report.ImageChange](list, func(i report.ImageChange) change { return change{i.From, i.To} }) {
		where := report.Mapped(same, func(i report.ImageChange) string { return i.Resource.String() })
		rows = append(rows, Row{shown(cmp.Or(same[0].From, "(new)")), shown(cmp.Or(same[0].To, "(gone)")),
			shown(strings.Join(where, ", "))})
	}
	return rows
}
