package origin

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How says how a place was found.
type How string

// The values of How, the most certain first.
const (
	Identity  How = "identity"  // the node itself kept its line through the build
	Writer    How = "writer"    // an entry of a kustomization wrote the value
	Search    How = "search"    // the same field of the source document has this value
	Enclosing How = "enclosing" // the nearest known parent: the field's own place is not known, or the field does not exist
)

// Place is where a person must edit. Lines and columns count from 1. EndColumn is after the last character. Columns are
// 0 where the place is whole lines.
type Place struct {
	Path                   string
	StartLine, EndLine     int
	StartColumn, EndColumn int
	How                    How
	// Role is "manifest", "patch", or the kustomization field that wrote the value
	Role    string
	Missing string // the end of the pointer, which does not exist below this place
	Chain   []Link // the values that were replaced, the nearest layer first
	// Set is the path of a chart's value that decides the field and that the repository does not set. The place is its
	// nearest parent, and Missing are the keys to add there.
	Set    []string
	Switch *bool // what Set must be where the template contains the field itself
	// SuggestedFix says what to do where no line of the repository decides the field; empty: edit the place.
	SuggestedFix string
	Spans        []Span // of a text that was written in several places; the place itself is that of the last part
}

// Link is a place that wrote the same field earlier.
type Link struct {
	// Path is a file of the repository, or the address of a remote one. For a file of a git repository or a chart it is
	// URL@REVISION//PATH, where the chart's name is the end of the URL. For a single file it is the URL. The line of a
	// chart's template is 1 where it is not known.
	Path               string
	StartLine, EndLine int
	Role               string
	Value              string // the value before it was replaced; empty where it is not known
}

// Span is a part of a field's text with its own place, like the tag of an image whose name an overlay replaced.
type Span struct {
	From, To int // bytes of the text
	Place    Place
}

// Within returns the place of some bytes of the field's text: that of the span that contains all of them, else p
// itself.
func (p Place) Within(from, to int) Place {
	for _, s := range p.Spans {
		if from < to && s.From <= from && to <= s.To {
			return s.Place
		}
	}
	return p
}

// piece is a part of a scalar's text, and who wrote it.
type piece struct {
	text string
	by   mark
}

// parts lists the pieces of a scalar's text in order.
func (v *value) parts() []piece {
	if v.pieces != nil {
		return v.pieces
	}
	return []piece{{v.text, v.by}}
}

// compose changes a scalar in place to a text of several pieces. by wrote the last one.
func (v *value) compose(pieces []piece, by mark) {
	v.write(join(pieces), by)
	if len(pieces) <= maxPieces {
		v.pieces = pieces
	}
}

// maxPieces limits the pieces of one text, because replacements can multiply them.
const maxPieces = 64

func join(pieces []piece) string {
	var text strings.Builder
	for _, p := range pieces {
		text.WriteString(p.text)
	}
	return text.String()
}

// cut returns the pieces of some bytes of a text.
func cut(pieces []piece, from, to int) (out []piece) {
	at := 0
	for _, p := range pieces {
		start, end := max(from-at, 0), min(to-at, len(p.text))
		if at += len(p.text); start < end {
			out = append(out, piece{p.text[start:end], p.by.within(p.text, start, end)})
		}
	}
	return out
}

// within limits a mark to some bytes of a text, if the mark's node, or its part, has that text.
func (m mark) within(text string, from, to int) mark {
	if m.node == nil || from == 0 && to == len(text) {
		return m
	}
	whole := []rune(m.node.Value)
	p := m.part
	if p == (part{}) {
		p.to = len(whole)
	}
	if p.to > len(whole) || string(whole[p.from:p.to]) != text {
		return m
	}
	p.from += utf8.RuneCountInString(text[:from])
	p.to = p.from + utf8.RuneCountInString(text[from:to])
	m.part = p
	return m
}

// elementIn returns the bounds of an element of a text that a delimiter separates. ok is false where the text has fewer
// elements.
func elementIn(text, delimiter string, index int) (from, to int, ok bool) {
	for i := 0; ; i++ {
		length := strings.Index(text[from:], delimiter)
		switch {
		case length < 0:
			return from, len(text), i == index
		case i == index:
			return from, from + length, true
		}
		from += length + len(delimiter)
	}
}

// spans returns the spans of a scalar, nil where all of it was written in one place.
func (b *Build) spans(v *value) []Span {
	if v == nil || len(v.pieces) < 2 || join(v.pieces) != v.text {
		return nil
	}
	history := v.history()
	var out []Span
	at := 0
	for _, p := range v.pieces {
		from := at
		first, last := strings.IndexFunc(p.text, IsWord), strings.LastIndexFunc(p.text, IsWord)
		if at += len(p.text); !p.by.known() || first < 0 {
			continue // unknown, or just a separator
		}
		if p.by.part != (part{}) { // leave out separators at the ends
			_, size := utf8.DecodeRuneInString(p.text[last:])
			p.by = p.by.within(p.text, first, last+size)
		}
		var before []link
		if k := slices.IndexFunc(history, func(l link) bool { return l.node == p.by.node && l.path == p.by.path }); k >= 0 {
			before = history[k+1:]
		}
		out = append(out, Span{from, at, b.place(p.by, before)})
	}
	return out
}

// IsWord reports whether a character is one of a word.
func IsWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
