package explain

import (
	"strings"
	"unicode"
)

// Span is a part of a text, in bytes. The zero value means the whole text, or an unknown part.
type Span struct{ From, To int }

// In returns which part of a field's text a requirement is about: the rule may have compared only a part of the text,
// such as the tag of an image.
func (h Requirement) In(text string) Span {
	if h.Of == "" || text == "" {
		return Span{}
	}
	at := placeOf(h.Of, text)
	if at == (Span{}) || h.Part == (Span{}) {
		return at.unless(len(text))
	}
	return Span{at.From + h.Part.From, at.From + h.Part.To}.unless(len(text))
}

// unless returns the zero value if the part is the whole text.
func (p Span) unless(length int) Span {
	if p.From <= 0 && p.To >= length || p.From >= p.To {
		return Span{}
	}
	return p
}

// placeOf returns where a text has one of its parts.
func placeOf(part, text string) Span {
	at := strings.Index(text, part)
	switch {
	case at < 0 && (part == "docker.io" || part == "index.docker.io"): // of an image that names no registry
		name, _, _ := strings.Cut(text, "@")
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
			name = name[:i]
		}
		return Span{0, len(name)}
	case at < 0:
		return Span{}
	case at == strings.LastIndex(text, part):
	case strings.HasSuffix(text, ":"+part):
		at = len(text) - len(part)
	case strings.HasPrefix(text, part+"/"):
	default:
		return Span{}
	}
	return Span{at, at + len(part)}
}

// Against returns the part of a text that keeps it from matching a pattern with wildcards: the first character that
// differs from the start of the pattern, or else the last one that differs from its end. Without wildcards it is
// everything from the first to the last difference.
func Against(text, pattern string) Span {
	first, last := strings.IndexAny(pattern, "*?"), strings.LastIndexAny(pattern, "*?")
	begin, end := pattern, pattern
	if first >= 0 {
		begin, end = pattern[:first], pattern[last+1:]
	}
	from := 0
	for from < min(len(text), len(begin)) && text[from] == begin[from] {
		from++
	}
	to := 0
	for to < min(len(text)-from, len(end)) && text[len(text)-1-to] == end[len(end)-1-to] {
		to++
	}
	switch {
	case first < 0:
		return Span{from, len(text) - to}.unless(len(text))
	case from < len(begin) && from < len(text):
		return Span{from, from + 1}
	case from == len(begin) && to < len(end) && to < len(text):
		return Span{len(text) - to - 1, len(text) - to}
	}
	return Span{}
}

// Like returns the part of a text that matches a pattern with wildcards: from the first to the last literal of the
// pattern, without separators around it.
func Like(text, pattern string) Span {
	words := strings.FieldsFunc(pattern, func(r rune) bool { return r == '*' || r == '?' })
	from, to := len(text), 0
	for i, w := range words {
		at := strings.Index(text[to:], w) + to
		if i == len(words)-1 && strings.HasSuffix(pattern, w) {
			at = len(text) - len(w)
		}
		if at < to {
			return Span{}
		}
		from, to = min(from, at), at+len(w)
	}
	for from < to && isSign(text[from]) {
		from++
	}
	for from < to && isSign(text[to-1]) {
		to--
	}
	return Span{from, to}.unless(len(text))
}

func isSign(c byte) bool {
	return c < unicode.MaxASCII && !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c))
}

// Furthest returns the part that starts last: if several patterns are possible, it belongs to the one that was most
// likely meant. It returns the zero value if one of the parts is zero.
func Furthest(parts ...Span) (out Span) {
	for i, p := range parts {
		if p == (Span{}) {
			return p
		}
		if i == 0 || p.From > out.From {
			out = p
		}
	}
	return out
}
