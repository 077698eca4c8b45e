package rendertest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/render/origin"
)

// edit is one change of a source text that keeps the type of the value.
type edit struct {
	path     string
	line     int // from 1
	from, to int // runes of the line, from 0
	drop     int // lines to remove; then from and to are ignored
	text     string
	mark     string // text that a rendered value contains afterwards if it depends on the place; empty if any change counts
}

var (
	wholeNumber = regexp.MustCompile(`^-?[1-9][0-9]{0,15}$|^0$`)
	fraction    = regexp.MustCompile(`^-?[0-9]+\.[0-9]+$`)
	otherNumber = regexp.MustCompile(`^[-+]?[0-9.][0-9_a-fA-FxXoO.+-]*$`)
)

// flip returns the opposite of a word that YAML 1.1 reads as a boolean, and false for other words.
func flip(word string) (string, bool) {
	switch word {
	case "true", "True", "TRUE", "yes", "Yes", "on":
		return "false", true
	case "false", "False", "FALSE", "no", "No", "off":
		return "true", true
	}
	return "", false
}

// marker returns a word that occurs in no source.
func marker(id int) string { return fmt.Sprintf("z%dq", id) }

// newEdit returns an edit of the value at a place, false if there is nothing to change: the entry of a generator has
// values that nobody wrote. The id distinguishes the edit from others of the same rendering.
func newEdit(lines []string, p origin.Place, id int) (edit, bool) {
	e := edit{path: p.Path, line: p.StartLine, mark: marker(id)}
	if p.StartLine < 1 || p.StartLine > len(lines) {
		return e, false
	}
	if p.StartColumn > 0 && p.EndColumn > p.StartColumn {
		line := []rune(lines[p.StartLine-1])
		if p.EndColumn-1 > len(line) {
			return e, false
		}
		e.from, e.to = p.StartColumn-1, p.EndColumn-1
		e.replace(string(line[e.from:e.to]), id)
		return e, true
	}
	last := min(p.EndLine, len(lines))
	for ; last > p.StartLine && strings.TrimSpace(lines[last-1]) == ""; last-- {
	}
	if last == p.StartLine && p.EndLine > p.StartLine {
		return e, false
	}
	text := []rune(strings.TrimRight(lines[last-1], " \t\r"))
	if len(text) == 0 || last == p.StartLine && !wholeLine(string(text)) {
		return e, false
	}
	at := len(text)
	if c := text[at-1]; at > 1 && (c == '"' || c == '\'') {
		at-- // the end of a quoted scalar of several lines
	}
	e.line, e.from, e.to, e.text = last, at, at, e.mark
	return e, true
}

// wholeLine reports whether a line without columns is a line of data rather than of a kustomization.
func wholeLine(text string) bool {
	text = strings.TrimSpace(text)
	return !strings.HasPrefix(text, "- ") && !strings.HasSuffix(text, ":")
}

// replace sets the edit's new text for a token.
func (e *edit) replace(token string, id int) {
	if len(token) >= 2 && (token[0] == '"' || token[0] == '\'') && token[len(token)-1] == token[0] {
		inner := token[1 : len(token)-1]
		if token[0] == '\'' && strings.HasPrefix(inner, `{"`) {
			e.text = `'{"` + e.mark + `":"` + e.mark + `",` + inner[1:] + `'` // JSON stays JSON
			return
		}
		if base, ok := reencode(inner, e.mark); ok {
			e.text = token[:1] + base + token[:1]
			return
		}
		e.text = token[:len(token)-1] + e.mark + token[:1]
		return
	}
	switch other, isBool := flip(token); {
	case isBool:
		e.text, e.mark = other, ""
	case token == "null" || token == "~":
		e.text = e.mark
	case wholeNumber.MatchString(token):
		n, _ := strconv.ParseInt(token, 10, 64)
		e.text = strconv.FormatInt(n+100_003+int64(id)*7, 10)
		e.mark = e.text
	case fraction.MatchString(token):
		e.text = token + strconv.Itoa(id) + "1"
		e.mark = e.text
	case otherNumber.MatchString(token) && strings.ContainsAny(token, "0123456789") &&
		!strings.ContainsAny(token, "ghijklmnpqrstuvwyz"):
		// Octal and hexadecimal numbers, exponents, versions and dates keep their type with another last digit.
		at := strings.LastIndexAny(token, "0123456789")
		digit := byte('0' + (token[at]-'0'+1)%8)
		e.text, e.mark = token[:at]+string(digit)+token[at+1:], ""
	default:
		if base, ok := reencode(token, e.mark); ok {
			e.text = base
			return
		}
		e.text = token + e.mark
	}
}

// reencode adds the mark inside a base64 text, so that the result is base64, too.
func reencode(s, mark string) (string, bool) {
	if len(s) < 8 || len(s)%4 != 0 {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(data) || !strings.ContainsAny(s, "0123456789=+/") {
		return "", false
	}
	return base64.StdEncoding.EncodeToString(append(data, mark...)), true
}

// carries reports whether a rendered value contains the mark of an edit.
func (e edit) carries(value string) bool {
	if e.mark == "" {
		return false
	}
	if strings.Contains(value, e.mark) {
		return true
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
	return err == nil && strings.Contains(string(data), e.mark)
}

// apply returns a text with edits of its lines, false if the edits overlap.
func apply(lines []string, edits []edit) ([]byte, bool) {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.line-b.line, a.from-b.from) })
	out := slices.Clone(lines)
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if i > 0 && (edits[i-1].line == e.line && edits[i-1].to > e.from || edits[i-1].line+edits[i-1].drop > e.line) {
			return nil, false
		}
		if e.drop > 0 {
			var instead []string
			if e.text != "" {
				instead = []string{e.text}
			}
			out = slices.Replace(out, e.line-1, min(len(out), e.line-1+e.drop), instead...)
			continue
		}
		line := []rune(out[e.line-1])
		if e.to > len(line) {
			return nil, false
		}
		out[e.line-1] = string(line[:e.from]) + e.text + string(line[e.to:])
	}
	return []byte(strings.Join(out, "\n")), true
}
