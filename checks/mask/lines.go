package mask

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
)

// inlay hides what is secret in the lines of a block scalar, if they are those of the text.
func (s *search) inlay(inner *File, from int) bool {
	lines := inner.lines
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if from+len(lines) > len(s.file.lines) {
		return false
	}
	for i, line := range lines {
		if !strings.HasSuffix(s.file.lines[from+i], line) {
			return false
		}
	}
	for i, line := range lines {
		if whole := s.file.lines[from+i]; inner.hidden[i] != line {
			s.file.hidden[from+i] = whole[:len(whole)-len(line)] + inner.hidden[i]
		}
	}
	return true
}

// place is a position in a file, both from 0; the column in characters.
type place struct{ line, column int }

// next is where the node behind a scalar begins, or the document ends.
func (s *search) next(n *yaml.Node) place {
	for _, m := range s.order[s.at[n]+1:] {
		p := place{m.Line - 1 + s.first, m.Column - 1}
		if p.line > n.Line-1+s.first || p.line == n.Line-1+s.first && p.column > n.Column-1 {
			return p
		}
	}
	return place{s.end, 0}
}

// behind is where a literal's value begins: behind its first equals sign, where its key is written as it is.
func (s *search) behind(from place, keep int) place {
	if from.line >= len(s.file.lines) {
		return from
	}
	line := []rune(s.file.lines[from.line])
	for i := from.column; i < len(line) && i <= from.column+keep; i++ {
		if line[i] == '=' {
			return place{from.line, i + 1}
		}
	}
	return from
}

// hide hides what stands between two places. What closes the collections around a value stays, where there are any.
func (f *File) hide(from, to place, flow bool) {
	if from.line >= len(f.lines) {
		return
	}
	for i := from.line; i <= min(to.line, len(f.lines)-1); i++ {
		// What is hidden already on this line stands before: the nodes come in their order, so its end is as it was.
		line, was := []rune(f.lines[i]), f.hidden[i]
		start, end := 0, len(line)
		if i == from.line {
			start = min(from.column, end)
		}
		if i == to.line {
			end = max(start, min(to.column, end))
		}
		tail := string(line[end:])
		if flow && i == from.line {
			tail = closing(line[start:end]) + tail
		}
		switch text := strings.TrimSpace(string(line[start:end])); {
		case i == from.line:
			head := string(line[:start])
			if rest := string(line[start:]); strings.HasSuffix(was, rest) { // a part before is hidden
				head = strings.TrimSuffix(was, rest)
			}
			f.hidden[i] = head + report.Hidden + tail
		case text == "" || strings.Trim(text, "{}[],-?\"'") == "":
		case strings.HasPrefix(text, "#"):
			f.hidden[i] = indentOf(string(line)) + "# " + report.Hidden + tail
		default:
			f.hidden[i] = indentOf(string(line)) + report.Hidden + tail
		}
	}
}

// closing is what closes the collections around a value, and separates it from the next, at the end of a text: a value
// in brackets that is not quoted has no such signs.
func closing(text []rune) string {
	i := len(text)
	for i > 0 && strings.ContainsRune(" \t,}]", text[i-1]) {
		i--
	}
	return string(text[i:])
}
