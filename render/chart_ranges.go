package render

import (
	"cmp"
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
	return at, min(length, len(t.Text)-at)
}

// scalar returns the bytes of a scalar.
func (t manifestText) scalar(n *yaml.Node) (at, length int) {
	if n.Kind != yaml.ScalarNode {
		return min(t.Of(n), len(t.Text)), 0
	}
	at = min(t.Of(n), len(t.Text))
	rest := t.Text[at:]
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		if i := strings.IndexAny(rest, " \t"); i >= 0 {
			skipped := len(rest[i:]) - len(strings.TrimLeft(rest[i:], " \t"))
			at, rest = at+i+skipped, rest[i+skipped:]
		}
	}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		lines := strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
		if n.Line >= len(t.Lines) {
			return at, min(1, len(rest))
		}
		begin, end := t.Lines[n.Line], len(t.Text)
		if n.Style&yaml.FoldedStyle == 0 && n.Line+lines < len(t.Lines) {
			end = t.Lines[n.Line+lines]
		} else if n.Style&yaml.FoldedStyle != 0 && n.Line+1 < len(t.Lines) {
			end = t.Lines[n.Line+1]
		}
		inner := t.Text[begin:end]
		trimmed := strings.TrimLeft(inner, " ")
		return begin + len(inner) - len(trimmed), len(strings.TrimRight(trimmed, "\n"))
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		length = cmp.Or(doc.QuotedLength(rest), len(rest))
		if length > 2 {
			return at + 1, length - 2 // without the quotes, which the template wrote
		}
		return at, length
	case strings.HasPrefix(rest, n.Value):
		return at, len(n.Value)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return at, min(1, len(line))
}

// mapping returns the bytes of a map from its first key, or all bytes of a flow map or null.
func (t manifestText) mapping(n *yaml.Node) (at, length int) {
	at = t.Of(n)
	end := min(t.end(n), len(t.Text))
	if at >= end {
		return at, 0
	}
	return at, end - at
}

// end returns where the content of a node ends, at the end of its line.
func (t manifestText) end(n *yaml.Node) int {
	at := t.Of(n)
	for _, c := range n.Content {
		at = max(at, t.end(c))
	}
	if len(n.Content) > 0 {
		return at
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return t.Lines[min(len(t.Lines)-1, n.Line+strings.Count(n.Value, "\n"))]
	}
	rest, _, _ := strings.Cut(t.Text[min(at, len(t.Text)):], "\n")
	return at + len(rest)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// has reports whether the repository has a file.
func (b *builder) has(name string) bool {
	_, _, err := b.lookup(name)
	return err == nil
}
