package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxReadings = 16 // of one text: it may be quoted several times in different ways
	cutText     = 4  // minimum bytes of a value's beginning that is recognized before a cut
	minEncoded  = 7  // minimum characters of base64 that are not equal by chance
	coreBytes   = 96 // bytes of a value that are searched in base64
	wrappedLine = 32 // minimum characters of base64 in a line before it is wrapped
)

// reading is a text with some of its encoding undone. at is the position of each byte in the original text, and the end
// of the text; nil: it is the original text.
type reading struct {
	text string
	at   []int32
}

// of converts a part of the reading to a part of the original text.
func (r reading) of(s span) span {
	if r.at == nil {
		return s
	}
	return span{int(r.at[s.from]), int(r.at[s.to])}
}

// rewritten returns the reading with some parts replaced. next returns, for the text at i, how many bytes stay, and the
// text that replaces the following skip bytes.
func (r reading) rewritten(next func(i int) (keep int, text string, skip int)) reading {
	out, b := reading{at: make([]int32, 0, len(r.text)+1)}, make([]byte, 0, len(r.text))
	for i := 0; i < len(r.text); {
		keep, text, skip := next(i)
		b = append(append(b, r.text[i:i+keep]...), text...)
		for ; keep > 0; keep-- {
			out.at = append(out.at, r.place(i))
			i++
		}
		for range len(text) {
			out.at = append(out.at, r.place(i))
		}
		i += skip
	}
	out.at, out.text = append(out.at, r.place(len(r.text))), string(b)
	return out
}

func (r reading) place(i int) int32 {
	if r.at == nil {
		return int32(i)
	}
	return r.at[i]
}

// escapes are the characters that begin an escape: of JSON, YAML and Go, of URLs, of HTML, of YAML in single quotes,
// and of a space in a URL's query.
const escapes = `\%&'+`

// unescaped undoes one layer of escapes that begin with a character. It reports whether there were any.
func (r reading) unescaped(sign rune) (reading, bool) {
	if !strings.ContainsRune(r.text, sign) {
		return r, false
	}
	any := false
	out := r.rewritten(func(i int) (int, string, int) {
		keep := strings.IndexByte(r.text[i:], byte(sign))
		if keep < 0 {
			return len(r.text) - i, "", 0
		}
		escaped := r.text[i+keep:]
		s, n := unescape(escaped)
		any = any || s != escaped[:n]
		return keep, s, n
	})
	return out, any
}

// unescape decodes the escape at the beginning of a text, and returns its length in bytes.
func unescape(text string) (string, int) {
	switch {
	case text[0] == '\\' && len(text) > 1:
		if text[1] == '\n' { // continued line
			return "", len(text) - len(strings.TrimLeft(text[1:], "\n \t"))
		}
		if text[1] == '/' || text[1] == '\'' || text[1] == '"' {
			return text[1:2], 2
		}
		if text[1] == 'u' && len(text) >= 12 && text[6] == '\\' { // a surrogate pair
			var s string
			if json.Unmarshal([]byte(`"`+text[:12]+`"`), &s) == nil && utf8.RuneCountInString(s) == 1 {
				return s, 12
			}
		}
		if r, _, tail, err := strconv.UnquoteChar(text[:min(len(text), 10)], 0); err == nil && r != utf8.RuneError {
			return string(r), min(len(text), 10) - len(tail)
		}
	case text[0] == '%' && len(text) > 2:
		if c, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			return string([]byte{byte(c)}), 3
		}
	case text[0] == '&':
		if end := strings.IndexByte(text[:min(len(text), 10)], ';'); end > 0 {
			if s := html.UnescapeString(text[:end+1]); s != text[:end+1] {
				return s, end + 1
			}
		}
	case text[0] == '+':
		return " ", 1
	case strings.HasPrefix(text, "''"):
		return "'", 2
	}
	return text[:1], 1
}

// white are the characters of white space.
const white = " \n\r\t"

// folded replaces each run of white space by one space. It reports whether that changes the text.
func (r reading) folded() (reading, bool) {
	if !strings.ContainsAny(r.text, "\n\r\t") && !strings.Contains(r.text, "  ") {
		return r, false
	}
	return r.rewritten(func(i int) (int, string, int) {
		rest := r.text[i:]
		word := strings.IndexAny(rest, white)
		switch {
		case word < 0:
			return len(rest), "", 0
		case i+word == 0:
			return 0, "", len(rest) - len(strings.TrimLeft(rest, white))
		}
		return word, " ", len(rest) - word - len(strings.TrimLeft(rest[word:], white))
	}), true
}

// unwrapped removes the line breaks in long texts of base64, which kustomize and others add. It reports whether there
// were any.
func (r reading) unwrapped() (reading, bool) {
	if _, next := wrap(r.text, 0); next == 0 {
		return r, false
	}
	return r.rewritten(func(i int) (int, string, int) {
		at, next := wrap(r.text, i)
		return at - i, "", max(next-at, 0)
	}), true
}

// wrap returns the first line break in base64 after a position, and where the base64 continues; 0 if there is none.
func wrap(text string, from int) (at, next int) {
	for i := from; ; i++ {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			return len(text), 0
		}
		i += n
		end := i
		if end > from && text[end-1] == '\r' {
			end--
		}
		begin := end
		for begin > from && end-begin < wrappedLine && isBase64(rune(text[begin-1])) {
			begin--
		}
		if end-begin < wrappedLine {
			continue
		}
		if rest := strings.TrimLeft(text[i:], "\r\n \t"); rest != "" && isBase64(rune(rest[0])) {
			return end, len(text) - len(rest)
		}
	}
}

// fold returns a value as folded readings contain it.
func fold(text string) string {
	r, _ := reading{text: text}.folded()
	return strings.TrimSuffix(r.text, " ")
}

// cores returns the parts of base64 that any text with the value has, for each of the three alignments.
func cores(text string) (list []string) {
	text = text[:min(len(text), coreBytes)]
	for before := range 3 {
		all := base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00"[:before] + text))
		core := all[(before*8+5)/6 : (before+len(text))*8/6]
		if len(core) < minEncoded && before > 0 {
			continue
		}
		list = append(list, core)
		if strings.ContainsAny(core, "+/") {
			list = append(list, strings.NewReplacer("+", "-", "/", "_").Replace(core))
		}
	}
	return list
}

func isBase64(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// decoded returns the text that base64 encodes, if it is text. It accepts any padding and line breaks.
func decoded(text string) (string, bool) {
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	text = strings.NewReplacer("-", "+", "_", "/").Replace(text)
	data, err := base64.RawStdEncoding.DecodeString(text)
	binary := func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }
	if err != nil || len(data) == 0 || !utf8.Valid(data) || bytes.ContainsFunc(data, binary) {
		return "", false
	}
	return string(data), true
}
