package output

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hostile reports whether a character can change how the text around it is shown: control characters
// (terminal escapes begin with one), directional overrides and other invisible format characters, line
// and paragraph separators. The two joiners of scripts and emoji are harmless.
func hostile(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\u200c' && r != '\u200d'
}

// Line makes text safe to show on one line: hostile characters are written as escapes, a tab is a space,
// line ends become spaces.
func Line(s string) string { return clean(s, map[rune]string{'\t': " ", '\n': " ", '\r': ""}) }

// lines is like Line, but keeps line ends.
func lines(s string) string {
	return clean(strings.ReplaceAll(s, "\r\n", "\n"), map[rune]string{'\n': "\n", '\t': " "})
}

// clean escapes hostile characters, unless special has another text for them.
func clean(s string, special map[rune]string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hostile) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		text, known := special[r]
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hostile(r):
			b.WriteRune(r)
		case known:
			b.WriteString(text)
		default:
			b.WriteString(escape(r))
		}
		i += n
	}
	return b.String()
}

// escape writes a character as Go and JSON do: \u001b.
func escape(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// tame keeps a row of text from being read as a command by the log of a CI system. GitHub Actions takes "::name::" at the
// beginning of a line, behind white space of any kind, and "##[name]" anywhere
// (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands; the runner trims with .NET's
// TrimStart), Azure Pipelines "##vso[", TeamCity "##teamcity[".
func tame(row string) string {
	if rest := strings.TrimLeftFunc(row, unicode.IsSpace); strings.HasPrefix(rest, "::") {
		row = row[:len(row)-len(rest)] + ": " + rest[1:]
	}
	return tameTags(row)
}

// LogLine returns text on one line, without commands to a terminal or to the log of a CI system.
func LogLine(s string) string { return tame(Line(s)) }

// tag matches the start of a command that may be anywhere in a line.
var tag = regexp.MustCompile(`##([A-Za-z]*\[)`)

// tameTags is the part of tame that does not depend on the position in a line.
func tameTags(s string) string {
	if !strings.Contains(s, "##") {
		return s
	}
	return tag.ReplaceAllString(s, "## $1")
}

// tameWords is tame for text whose spaces another program may turn into line breaks.
func tameWords(s string) string {
	words := strings.Split(s, " ")
	for i, w := range words {
		words[i] = tame(w)
	}
	return strings.Join(words, " ")
}

// Wrap breaks text at spaces into lines of at most width columns, and keeps its line breaks. Longer words and Lintel's
// own commands stay whole, so that they can be copied. No line is a command to a CI system.
func Wrap(s string, width int) []string {
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

// units splits words, but keeps "lintel", its subcommand and the following flags together.
func units(words []string) (out []string) {
	command := 0 // number of words of the command so far
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

// ClipWidth cuts text to a number of columns. The last one is an ellipsis if text was cut.
func ClipWidth(s string, width int) string {
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
