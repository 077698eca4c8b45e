package doc

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Offsets finds the byte offsets of parsed nodes in their text.
type Offsets struct {
	Text  string
	Lines []int // where each line begins
}

const byteOrderMark = "\xef\xbb\xbf"

// NewOffsets returns the offsets of a text.
func NewOffsets(text string) Offsets {
	o := Offsets{Text: text, Lines: []int{0}}
	if strings.HasPrefix(text, byteOrderMark) {
		o.Lines[0] = len(byteOrderMark)
	}
	for i := range len(text) {
		if text[i] == '\n' {
			o.Lines = append(o.Lines, i+1)
		}
	}
	return o
}

// Of returns the offset where a node begins, with its anchor or tag; the end of the text if the position is outside of
// it. Columns count characters.
func (o Offsets) Of(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(o.Lines) {
		return len(o.Text)
	}
	at := o.Lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(o.Text) {
			break
		}
		at++
		for at < len(o.Text) && o.Text[at]&0xC0 == 0x80 {
			at++
		}
	}
	return at
}

// line is the line of an offset, from 1.
func (o Offsets) line(at int) int { return 1 + strings.Count(o.Text[:at], "\n") }

func (o Offsets) lineStart(at int) int { return strings.LastIndexByte(o.Text[:at], '\n') + 1 }

// lineEnd returns the offset after the line break of a line, or the end of the text.
func (o Offsets) lineEnd(at int) int {
	if i := strings.IndexByte(o.Text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(o.Text)
}

// isFirst reports whether only spaces are before an offset on its line.
func (o Offsets) isFirst(at int) bool { return strings.Trim(o.Text[o.lineStart(at):at], " ") == "" }

// Span returns the offsets of a node's value: where it begins, after its anchor and tag, and where it ends. It returns
// false if that cannot be determined.
func (o Offsets) Span(n *yaml.Node) (start, end int, ok bool) {
	start = o.Of(n)
	if n.Kind != yaml.AliasNode {
		start += properties(o.Text[start:])
	}
	if start >= len(o.Text) {
		return 0, 0, false
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return start, start + 1 + len(n.Value), true
	case n.Kind == yaml.ScalarNode:
		end, ok = o.scalarEnd(n, start)
	case n.Style&yaml.FlowStyle != 0:
		end, ok = o.flowEnd(start)
	case len(n.Content) > 0:
		_, end, ok = o.Span(n.Content[len(n.Content)-1])
	}
	return start, end, ok
}

// Begins reports whether a node begins at a position, with or without its anchor and tag; with column 0, on a line.
func (o Offsets) Begins(n *yaml.Node, line, column int) bool {
	if n == nil || n.Line != line || n.Column == column || column == 0 {
		return n != nil && n.Line == line
	}
	start, _, ok := o.Span(n)
	return ok && n.Column < column && start == o.Of(&yaml.Node{Line: line, Column: column})
}

// properties returns the length of the anchor and the tag at the start of a text, with the spaces behind them.
func properties(s string) int {
	rest := s
	for rest != "" && (rest[0] == '&' || rest[0] == '!') {
		length := strings.IndexAny(rest, " \r\n")
		if length < 0 {
			return len(s)
		}
		rest = strings.TrimLeft(rest[length:], " ")
	}
	return len(s) - len(rest)
}

func (o Offsets) scalarEnd(n *yaml.Node, at int) (int, bool) {
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return o.blockEnd(at), true
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return o.quotedEnd(at)
	}
	// The line breaks in a plain scalar on several lines are read as spaces.
	for value := n.Value; value != ""; {
		if at >= len(o.Text) {
			return 0, false
		}
		if o.Text[at] == value[0] {
			at, value = at+1, value[1:]
			continue
		}
		rest := strings.TrimLeft(value, " \n")
		if rest == value || strings.IndexByte(" \r\n", o.Text[at]) < 0 {
			return 0, false
		}
		value = rest
		at += len(o.Text[at:]) - len(strings.TrimLeft(o.Text[at:], " \r\n"))
	}
	return at, true
}

// blockEnd returns the offset after the last line of a literal or folded scalar.
func (o Offsets) blockEnd(at int) int {
	end, indent := o.lineEnd(at), -1
	for next := end; next < len(o.Text); next = o.lineEnd(next) {
		line := strings.TrimRight(o.Text[next:o.lineEnd(next)], "\r\n")
		trimmed := strings.TrimLeft(line, " ")
		if trimmed == "" {
			continue
		}
		if indent < 0 {
			indent = len(line) - len(trimmed)
		}
		if len(line)-len(trimmed) < indent || indent == 0 {
			break
		}
		end = next + len(line)
	}
	return end
}

func (o Offsets) quotedEnd(at int) (int, bool) {
	if o.Text[at] != '\'' && o.Text[at] != '"' {
		return 0, false
	}
	n := QuotedLength(o.Text[at:])
	return at + n, n > 0
}

// flowEnd returns the offset after the bracket that closes the one at an offset.
func (o Offsets) flowEnd(at int) (int, bool) {
	depth := 0
	for i := at; i < len(o.Text); i++ {
		switch o.Text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '\'', '"':
			// Inside a plain scalar a quote is an ordinary character.
			if i == 0 || strings.IndexByte(" \t\r\n,[{:", o.Text[i-1]) < 0 {
				continue
			}
			end, ok := o.quotedEnd(i)
			if !ok {
				return 0, false
			}
			i = end - 1
		case '#':
			if i > 0 && strings.IndexByte(" \t\r\n", o.Text[i-1]) >= 0 {
				i = o.lineEnd(i) - 1
			}
		}
	}
	return 0, false
}

// QuotedLength returns the length in bytes of the quoted scalar at the start of a text; 0 if it has no end.
func QuotedLength(s string) int {
	if s == "" {
		return 0
	}
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"', s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return 0
}

// Columns returns the columns where a flow scalar begins and ends (exclusive) on a line, including its quotes. Both are
// 0 if it does not end on that line.
func Columns(line []rune, column int, n *yaml.Node) (int, int) {
	if column < 1 || column > len(line) {
		return 0, 0
	}
	line = line[column-1:]
	rest := string(line[:min(len(line), 4096+12*len(n.Value))]) // with escapes, and an anchor or tag; a line can be a whole file
	if n.Kind != yaml.AliasNode {
		before := properties(rest)
		column, rest = column+utf8.RuneCountInString(rest[:before]), rest[before:]
	}
	if rest != "" && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && (rest[0] == '"' || rest[0] == '\'') {
		if length := QuotedLength(rest); length > 0 {
			return column, column + utf8.RuneCountInString(rest[:length])
		}
		return 0, 0
	}
	before, _, ok := strings.Cut(rest, n.Value)
	if !ok {
		return 0, 0
	}
	at := column + utf8.RuneCountInString(before)
	return at, at + utf8.RuneCountInString(n.Value)
}
