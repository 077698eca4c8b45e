package rendered

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/origin"
)

// finder finds the places of lines.
type finder struct {
	changed func(path string) bool
	left    int // places that may yet be looked up
}

// side is a field of one side of an edit.
type side struct {
	old     bool
	pointer string
}

// places are those of an edit that were looked up.
type places struct {
	of    *edit
	known map[side]origin.Place
}

// part is what of the edits of a difference is written at the same places.
type part struct {
	edits []*edit
	at    places // of the first
}

// split divides the edits of a difference by where it is written: overlays may have the same each by a patch of its own.
// The lines that are put in tell, or where there are none those that are taken out. Where it is too much to look, the
// places of the first stand for those of the others.
func (f *finder) split(e *entry) (parts []*part) {
	sign := byte('-')
	for _, h := range e.hunks {
		for _, l := range h.Lines {
			if l.Sign == '+' {
				sign = '+'
			}
		}
	}
	by := map[string]*part{}
	for i, p := range e.edits {
		own := places{p, map[side]origin.Place{}}
		if i > 0 && f.left <= 0 {
			parts[0].edits = append(parts[0].edits, p)
			continue
		}
		var at strings.Builder
		for _, h := range e.hunks {
			for _, l := range h.Lines {
				if len(e.edits) == 1 || l.Sign != sign {
					continue
				}
				if o := f.place(own, l); o != nil {
					fmt.Fprintf(&at, "%s\x00%d\x00", o.Path, o.StartLine)
				}
			}
		}
		one := by[at.String()]
		if one == nil {
			one = &part{at: own}
			by[at.String()] = one
			parts = append(parts, one)
		}
		one.edits = append(one.edits, p)
	}
	return parts
}

// located are hunks with the places of the lines that differ.
func (f *finder) located(at places, hunks []diff.Hunk) []report.DiffHunk {
	out := make([]report.DiffHunk, len(hunks))
	for i, h := range hunks {
		out[i] = report.DiffHunk{Path: h.Path, Lines: make([]report.DiffLine, len(h.Lines))}
		for k, l := range h.Lines {
			out[i].Lines[k] = report.DiffLine{Sign: string(l.Sign), Text: l.Text, Field: l.Pointer}
			if l.Sign != ' ' {
				out[i].Lines[k].Origin = f.place(at, l)
			}
		}
	}
	return out
}

// place is where a line is written, nil where that is not known.
func (f *finder) place(at places, l diff.Line) *report.Origin {
	res, other, old := at.of.new, at.of.old, l.Sign == '-'
	if old {
		res, other = other, res
	}
	if res == nil {
		return nil
	}
	p, ok := at.known[side{old, l.Pointer}]
	if !ok {
		if f.left <= 0 {
			return nil
		}
		f.left--
		p = res.Origin(l.Pointer)
		if len(p.Spans) > 0 && other != nil {
			p = p.Within(differs(res.Made(), other.Made(), l.Pointer))
		}
		at.known[side{old, l.Pointer}] = p
	}
	if p.Path == "" {
		return nil
	}
	return review.OriginOf(lineOf(f.substituted(p), l.Part), old, f.changed)
}

// substituted is the place of a value that Flux puts into a line which the change leaves alone, else the place itself:
// what differs is the value.
func (f *finder) substituted(p origin.Place) origin.Place {
	if f.changed(p.Path) {
		return p
	}
	for _, l := range p.Chain {
		if l.Role == "substitute" && f.changed(l.Path) {
			into := origin.Link{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, Role: p.Role}
			return origin.Place{Path: l.Path, StartLine: l.StartLine, EndLine: l.EndLine, How: p.How, Role: l.Role,
				Chain: []origin.Link{into}}
		}
	}
	return p
}

// differs is which bytes of a text are not as in the same field of another object.
func differs(object, other map[string]any, pointer string) (from, to int) {
	now, _ := jsonpointer.At(object, pointer).(string)
	was, ok := jsonpointer.At(other, pointer).(string)
	if !ok {
		return 0, 0
	}
	for from < len(now) && from < len(was) && now[from] == was[from] {
		from++
	}
	to = len(now)
	for rest := len(was); to > from && rest > from && now[to-1] == was[rest-1]; rest-- {
		to--
	}
	return from, to
}

// lineOf is the place of one line of a text of several, which are those of the source, if it is one there, too.
func lineOf(p origin.Place, part int) origin.Place {
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
