package difference

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml2 "go.yaml.in/yaml/v2"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// path is where a value is in its object.
type path struct {
	up   *path
	key  string // as in a JSON Pointer, unescaped
	name string // for people: .key, [name] or [0]
}

// pointer is the path as JSON Pointer (RFC 6901).
func (p *path) pointer() string {
	if p == nil || p.up == nil {
		return ""
	}
	return p.up.pointer() + "/" + jsonpointer.Escape(p.key)
}

// container is the mapping or list that a value is in.
func (p *path) container() *path {
	if p.up == nil {
		return p
	}
	return p.up
}

// String is the path for people.
func (p *path) String() string {
	if p == nil || p.up == nil {
		return ""
	}
	return strings.TrimPrefix(p.up.String()+p.name, ".")
}

// node is a value and how it is printed.
type node struct {
	at     *path
	value  any
	lead   string // what stands before it on its line
	indent int    // of what is in it, on further lines
	keyed  bool   // lead is a key, with its colon
}

func (n node) with(value any) node {
	n.value = value
	return n
}

func (n node) line(text string, part int) Line {
	return Line{Sign: ' ', Text: text, Pointer: n.at.pointer(), Part: part}
}

// entry is the i-th entry of a mapping, of which n is what open returned.
func (n node) entry(i int, key string) node {
	lead := strings.Repeat(" ", n.indent)
	if i == 0 && n.lead != "" {
		lead = n.lead
	}
	name := "." + key
	if strings.ContainsAny(key, "./[] ") {
		name = "[" + key + "]"
	}
	return node{at: &path{n.at, key, name}, lead: lead + scalar(key) + ":", indent: n.indent, keyed: true}
}

// element is the i-th element of a list that is printed, of which n is what open returned; index is its own.
func (n node) element(i, index int, value any) node {
	lead := strings.Repeat(" ", n.indent)
	if i == 0 && n.lead != "" {
		lead = n.lead
	}
	key := strconv.Itoa(index)
	name := "[" + key + "]"
	if m, ok := value.(map[string]any); ok {
		if own, ok := m["name"].(string); ok && own != "" {
			name = "[" + own + "]"
		}
	}
	return node{at: &path{n.at, key, name}, lead: lead + "- ", indent: n.indent + 2}
}

// open returns the lines that a value has by itself, and for a mapping or list that holds something the node in which
// its elements are.
func (n node) open() (lines []Line, inner node) {
	space := ""
	if n.keyed {
		space = " "
	}
	inner = node{at: n.at, value: n.value, lead: n.lead, indent: n.indent}
	down := 0
	switch v := n.value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return []Line{n.line(n.lead+space+"{}", 0)}, node{}
		}
		down = 2
	case []any:
		if len(v) == 0 {
			return []Line{n.line(n.lead+space+"[]", 0)}, node{}
		}
	default:
		if lines := n.block(); lines != nil {
			return lines, node{}
		}
		return []Line{n.line(n.lead+space+scalar(v), 0)}, node{}
	}
	if n.keyed {
		inner.lead, inner.indent = "", n.indent+down
		return []Line{n.line(n.lead, 0)}, inner
	}
	return nil, inner
}

// elements are what is in a mapping or list, of which n is what open returned.
func (n node) elements() (list []node) {
	switch v := n.value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for i, key := range keys {
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
func (n node) head(list []Line, most int) []Line {
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
func (n node) tail(list []Line, most int) []Line {
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

// breaks end a line in YAML 1.1 (https://yaml.org/spec/1.1/#b-char), and are written as escapes.
const breaks = "\r\u0085\u2028\u2029"

// block are the lines of a text that is printed as a block of several; nil for others.
func (n node) block() []Line {
	s, ok := n.value.(string)
	if !ok || !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") || strings.ContainsAny(s, breaks) {
		return nil
	}
	data, err := yaml2.Marshal(s)
	first, _, _ := strings.Cut(string(data), "\n")
	if err != nil || !strings.HasPrefix(first, "|") {
		return nil
	}
	lead, indent := n.lead, n.indent
	if n.keyed {
		lead, indent = lead+" ", indent+2
	}
	space := strings.Repeat(" ", indent)
	lines := []Line{n.line(lead+first, 0)}
	for i, text := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		if text != "" {
			text = space + text
		}
		lines = append(lines, n.line(text, i+1))
	}
	return lines
}

// plain are texts that YAML has as they are, if they are no word of its own: most are. The library takes long for each.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// reserved are words that YAML 1.1 reads as something else (https://yaml.org/type/).
var reserved = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true,
	"false": true, "null": true}

// scalar is a value as YAML on one line.
func scalar(v any) string {
	if s, ok := v.(string); ok && len(s) < 64 && plain.MatchString(s) && !reserved[strings.ToLower(s)] {
		return s
	}
	if v == "<<" {
		return `"<<"` // the library leaves it to be read as a merge
	}
	data, err := yaml2.Marshal(v)
	text := strings.TrimSuffix(string(data), "\n")
	s, isText := v.(string)
	switch {
	case err != nil:
		return fmt.Sprint(v)
	case isText && (strings.ContainsAny(s, "\n"+breaks) || strings.Contains(text, "\n") && text[0] == '"'):
		quoted, _ := json.Marshal(s) // which is YAML, too
		return strings.ReplaceAll(string(quoted), "\u0085", `\u0085`)
	case !strings.Contains(text, "\n"):
		return text
	case text[0] == '\'':
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s // it is folded only because it is long
}
