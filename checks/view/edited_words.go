package view

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// WordSpan is a part of a text.
type WordSpan struct {
	Text    string
	Differs bool // not part of the other text
}

// maxBytes is the maximum length of a text that is compared word by word. In a longer text, only the common words at the
// beginning and the end are found.
const maxBytes = 8 << 10

// maxWords is maxEdits for words; it is lower, since there can be thousands of edited lines.
const maxWords = 200

// WordsOf splits an earlier and a later text into common and differing spans; the spans of a text together are the
// text. If they have almost nothing in common, there is one differing span.
func WordsOf(was, now string) (a, b []WordSpan) {
	most := maxWords
	if len(was) > maxBytes || len(now) > maxBytes {
		most = 0
	}
	old, new := split(was), split(now)
	var list []run
	for _, e := range edits(old, new, most) {
		if last := len(list) - 1; last < 0 || list[last].differs() != (e != ' ') {
			list = append(list, run{})
		}
		at := &list[len(list)-1]
		switch e {
		case ' ':
			at.same, old, new = append(at.same, new[0]), old[1:], new[1:]
		case '-':
			at.old, old = append(at.old, old[0]), old[1:]
		default:
			at.new, new = append(at.new, new[0]), new[1:]
		}
	}
	return spans(joined(list)...)
}

// run is a part of both texts, in words: equal, or differing.
type run struct{ same, old, new []string }

func (r run) differs() bool { return r.same == nil }

// add appends another run as differing words.
func (r run) add(other run) run {
	r.old = append(append(r.old, other.same...), other.old...)
	r.new = append(append(r.new, other.same...), other.new...)
	return r
}

// joined merges differing runs that are separated by punctuation only. If too little is between them, it merges all:
// two digests, for example, have equal parts by chance.
func joined(list []run) (out []run) {
	for i, r := range list {
		last := len(out) - 1
		between := !r.differs() && last >= 0 && i+1 < len(list) && weight(r.same) == 0 && len(strings.Join(r.same, "")) <= 3
		if last >= 0 && out[last].differs() && (between || r.differs()) {
			out[last] = out[last].add(r)
			continue
		}
		out = append(out, r)
	}
	first, end := 0, len(out)
	if first < end && !out[first].differs() {
		first++
	}
	if end > first && !out[end-1].differs() {
		end--
	}
	common, all := 0, 0
	for _, r := range out[first:end] {
		common += weight(r.same)
		all += weight(r.same) + max(weight(r.old), weight(r.new))
	}
	if end-first > 1 && common*4 <= all {
		one := out[first]
		for _, r := range out[first+1 : end] {
			one = one.add(r)
		}
		out = append(append(out[:first:first], one), out[end:]...)
	}
	return out
}

// weight counts the letters and digits in words.
func weight(list []string) (n int) {
	for _, s := range list {
		if r, _ := utf8.DecodeRuneInString(s); isWord(r) {
			n += utf8.RuneCountInString(s)
		}
	}
	return n
}

// spans converts runs to parts of each text.
func spans(list ...run) (a, b []WordSpan) {
	add := func(to []WordSpan, words []string, differs bool) []WordSpan {
		if text := strings.Join(words, ""); text != "" {
			return append(to, WordSpan{text, differs})
		}
		return to
	}
	for _, r := range list {
		if !r.differs() {
			a, b = add(a, r.same, false), add(b, r.same, false)
			continue
		}
		a, b = add(a, r.old, true), add(b, r.new, true)
	}
	return a, b
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// split splits a text into words: letters and digits, including the dots of versions and addresses, spaces, and single
// other characters.
func split(s string) (list []string) {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	kind := func(i int, r rune) int {
		switch {
		case isWord(r), r == '.' && digit(i-1) && digit(i+1):
			return 1
		case r == ' ':
			return 2
		}
		return 0
	}
	start, last := 0, 0
	for i, r := range s {
		k := kind(i, r)
		if i > start && (k == 0 || k != last) {
			list, start = append(list, s[start:i]), i
		}
		last = k
	}
	if start < len(s) {
		list = append(list, s[start:])
	}
	return list
}
