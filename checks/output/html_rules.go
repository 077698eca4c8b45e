package output

import (
	"cmp"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

func (b *pageOf) exception(e *report.Exception) Exception {
	out := Exception{Name: shown(e.Name), State: shown(string(e.State)), Mark: shown(string(e.State)),
		Where: b.at(e.Path, e.Line)}
	if e.State == report.Pending {
		out.Mark = "waits for approval"
	}
	for _, f := range facts(e, b.report.Approvers) {
		out.Facts = append(out.Facts, shown(f.plain()))
	}
	return out
}

func (b *pageOf) bump(of *report.Bump) Bump {
	out := Bump{Root: shown(of.Root), Counts: shown(bumpCounts(of)), Images: each(imageWords(of)), Care: each(careWords(of))}
	for i := range of.Moved {
		m := &of.Moved[i]
		out.Moved = append(out.Moved, Note{Where: b.at(m.Path, m.Line), Text: shown(m.Name + " " + versions(m))})
		for _, l := range m.Links {
			out.Links = append(out.Links, Link{Text: shown(l.Text), Address: l.URL})
		}
	}
	names := func(list []report.Resource) (out []string) {
		for _, r := range list {
			out = append(out, shown(r.String()))
		}
		return out
	}
	out.Added, out.Removed = names(of.Added), names(of.Removed)
	for _, c := range of.Changed {
		one := Change{ID: b.id("v", of.Root, c.String()), Resource: shown(c.String()), Operation: "changed"}
		for row := range strings.Lines(c.Diff) {
			one.Lines = append(one.Lines, diffLine(strings.TrimSuffix(row, "\n")))
		}
		if c.LeftOut > 0 {
			one.LeftOut = report.Count(c.LeftOut, "more line is", "more lines are") + " not shown."
		}
		out.Changed = append(out.Changed, one)
	}
	return out
}

func (b *pageOf) preview() *Preview {
	p := b.report.Preview
	if p == nil {
		return nil
	}
	out := &Preview{Intro: shown(previewIntro(b.report)), Warnings: b.notes(p.Warnings)}
	for _, i := range previewItems(p) {
		where := b.at(i.path, i.line)
		switch {
		case strings.Contains(i.path, "://"):
			where = b.rule(i.path, i.line)
		case i.gone:
			where.Address = b.base(i.path, i.line)
		}
		out.Items = append(out.Items, Note{Where: where, Text: shown(i.words)})
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		o := cmp.Or(f.Origin, &report.Origin{})
		out.Rows = append(out.Rows, PreviewRow{Effect: shown(string(f.Effect)), Rule: shown(view.Title(f.Policy, f.Rule)),
			Becomes: shown(becomes(f)), Resource: shown(f.Resource.String()),
			More: strings.TrimPrefix(previewResources(f), f.Resource.String()), Where: b.at(o.Path, o.StartLine)})
	}
	if p.LeftOut > 0 {
		out.LeftOut = report.Count(p.LeftOut, "more difference is", "more differences are") + " counted above and not listed."
	}
	return out
}
