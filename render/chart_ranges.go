package render

import (
	"path"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// manifestText is the text of a manifest with where its lines begin.
type manifestText struct {
	text  string
	lines []int
}

func newManifestText(text string) *manifestText {
	t := &manifestText{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// offset returns where a node begins.
func (t *manifestText) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(t.lines) {
		return len(t.text)
	}
	at := t.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(t.text) {
			break
		}
		at++
		for at < len(t.text) && t.text[at]&0xC0 == 0x80 {
			at++
		}
	}
	return at
}

// extent returns the bytes that tell where a field is from: a scalar, or the key in front of a map or a list.
func (t *manifestText) extent(s spot) (at, length int) {
	n := s.value
	if n.Kind != yaml.ScalarNode {
		switch {
		case s.key != nil:
			n = s.key
		default:
			for len(n.Content) > 0 && n.Kind != yaml.ScalarNode {
				n = n.Content[0]
			}
		}
	}
	at, length = t.scalar(n)
	return at, min(length, len(t.text)-at)
}

// scalar returns the bytes of a scalar.
func (t *manifestText) scalar(n *yaml.Node) (at, length int) {
	if n.Kind != yaml.ScalarNode {
		return min(t.offset(n), len(t.text)), 0
	}
	at = min(t.offset(n), len(t.text))
	rest := t.text[at:]
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		if i := strings.IndexAny(rest, " \t"); i >= 0 {
			skipped := len(rest[i:]) - len(strings.TrimLeft(rest[i:], " \t"))
			at, rest = at+i+skipped, rest[i+skipped:]
		}
	}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		lines := strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
		if n.Line >= len(t.lines) {
			return at, min(1, len(rest))
		}
		begin, end := t.lines[n.Line], len(t.text)
		if n.Style&yaml.FoldedStyle == 0 && n.Line+lines < len(t.lines) {
			end = t.lines[n.Line+lines]
		} else if n.Style&yaml.FoldedStyle != 0 && n.Line+1 < len(t.lines) {
			end = t.lines[n.Line+1]
		}
		inner := t.text[begin:end]
		trimmed := strings.TrimLeft(inner, " ")
		return begin + len(inner) - len(trimmed), len(strings.TrimRight(trimmed, "\n"))
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		length = quotedLength(rest)
		if length > 2 {
			return at + 1, length - 2 // without the quotes, which templates spell
		}
		return at, length
	case strings.HasPrefix(rest, n.Value):
		return at, len(n.Value)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return at, min(1, len(line))
}

// quotedLength returns how many bytes a quoted scalar has that a text begins with.
func quotedLength(s string) int {
	if s == "" {
		return 0
	}
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

// mapping returns the bytes of a map from its first key, or of a flow map or null as a whole.
func (t *manifestText) mapping(n *yaml.Node) (at, length int) {
	at = t.offset(n)
	end := min(t.end(n), len(t.text))
	if at >= end {
		return at, 0
	}
	return at, end - at
}

// end returns where what is in a node ends, at the end of its line.
func (t *manifestText) end(n *yaml.Node) int {
	at := t.offset(n)
	for _, c := range n.Content {
		at = max(at, t.end(c))
	}
	if len(n.Content) > 0 {
		return at
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return t.lines[min(len(t.lines)-1, n.Line+strings.Count(n.Value, "\n"))]
	}
	rest, _, _ := strings.Cut(t.text[min(at, len(t.text)):], "\n")
	return at + len(rest)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// inFolder is the path of a file in a folder of a tree.
func inFolder(dir, name string) string { return path.Join(dir, name) }

// has reports whether the repository has a file.
func (r *Renderer) has(name string) bool {
	_, _, err := r.lookup(name)
	return err == nil
}
