package output

import (
	"strings"
	"unicode"
)

// wrap breaks text at spaces into lines of at most width columns, keeping its own line ends. Words that
// are longer stay whole, so that paths can be copied, and so do commands of ours. No row is a command of a log.
func wrap(s string, width int) []string {
	var out []string
	for paragraph := range strings.SplitSeq(strings.TrimRight(s, "\n "), "\n") {
		row, columns := "", 0
		for _, word := range units(strings.Fields(paragraph)) {
			w := textWidth(word)
			if row != "" && columns+1+w > width {
				out = append(out, tame(row))
				row, columns = "", 0
			}
			if row != "" {
				row, columns = row+" ", columns+1
			}
			row, columns = row+word, columns+w
		}
		out = append(out, tame(row))
	}
	return out
}

// Wrap breaks text of ours at spaces into lines of at most width columns; longer words stay whole, and so do commands.
func Wrap(s string, width int) []string { return wrap(s, width) }

// units are words, where "lintel", its command and the flags behind are one.
func units(words []string) (out []string) {
	command := 0 // words of it so far
	for _, w := range words {
		if command == 1 || command > 1 && strings.HasPrefix(w, "-") {
			out[len(out)-1] += " " + w
			command++
			continue
		}
		command = 0
		if strings.TrimLeft(w, "(`'\"") == "lintel" {
			command = 1
		}
		out = append(out, w)
	}
	return out
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is the number of terminal columns of a printable character: two for East Asian wide ones and
// emoji, none for combining marks (Unicode Standard Annex 11, coarsely).
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200c' || r == '\u200d':
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// clipWidth cuts text to a number of columns, the last of them an ellipsis.
func clipWidth(s string, width int) string {
	if textWidth(s) <= width {
		return s
	}
	used := 0
	for i, r := range s {
		if used+runeWidth(r) > width-1 {
			return s[:i] + "…"
		}
		used += runeWidth(r)
	}
	return s
}
