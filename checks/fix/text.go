package fix

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is a file with the offsets of its lines.
type text struct {
	data    []byte
	starts  []int // of each line
	newline string
}

func newText(data []byte) *text {
	t := &text{data: data, starts: []int{0}, newline: "\n"}
	for i, b := range data {
		if b == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	if bytes.Contains(data, []byte("\r\n")) {
		t.newline = "\r\n"
	}
	return t
}

// positioned reports whether lines mean the same to the parser and to [newText]: YAML 1.1 knows more line breaks.
func positioned(data []byte) bool {
	s := string(data)
	return !strings.ContainsAny(s, "\u0085\u2028\u2029") && strings.Count(s, "\r") == strings.Count(s, "\r\n")
}

// offset is where a node starts: its anchor or tag, if it has one. Columns count characters.
func (t *text) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(t.starts) {
		return len(t.data)
	}
	at := t.starts[n.Line-1]
	if n.Line == 1 {
		at += len(t.data) - len(bytes.TrimPrefix(t.data, []byte("\xef\xbb\xbf")))
	}
	for range n.Column - 1 {
		if at >= len(t.data) {
			break
		}
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	return at
}

// lineEnd is the offset behind the last line break of the line that holds an offset, or the end of the file.
func (t *text) lineEnd(at int) int {
	if i := bytes.IndexByte(t.data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(t.data)
}

func (t *text) lineStart(at int) int { return bytes.LastIndexByte(t.data[:at], '\n') + 1 }

// alone reports whether nothing but spaces stands before an offset on its line.
func (t *text) alone(at int) bool {
	return strings.Trim(string(t.data[t.lineStart(at):at]), " ") == ""
}

// end is the offset behind the last character of a value, false where that cannot be told.
func (t *text) end(n *yaml.Node) (int, bool) {
	at := t.offset(n)
	if at >= len(t.data) {
		return 0, false
	}
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return 0, false
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return at + 1 + len(n.Value), true
	case n.Kind == yaml.ScalarNode:
		return t.scalarEnd(n, at)
	case n.Style&yaml.FlowStyle != 0:
		return t.flowEnd(at)
	case len(n.Content) > 0:
		return t.end(n.Content[len(n.Content)-1])
	}
	return 0, false
}

func (t *text) scalarEnd(n *yaml.Node, at int) (int, bool) {
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return t.blockEnd(at), true
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return t.quotedEnd(at)
	}
	// A plain scalar on several lines reads as if these were one.
	i := at
	for value := n.Value; value != ""; {
		if i >= len(t.data) {
			return 0, false
		}
		if t.data[i] == value[0] {
			i, value = i+1, value[1:]
			continue
		}
		rest := strings.TrimLeft(value, " \n")
		if rest == value || strings.IndexByte(" \r\n", t.data[i]) < 0 {
			return 0, false
		}
		value = rest
		for i < len(t.data) && strings.IndexByte(" \r\n", t.data[i]) >= 0 {
			i++
		}
	}
	return i, true
}

// blockEnd is behind the last line of a literal or folded scalar: those indented as deep as its first one.
func (t *text) blockEnd(at int) int {
	end, indent := t.lineEnd(at), -1
	for next := end; next < len(t.data); next = t.lineEnd(next) {
		line := strings.TrimRight(string(t.data[next:t.lineEnd(next)]), "\r\n")
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

func (t *text) quotedEnd(at int) (int, bool) {
	quote := t.data[at]
	if quote != '\'' && quote != '"' {
		return 0, false
	}
	for i := at + 1; i < len(t.data); i++ {
		switch {
		case quote == '"' && t.data[i] == '\\':
			i++
		case t.data[i] != quote:
		case quote == '\'' && i+1 < len(t.data) && t.data[i+1] == quote:
			i++
		default:
			return i + 1, true
		}
	}
	return 0, false
}

// flowEnd is behind the bracket that closes the one at an offset.
func (t *text) flowEnd(at int) (int, bool) {
	depth := 0
	for i := at; i < len(t.data); i++ {
		switch b := t.data[i]; b {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '\'', '"':
			// Inside of a plain scalar a quote is a character like any other.
			if strings.IndexByte(" \t\r\n,[{:", t.data[i-1]) < 0 {
				continue
			}
			end, ok := t.quotedEnd(i)
			if !ok {
				return 0, false
			}
			i = end - 1
		case '#':
			if strings.IndexByte(" \t\r\n", t.data[i-1]) >= 0 {
				i = t.lineEnd(i) - 1
			}
		}
	}
	return 0, false
}

// scalarSpan replaces the content of a scalar and leaves its quotes.
func (t *text) scalarSpan(n *yaml.Node, value string) (span, bool) {
	end, ok := t.end(n)
	if !ok || n.Kind != yaml.ScalarNode {
		return span{}, false
	}
	start := t.offset(n)
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		start, end = start+1, end-1
	}
	return span{start, end, value}, true
}

// shift indents lines of a text by more spaces; empty lines stay empty.
func shift(lines string, by int) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(lines, "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return b.String()
}
