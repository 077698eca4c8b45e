package rendered

import (
	"fmt"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// cut leaves out, and counts, the lines for which there is no room. It shortens long lines to the text around their
// difference.
func (l *listing) cut(hunks []report.DiffHunk) (out []report.DiffHunk, leftOut int) {
	own := min(maxOwnLines, l.lines)
	for _, h := range hunks {
		lines := h.Lines[:min(len(h.Lines), own)]
		shorten(lines)
		n := 0
		for n < len(lines) && l.bytes > 0 && leftOut == 0 {
			l.bytes -= len(lines[n].Text)
			n++
		}
		own, l.lines, leftOut = own-n, l.lines-n, leftOut+len(h.Lines)-n
		if n > 0 {
			out = append(out, report.DiffHunk{Path: h.Path, Lines: lines[:n]})
		}
	}
	return out, leftOut
}

// shorten cuts long lines. Two versions of one line are cut at the same place.
func shorten(lines []report.DiffLine) {
	long := false
	for _, l := range lines {
		long = long || len(l.Text) > maxLine
	}
	if !long {
		return
	}
	pairs := view.LinePairs(len(lines), func(i int) (sign, text string) { return lines[i].Sign, lines[i].Text })
	for i, k := range pairs {
		switch {
		case k < 0:
			lines[i].Text = excerpt(lines[i].Text, 0)
		case k > i:
			from := view.SameHead([]byte(lines[i].Text), []byte(lines[k].Text))
			lines[i].Text, lines[k].Text = excerpt(lines[i].Text, from), excerpt(lines[k].Text, from)
		}
	}
}

// The shown parts of a cut line: its beginning, which identifies it, and the text around the differing byte.
const (
	beginning = 80
	before    = 200
)

// excerpt shortens a long text so that the byte at from is shown. Omitted parts are replaced by their length.
func excerpt(s string, from int) string {
	if len(s) <= maxLine {
		return s
	}
	head := ""
	if from >= maxLine/2 {
		end, start := whole(s, beginning), whole(s, from-before)
		head, s = fmt.Sprintf("%s… (%d bytes) …", s[:end], start-end), s[start:]
	}
	end := whole(s, maxLine)
	if end == len(s) {
		return head + s
	}
	return head + s[:end] + fmt.Sprintf("… (%d more bytes)", len(s)-end)
}

// whole returns where the character begins that contains a byte; the end of the text if there is no such byte.
func whole(s string, at int) int {
	if at >= len(s) {
		return len(s)
	}
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}
