package render

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// manifestText is the text of a manifest with the offsets of its lines.
type manifestText struct{ doc.Offsets }

// extent returns the bytes whose origin is the origin of a field: those of a scalar, or of the key of a map or a list.
func (t manifestText) extent(s spot) (at, length int) {
	n := s.value
	if n.Kind != yaml.ScalarNode && s.key != nil {
		n = s.key
	}
	for len(n.Content) > 0 && n.Kind != yaml.ScalarNode {
		n = n.Content[0]
	}
	return t.scalar(n)
}

// scalar returns the bytes of a scalar, without its quotes, which the template wrote: of a folded one those of its first
// line, and one byte of a plain one on several lines.
func (t manifestText) scalar(n *yaml.Node) (at, length int) {
	at, end, ok := t.Span(n)
	if n.Kind != yaml.ScalarNode || !ok {
		return min(t.Of(n), len(t.Text)), 0
	}
	text := t.Text[at:end]
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		mark, inner, _ := strings.Cut(text, "\n")
		if n.Style&yaml.FoldedStyle != 0 {
			inner, _, _ = strings.Cut(inner, "\n")
		}
		trimmed := strings.TrimLeft(inner, " ")
		return min(end, at+len(mark)+1+len(inner)-len(trimmed)), len(strings.TrimRight(trimmed, "\n"))
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		if len(text) > 2 {
			return at + 1, len(text) - 2
		}
	case text != n.Value:
		return at, min(1, len(text))
	}
	return at, len(text)
}

// mapping returns the bytes of a map from its first key to the end of its last line, or all bytes of a flow map or null.
func (t manifestText) mapping(n *yaml.Node) (at, length int) {
	at, end, ok := t.Span(n)
	if !ok {
		return min(t.Of(n), len(t.Text)), 0
	}
	if !strings.HasSuffix(t.Text[:end], "\n") {
		line, _, _ := strings.Cut(t.Text[end:], "\n")
		end += len(line)
	}
	return at, end - at
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// has reports whether the repository has a file.
func (b *builder) has(name string) bool {
	_, _, err := b.lookup(name)
	return err == nil
}
