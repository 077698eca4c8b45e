package output

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// diffWidth is the width of the text without a terminal, and maxDiffWidth the limit on a wide one.
const (
	diffWidth    = 100
	maxDiffWidth = 160
)

// diffText writes the differences of rendered resources for a terminal: by root and resource, in unified format, with
// the source place of each differing line. The end says what is left out.
func diffText(w io.Writer, d *report.Differences, o Options) error {
	if o.Width <= 0 {
		o.Width = diffWidth
	}
	t := newText(nil, Options{Color: o.Color, Width: min(o.Width, maxDiffWidth)})
	var last []string
	for i := range d.Differences {
		one := &d.Differences[i]
		if i == 0 || !slices.Equal(last, one.Roots) {
			t.painted("", Line(strings.Join(one.Roots, ", ")), t.paint.with(cyan).mark)
			t.blank()
		}
		last = one.Roots
		t.difference(one)
	}
	if len(d.Images) > 0 {
		t.line(t.paint.bold("Images:"))
		for _, s := range view.ImageWords(d.Images) {
			t.rows("  ", Line(s))
		}
		t.blank()
	}
	t.painted("", Line(view.DiffCounts(d)), t.paint.bold)
	if unknown := view.UnknownWords(d); unknown != "" {
		t.painted("", Line(unknown), t.paint.with(yellow).mark)
	}
	if others := view.OtherRoots(d); others != "" {
		t.rows("", others)
	}
	_, err := io.WriteString(w, strings.TrimLeft(t.out.String(), "\n"))
	return err
}

func (t *text) difference(d *report.Difference) {
	t.painted("", Line(d.Resource.String())+": "+Line(view.DiffWords(d)), t.paint.bold)
	for i := range d.Hunks {
		t.hunk(&d.Hunks[i])
	}
	if left := view.LeftOutWords(d); left != "" {
		t.line(t.paint.dim("… " + left))
	}
	t.blank()
}

// row is one line of a hunk as it is shown.
type row struct {
	sign, text, place string
	parts             []view.WordSpan // nil: the line was not edited
}

func (r row) changed() bool { return r.sign != " " }

// rowsOf returns the lines of a hunk, safe to show.
func rowsOf(h *report.DiffHunk) []row {
	list := make([]row, len(h.Lines))
	for i, l := range h.Lines {
		list[i] = row{sign: signOf(l.Sign), text: strings.TrimRight(tameTags(Line(strings.ReplaceAll(l.Text, "\t", "    "))), " ")}
		if list[i].changed() {
			list[i].place = tameTags(Line(view.LineOrigin(l.Origin)))
		}
	}
	pairs := view.LinePairs(len(list), func(i int) (sign, text string) { return list[i].sign, list[i].text })
	for i, k := range pairs {
		if k <= i {
			continue
		}
		if list[i].text == list[k].text {
			list[i].text, list[k].text = spaced(h.Lines[i].Text), spaced(h.Lines[k].Text)
		}
		list[i].parts, list[k].parts = view.WordsOf(list[i].text, list[k].text)
	}
	return list
}

// spaced returns a line with visible tabs and trailing spaces, for a line that differs from another one only in these.
func spaced(s string) string {
	text := strings.TrimRight(s, " ")
	return tameTags(Line(strings.ReplaceAll(text, "\t", `\t`))) + strings.Repeat("·", len(s)-len(text))
}

// fit shortens a line that takes too many rows of the terminal. It keeps a few words around an edit, or else the
// beginning. Other formats have the whole line.
func (r *row) fit(width int) {
	const some = 40
	if textWidth(r.text) <= 3*width {
		return
	}
	if r.parts == nil {
		r.text = ClipWidth(r.text, 3*width)
		return
	}
	r.text = ""
	for i := range r.parts {
		p := &r.parts[i]
		switch text := []rune(p.Text); {
		case p.Differs && len(text) > width:
			p.Text = string(text[:width/2]) + "…" + string(text[len(text)-width/2:])
		case p.Differs:
		case len(text) > 2*some && i == len(r.parts)-1:
			p.Text = string(text[:some]) + "…"
		case len(text) > 2*some:
			p.Text = string(text[:some]) + "…" + string(text[len(text)-some:])
		}
		r.text += p.Text
	}
}

// signOf is a sign as a form shows it.
func signOf(s string) string {
	if s == "+" || s == "-" {
		return s
	}
	return " "
}

// hunk writes one part of a resource. Places are beside the lines if there is room for all of them, otherwise above the
// lines from the same file.
func (t *text) hunk(h *report.DiffHunk) {
	if h.Path != "" { // without a path, the hunk begins at the top
		t.line(t.paint.paint(cyan, tameTags(Line(h.Head()))))
	}
	list := rowsOf(h)
	beside := true
	for i := range list {
		r := &list[i]
		r.fit(t.width)
		beside = beside && (r.place == "" || 1+textWidth(r.text)+3+textWidth(r.place) <= t.width)
	}
	last := "" // the place that was written above
	for i, r := range list {
		if !r.changed() {
			last = ""
		} else if !beside && (i == 0 || !sameFile(h.Lines[i-1], h.Lines[i])) {
			if at := runPlace(h.Lines[i:]); at != last {
				t.line(t.paint.dim("@ " + tameTags(Line(at))))
				last = at
			}
		}
		tail := ""
		if beside && r.place != "" {
			gap := t.width - 1 - textWidth(r.text) - textWidth(r.place)
			tail = strings.Repeat(" ", gap) + t.paint.dim(r.place)
		}
		t.line(t.hunkLine(r) + tail)
	}
}

// hunkLine is a line with its sign, in which what was edited stands out.
func (t *text) hunkLine(r row) string {
	tone := green
	switch {
	case !r.changed():
		return " " + r.text
	case r.sign == "-":
		tone = red
	}
	if r.parts == nil {
		return t.paint.paint(tone, r.sign+r.text)
	}
	text := t.paint.paint(tone, r.sign)
	for _, s := range r.parts {
		if s.Differs {
			text += t.paint.paint("7;"+tone, s.Text)
		} else {
			text += t.paint.paint(tone, s.Text)
		}
	}
	return text
}

// sameFile reports whether two lines are changed in the same way in the same file.
func sameFile(a, b report.DiffLine) bool {
	if a.Sign != b.Sign || a.Origin == nil || b.Origin == nil {
		return a.Sign == b.Sign && a.Origin == b.Origin
	}
	return a.Origin.Path == b.Origin.Path
}

// runPlace returns the places of the first lines of a list, up to the first line of another file.
func runPlace(list []report.DiffLine) string {
	if list[0].Origin == nil {
		return "it is not known where"
	}
	o := *list[0].Origin
	from, to := o.StartLine, o.StartLine
	for i := 1; i < len(list) && sameFile(list[i-1], list[i]); i++ {
		if next := list[i].Origin; next != nil {
			from, to = min(from, next.StartLine), max(to, next.StartLine)
			if next.How != report.Enclosing {
				o.How = next.How
			}
		}
	}
	o.StartLine = from
	at := view.LineOrigin(&o)
	if to > from {
		at += "-" + strconv.Itoa(to)
	}
	return at
}
