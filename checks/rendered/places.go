package rendered

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/render/origin"
)

// finder finds the places of differing lines.
type finder struct {
	changed func(path string) bool
	left    int // number of places that may still be looked up
}

// split groups the edits of a difference by where it is written: each overlay may have its own patch. It compares the
// places of the added lines, or of the removed lines if none are added. If there are too many places, all edits get
// those of the first.
func (f *finder) split(e *entry) (parts [][]*edit) {
	sign := "-"
	for _, h := range e.hunks {
		for _, l := range h.Lines {
			if l.Sign == "+" {
				sign = "+"
			}
		}
	}
	by := map[string]int{}
	for i, p := range e.edits {
		if i > 0 && f.left <= 0 {
			parts[0] = append(parts[0], p)
			continue
		}
		var at strings.Builder
		for _, h := range e.hunks {
			for _, l := range h.Lines {
				if len(e.edits) == 1 || l.Sign != sign {
					continue
				}
				if o := f.place(p, l); o != nil {
					fmt.Fprintf(&at, "%s\x00%d\x00", o.Path, o.StartLine)
				}
			}
		}
		k, ok := by[at.String()]
		if !ok {
			k = len(parts)
			by[at.String()] = k
			parts = append(parts, nil)
		}
		parts[k] = append(parts[k], p)
	}
	return parts
}

// located adds the places of the differing lines to hunks.
func (f *finder) located(e *edit, hunks []report.DiffHunk) []report.DiffHunk {
	out := slices.Clone(hunks)
	for i := range out {
		out[i].Lines = slices.Clone(out[i].Lines)
		for k := range out[i].Lines {
			l := &out[i].Lines[k]
			if l.Sign != " " {
				l.Origin = f.place(e, *l)
			}
			l.Part = 0
		}
	}
	return out
}

// place returns where a line is written; nil if that is unknown.
func (f *finder) place(e *edit, l report.DiffLine) *report.Origin {
	res, other, old := e.new, e.old, l.Sign == "-"
	if old {
		res, other = other, res
	}
	if res == nil {
		return nil
	}
	p, ok := e.places[side{old, l.Field}]
	if !ok {
		if f.left <= 0 {
			return nil
		}
		f.left--
		p = res.Origin(l.Field)
		if len(p.Spans) > 0 && other != nil {
			p = p.Within(review.Differs(res.Made(), l.Field, other.Made(), l.Field))
		}
		e.places[side{old, l.Field}] = p
	}
	if p.Path == "" {
		return nil
	}
	return review.OriginOf(LineOf(review.Substituted(p, f.changed), l.Part), old, f.changed)
}

// LineOf returns the place of one line, from 1, of a string of several lines. It is p if the source has the string on
// one line.
func LineOf(p origin.Place, part int) origin.Place {
	if part == 0 || p.How == origin.Enclosing {
		return p
	}
	offset := 0
	switch generated := p.Role == "configMapGenerator" || p.Role == "secretGenerator"; {
	case p.StartColumn != 0:
	case !generated:
		offset = part
	case p.EndLine > p.StartLine:
		offset = part - 1
	}
	p.StartLine = min(p.StartLine+offset, p.EndLine)
	p.EndLine, p.StartColumn, p.EndColumn = p.StartLine, 0, 0
	return p
}
