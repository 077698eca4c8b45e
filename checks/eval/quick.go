package eval

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// Limits of the fast parser; larger documents are left to the YAML parser, which has its own limits.
const (
	quickDepth = 60
	quickNodes = 100_000
)

// reader parses one document in the style of tools. Every method returns false for YAML that it does not support, which
// ends parsing.
type reader struct {
	rest   string // what follows the present line
	line   string // the present line without its indentation and line end, empty at the end
	indent int
	raw    string // the present line as it stands, with its line end
	nodes  int
	depth  int
	last   bool // there is no present line
}

// quick reads a document. The object is nil when the document is empty.
func quick(text string) (map[string]any, bool) {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' || c >= 0x7f {
			return nil, false // tabs, other line ends, and text in other scripts
		}
	}
	if strings.HasPrefix(text, "---") {
		marker, rest, _ := strings.Cut(text[3:], "\n")
		if marker != "" && marker[0] != ' ' {
			return nil, false
		}
		if marker = strings.TrimLeft(marker, " "); marker != "" && marker[0] != '#' {
			return nil, false
		}
		text = rest
	}
	r := &reader{rest: text}
	r.next()
	if r.last {
		return nil, true
	}
	if r.indent != 0 || isItem(r.line) {
		return nil, false
	}
	m, ok := r.mapping(0)
	return m, ok && r.last
}

// next goes to the next line that is neither blank nor a comment.
func (r *reader) next() {
	for r.rest != "" {
		r.advance()
		if r.line != "" && r.line[0] != '#' {
			return
		}
	}
	r.last, r.line, r.indent = true, "", -1
}

// advance goes to the next line, whatever it holds.
func (r *reader) advance() {
	end := strings.IndexByte(r.rest, '\n')
	if end < 0 {
		r.raw, r.rest = r.rest, ""
		end = len(r.raw)
	} else {
		r.raw, r.rest = r.rest[:end+1], r.rest[end+1:]
	}
	l := r.raw[:end]
	start := 0
	for start < end && l[start] == ' ' {
		start++
	}
	for end > start && l[end-1] == ' ' {
		end--
	}
	r.line, r.indent = l[start:end], start
}

func isItem(line string) bool { return line == "-" || strings.HasPrefix(line, "- ") }

func (r *reader) enter() bool {
	r.nodes++
	r.depth++
	return r.nodes <= quickNodes && r.depth <= quickDepth
}

// mapping reads the entries at an indentation. The present line is the first of them.
func (r *reader) mapping(indent int) (map[string]any, bool) {
	if !r.enter() {
		return nil, false
	}
	m := make(map[string]any, 4)
	for r.indent == indent && !isItem(r.line) {
		key, value, ok := entry(r.line)
		if !ok {
			return nil, false
		}
		if _, twice := m[key]; twice {
			return nil, false
		}
		v, ok := r.value(value, indent, true)
		if !ok {
			return nil, false
		}
		m[key] = v
	}
	r.depth--
	return m, r.indent < indent || r.indent == indent && isItem(r.line)
}

// sequence reads the items at an indentation. The present line is the first of them.
func (r *reader) sequence(indent int) ([]any, bool) {
	if !r.enter() {
		return nil, false
	}
	list := make([]any, 0, 2)
	for r.indent == indent && isItem(r.line) {
		item := strings.TrimLeft(r.line[1:], " ")
		var v any
		ok := true
		if isItem(item) {
			return nil, false
		}
		if _, _, isEntry := entry(item); isEntry {
			// The item is a mapping that starts on this line.
			r.indent += len(r.line) - len(item)
			r.line = item
			v, ok = r.mapping(r.indent)
		} else {
			v, ok = r.value(item, indent, false)
		}
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	r.depth--
	return list, r.indent <= indent
}

// value reads what follows a key or the dash of an item, and goes to the line behind it. A list below a key may
// stand at the indentation of the key.
func (r *reader) value(text string, indent int, key bool) (any, bool) {
	if r.nodes++; r.nodes > quickNodes {
		return nil, false
	}
	if text == "" || text[0] == '#' {
		r.next()
		switch {
		case r.indent > indent && isItem(r.line), key && r.indent == indent && isItem(r.line):
			return r.sequence(r.indent)
		case r.indent > indent:
			if _, _, ok := entry(r.line); !ok {
				return nil, false
			}
			return r.mapping(r.indent)
		}
		return nil, true
	}
	var v any
	var ok bool
	switch text[0] {
	case '|':
		return r.literal(text, indent)
	case '"', '\'':
		v, ok = quoted(text)
	case '{':
		v, ok = map[string]any{}, text == "{}"
	case '[':
		v, ok = []any{}, text == "[]"
	default:
		v, ok = plain(text)
	}
	r.next()
	// What is indented deeper would continue the scalar.
	return v, ok && r.indent <= indent
}

// literal reads a block scalar "|" or "|-".
func (r *reader) literal(header string, indent int) (any, bool) {
	if header != "|" && header != "|-" {
		return nil, false
	}
	var b strings.Builder
	content, end := 0, 0 // the indentation of the text, and where the text ends without trailing blank lines
	for {
		if r.rest == "" {
			r.last, r.line, r.indent = true, "", -1
			break
		}
		r.advance()
		if content == 0 {
			if r.line == "" || r.indent <= indent {
				return nil, false // leading blank lines, or no text at all
			}
			content = r.indent
		}
		blank := r.line == ""
		if !blank && r.indent < content {
			if r.line[0] == '#' {
				r.next()
			}
			break
		}
		if !strings.HasSuffix(r.raw, "\n") {
			return nil, false
		}
		if len(r.raw) <= content {
			b.WriteByte('\n') // blank, and no deeper than the text
		} else {
			b.WriteString(r.raw[content:])
			blank = false
		}
		if !blank {
			end = b.Len()
		}
	}
	s := b.String()[:end]
	if header == "|-" {
		s = strings.TrimSuffix(s, "\n")
	}
	return s, true
}

// entry splits "key: value". The key is one that can only be a string.
func entry(line string) (key, value string, ok bool) {
	var end int
	if line != "" && (line[0] == '"' || line[0] == '\'') {
		end = strings.IndexByte(line[1:], line[0]) + 2
		if end < 2 || end == len(line) || line[end] != ':' || strings.IndexByte(line[:end], '\\') >= 0 {
			return "", "", false
		}
		key = line[1 : end-1]
	} else {
		for end < len(line) && keyByte(line[end]) {
			end++
		}
		if end == 0 || end == len(line) || line[end] != ':' || !letter(line[0]) || word(line[:end]) {
			return "", "", false
		}
		key = line[:end]
	}
	value = line[end+1:]
	if value != "" && value[0] != ' ' || end > 1000 {
		return "", "", false
	}
	return key, strings.TrimLeft(value, " "), true
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func keyByte(c byte) bool {
	return letter(c) || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '/'
}

// word reports whether a plain scalar that starts with a letter may be something else than a string.
func word(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

// quoted reads a scalar in quotes that stands on one line and needs no unescaping.
func quoted(text string) (any, bool) {
	end := strings.IndexByte(text[1:], text[0]) + 1
	if end < 1 {
		return nil, false
	}
	s, after := text[1:end], text[end+1:]
	if strings.IndexByte(s, '\\') >= 0 && text[0] == '"' {
		return nil, false
	}
	trimmed := strings.TrimLeft(after, " ")
	return s, after == "" || trimmed != after && trimmed[0] == '#'
}

// plain reads a scalar without quotes that stands on one line.
func plain(text string) (any, bool) {
	c := text[0]
	if strings.IndexByte("?:,[]{}#&*!|>'\"%@`", c) >= 0 || strings.HasPrefix(text, "---") {
		return nil, false
	}
	if i := strings.Index(text, " #"); i >= 0 {
		text = strings.TrimRight(text[:i], " ")
	}
	if text[len(text)-1] == ':' || strings.Contains(text, ": ") {
		return nil, false
	}
	switch {
	case letter(c):
		if !word(text) {
			return text, true
		}
		switch text {
		case "true":
			return true, true
		case "false":
			return false, true
		case "null", "Null", "NULL":
			return nil, true
		}
	case c == '~' && len(text) == 1:
		return nil, true
	case c >= '0' && c <= '9':
		if len(text) < 18 && (c != '0' || len(text) == 1) {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return n, true
			}
		}
		// A prefix makes other digits, two dots or a letter make it a string.
		prefixed := c == '0' && len(text) > 1 && letter(text[1])
		if !prefixed && (strings.IndexFunc(text, notNumeric) >= 0 || strings.Count(text, ".") > 1) {
			return text, true
		}
	case c == '-' && len(text) > 1 && (text[1] == '-' || letter(text[1])):
		return text, true
	case c == '/' || c == '_' || c == '$' || c == '(':
		return text, true
	}
	return resolved(text)
}

// notNumeric reports whether a character occurs in no decimal number of YAML.
func notNumeric(c rune) bool { return !strings.ContainsRune("0123456789eE_.+-:", c) }

// resolved asks the YAML parser what a scalar is.
func resolved(text string) (any, bool) {
	documents, err := doc.Parse("", []byte(text), doc.Limits{})
	if err != nil || len(documents) != 1 {
		return nil, false
	}
	n := documents[0]
	if n.Kind != yaml.ScalarNode || n.Value != text || n.Style != 0 {
		return nil, false
	}
	scalar, problem := doc.Plain("", n)
	return policy.Value(scalar), problem == nil
}
