package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
)

const (
	frameContext = 2 // lines shown around the marked ones
	frameRange   = 7 // marked lines shown at most
)

// span is the marked part of a file; lines and columns (in characters) count from 1, end is behind the
// last column. Zero columns mean whole lines.
type span struct{ startLine, endLine, start, end int }

// frame draws the marked lines with their neighbors in a width. It returns nothing if the excerpt lacks the first
// marked line.
//
//	  11 |       containers:
//	> 12 |         - name: web
//	     |           ^^^^^^^^^
func frame(excerpt map[int]string, s span, width int, p painter) []string {
	if _, ok := excerpt[s.startLine]; !ok {
		return nil
	}
	s.endLine = max(s.endLine, s.startLine)
	shown := report.Kept(slices.Sorted(maps.Keys(excerpt)), func(n int) bool {
		return n >= s.startLine-frameContext && n <= s.endLine+frameContext && n > 0
	})
	// An empty line at the end has no information; the one after the last line of a file does not even exist.
	for last := len(shown) - 1; shown[last] > s.endLine && strings.TrimSpace(excerpt[shown[last]]) == ""; last-- {
		shown = shown[:last]
	}
	digits := len(fmt.Sprint(shown[len(shown)-1]))
	room := max(width-digits-7, 16)

	single := s.startLine == s.endLine
	marked := cells(excerpt[s.startLine])
	from, to := 0, len(marked)
	before, _, masked := strings.Cut(excerpt[s.startLine], report.Hidden)
	switch hidden := utf8.RuneCountInString(before); {
	case !single || s.start == 0, masked && hidden < s.start-1: // or the file was edited, so the columns no longer match
		for from < to && strings.TrimSpace(marked[from].text) == "" {
			from++
		}
	case masked && hidden == s.start-1:
		from, to = hidden, hidden+len(report.Hidden)
	default:
		from = min(s.start-1, len(marked))
		to = max(min(max(s.end-1, from+1), len(marked)), from)
	}
	left := cut(marked, from, to, room)

	var out []string
	last := 0
	for _, n := range shown {
		inside := n >= s.startLine && n <= s.endLine
		if s.endLine-s.startLine >= frameRange && n >= s.startLine+frameRange-2 && n < s.endLine {
			continue // the middle of a long range
		}
		if last > 0 && n != last+1 {
			out = append(out, p.dim(strings.Repeat(" ", digits+3)+"..."))
		}
		last = n
		gutter := "  "
		if inside {
			gutter = p.mark("> ")
		}
		row := gutter + p.dim(fmt.Sprintf("%*d |", digits, n)) + " " + window(cells(excerpt[n]), left, room)
		out = append(out, strings.TrimRight(row, " "))
		if inside && single {
			before, under := columnsOf(marked[:from]), max(columnsOf(marked[from:to]), 1)
			before = max(before-left, 0)
			if left > 0 {
				before++ // the ellipsis
			}
			under = max(min(under, room-before), 1)
			row := "  " + p.dim(strings.Repeat(" ", digits)+" |") + " " + strings.Repeat(" ", before)
			out = append(out, row+p.mark(strings.Repeat("^", under)))
		}
	}
	return out
}

// cell is one character of a source line as it is shown.
type cell struct {
	text  string
	width int
}

// cells returns the characters of a source line. Tabs reach to the next multiple of four columns; hostile characters
// are escaped.
func cells(s string) []cell {
	var out []cell
	column, special := 0, map[rune]string{'\n': ""}
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		if s[i] == '\t' {
			special['\t'] = "    "[column%4:]
		}
		text := "" // of a carriage return at the end
		if s[i:] != "\r" {
			text = clean(s[i:i+n], special)
		}
		width := textWidth(text)
		out = append(out, cell{text, width})
		column += width
		i += n
	}
	return out
}

func columnsOf(list []cell) int {
	n := 0
	for _, c := range list {
		n += c.width
	}
	return n
}

// cut returns how many columns to omit on the left: none if the marked cells fit in room, otherwise enough to center
// them. If the mark is wider than the room, its beginning is shown.
func cut(line []cell, from, to, room int) int {
	start, end := columnsOf(line[:from]), columnsOf(line[:to])
	marked := end - start
	const ellipses = 2
	switch {
	case columnsOf(line) <= room, end < room:
		return 0
	case marked+ellipses <= room:
		return max(start-(room-marked)/2, ellipses)
	case start < room/2:
		return 0
	}
	return start - ellipses
}

// window returns the part of a line from column left, at most room wide, with an ellipsis at each cut end.
func window(line []cell, left, room int) string {
	var b strings.Builder
	column, used, whole := 0, 0, columnsOf(line)
	if left > 0 && whole > 0 {
		b.WriteString("…")
		used = 1
	}
	for _, c := range line {
		at := column
		column += c.width
		if at < left {
			if column > left { // a wide character at the cut
				b.WriteString(strings.Repeat(" ", column-left))
				used += column - left
			}
			continue
		}
		if used+whole-at > room && used+c.width > room-1 {
			b.WriteString("…")
			break
		}
		b.WriteString(c.text)
		used += c.width
	}
	return b.String()
}
