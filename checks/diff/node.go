package diff

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	yaml2 "go.yaml.in/yaml/v2"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// fieldPath is the path of a value in its object.
type fieldPath struct {
	up   *fieldPath
	key  string // as in a JSON Pointer, unescaped
	name string // printed form: .key, [name] or [0]
}

// pointer returns the path as JSON Pointer (RFC 6901).
func (p *fieldPath) pointer() string {
	if p == nil || p.up == nil {
		return ""
	}
	return p.up.pointer() + "/" + jsonpointer.Escape(p.key)
}

// container returns the path of the mapping or list that contains the value.
func (p *fieldPath) container() *fieldPath {
	if p.up == nil {
		return p
	}
	return p.up
}

// String returns the path in its printed form.
func (p *fieldPath) String() string {
	if p == nil || p.up == nil {
		return ""
	}
	return strings.TrimPrefix(p.up.String()+p.name, ".")
}

// node is a value with the position at which it is printed.
type node struct {
	at     *fieldPath
	value  any
	lead   string // text before the value on its line
	indent int    // of the value's further lines
	keyed  bool   // lead is a key, with its colon
}

func (n node) with(value any) node {
	n.value = value
	return n
}

func (n node) line(text string, part int) report.DiffLine {
	return report.DiffLine{Sign: " ", Text: text, Field: n.at.pointer(), Part: part}
}

// entry returns the i-th entry of a mapping; n is the node that open returned.
func (n node) entry(i int, key string) node {
	lead := strings.Repeat(" ", n.indent)
	if i == 0 && n.lead != "" {
		lead = n.lead
	}
	name := "." + key
	if strings.ContainsAny(key, "./[] ") {
		name = "[" + key + "]"
	}
	return node{at: &fieldPath{n.at, key, name}, lead: lead + scalar(key) + ":", indent: n.indent, keyed: true}
}

// element returns the i-th printed element of a list; n is the node that open returned. index is its index in the list.
func (n node) element(i, index int, value any) node {
	lead := strings.Repeat(" ", n.indent)
	if i == 0 && n.lead != "" {
		lead = n.lead
	}
	key := strconv.Itoa(index)
	name := "[" + key + "]"
	if own := nameOf(value); own != "" {
		name = "[" + own + "]"
	}
	return node{at: &fieldPath{n.at, key, name}, lead: lead + "- ", indent: n.indent + 2}
}

// open returns the value's own lines, and for a nonempty mapping or list the node in which its elements are.
func (n node) open() (lines []report.DiffLine, inner node) {
	space := ""
	if n.keyed {
		space = " "
	}
	inner = node{at: n.at, value: n.value, lead: n.lead, indent: n.indent}
	down := 0
	switch v := n.value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return []report.DiffLine{n.line(n.lead+space+"{}", 0)}, node{}
		}
		down = 2
	case []any:
		if len(v) == 0 {
			return []report.DiffLine{n.line(n.lead+space+"[]", 0)}, node{}
		}
	default:
		if lines := n.block(); lines != nil {
			return lines, node{}
		}
		return []report.DiffLine{n.line(n.lead+space+scalar(v), 0)}, node{}
	}
	if n.keyed {
		inner.lead, inner.indent = "", n.indent+down
		return []report.DiffLine{n.line(n.lead, 0)}, inner
	}
	return nil, inner
}

// elements returns the elements of a mapping or list; n is the node that open returned.
func (n node) elements() (list []node) {
	switch v := n.value.(type) {
	case map[string]any:
		for i, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, n.entry(i, key).with(v[key]))
		}
	case []any:
		for i, value := range v {
			list = append(list, n.element(i, i, value).with(value))
		}
	}
	return list
}

// head appends the lines of a value until there are most.
func (n node) head(list []report.DiffLine, most int) []report.DiffLine {
	lines, inner := n.open()
	list = append(list, lines...)
	if inner.at == nil {
		return list
	}
	for _, e := range inner.elements() {
		if len(list) >= most {
			break
		}
		list = e.head(list, most)
	}
	return list
}

// tail appends the last lines of a value, the last one first, until there are most.
func (n node) tail(list []report.DiffLine, most int) []report.DiffLine {
	lines, inner := n.open()
	if inner.at != nil {
		for _, e := range slices.Backward(inner.elements()) {
			if len(list) >= most {
				return list
			}
			list = e.tail(list, most)
		}
	}
	for _, l := range slices.Backward(lines) {
		list = append(list, l)
	}
	return list
}

// breaks are characters that end a line in YAML 1.1 (https://yaml.org/spec/1.1/#b-char). They are escaped.
const breaks = "\r\u0085\u2028\u2029"

// block returns the lines of a string of several lines, nil for other values. It uses the literal style. A string that
// this style cannot contain, such as one with carriage returns, is quoted with one line for each of its lines. The YAML
// library would quote the whole string on one line because of one space at the end of a line, a tab, or a character
// outside of the Basic Multilingual Plane.
func (n node) block() []report.DiffLine {
	s, ok := n.value.(string)
	if !ok || !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
		return nil
	}
	lead, indent := n.lead, n.indent
	if n.keyed {
		lead, indent = lead+" ", indent+2
	}
	space := strings.Repeat(" ", indent)
	texts := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if strings.ContainsFunc(s, unprintable) {
		return n.quoted(lead, space, s, texts)
	}
	lines := []report.DiffLine{n.line(lead+literal(s), 0)}
	for i, text := range texts {
		if text != "" {
			text = space + text
		}
		lines = append(lines, n.line(text, i+1))
	}
	return lines
}

// unprintable reports whether a character cannot be written in a string as it is, or would be invisible.
func unprintable(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d': // the last two join letters and emoji
		return false
	}
	return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r)
}

// literal returns the header of a literal block scalar (https://yaml.org/spec/1.2.2/#81-block-scalar-styles): its
// indentation if the first line does not show it, and how it treats line breaks at the end.
func literal(s string) string {
	head := "|"
	if strings.ContainsAny(s[:1], " \t\n") {
		head += "2"
	}
	switch {
	case !strings.HasSuffix(s, "\n"):
		head += "-"
	case strings.HasSuffix(s, "\n\n"):
		head += "+"
	}
	return head
}

// quoted returns the lines of a string in double quotes, each ending with an escaped line break
// (https://yaml.org/spec/1.2.2/#731-double-quoted-style). Go's escapes are a subset of YAML's.
func (n node) quoted(lead, space, s string, texts []string) []report.DiffLine {
	lines := []report.DiffLine{n.line(lead+`"\`, 0)}
	for i, text := range texts {
		text = strconv.Quote(text)
		text = text[1 : len(text)-1]
		if strings.HasPrefix(text, " ") {
			text = `\` + text
		}
		if i+1 < len(texts) || strings.HasSuffix(s, "\n") {
			text += `\n`
		}
		lines = append(lines, n.line(space+text+`\`, i+1))
	}
	return append(lines, n.line(space+`"`, len(texts)))
}

// plain matches most strings that YAML has without quotes. It is a shortcut, since the YAML library is slow.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// reserved are words that YAML 1.1 reads as values of other types (https://yaml.org/type/).
var reserved = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true,
	"false": true, "null": true}

// scalar returns a value as YAML on one line.
func scalar(v any) string {
	if s, ok := v.(string); ok && len(s) < 64 && plain.MatchString(s) && !reserved[strings.ToLower(s)] {
		return s
	}
	if v == "<<" {
		return `"<<"` // the library does not quote it, and it would be read as a merge key
	}
	data, err := yaml2.Marshal(v)
	text := strings.TrimSuffix(string(data), "\n")
	s, isText := v.(string)
	switch {
	case err != nil:
		return fmt.Sprint(v)
	case isText && (strings.ContainsAny(s, "\n"+breaks) || text[0] == '"'):
		return strconv.Quote(s)
	case !strings.Contains(text, "\n"):
		return text
	case text[0] == '\'':
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s // the library folds it only because it is long
}
