// Package source parses the YAML and JSON files of a repository into nodes that know their lines, and
// refuses what would cost more to read than it says.
//
// It is the first thing that touches foreign input: aliases that multiply, anchors that hold themselves,
// deep nesting, NUL bytes and invalid UTF-8 end here, with a file and a line.
package source

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits bound one file. The zero value means the defaults, which no hand-written manifest meets.
type Limits struct {
	Nodes int // nodes after every alias is replaced by what it stands for; default 500,000
	Depth int // nesting of maps and lists; default 100
}

func (l Limits) withDefaults() Limits {
	if l.Nodes <= 0 {
		l.Nodes = 500_000
	}
	if l.Depth <= 0 {
		l.Depth = 100
	}
	return l
}

// Error says what is wrong with a file and where. The message names no content of the file.
type Error struct {
	Path    string
	Line    int // 0: the whole file
	Column  int
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
}

// Parse reads all documents of a YAML or JSON file; empty ones are left out. The answer's nodes are the
// documents' content, with lines and columns of the file. An error is an *Error.
func Parse(path string, data []byte, limits Limits) ([]*yaml.Node, error) {
	limits = limits.withDefaults()
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, &Error{Path: path, Line: lineOf(data, i), Message: "holds a NUL byte: this is not a text file"}
	}
	if !utf8.Valid(data) {
		return nil, &Error{Path: path, Line: lineOf(data, invalidAt(data)), Message: "is not valid UTF-8: save the file in that encoding"}
	}
	// The parser's recursion follows the nesting; the cheapest bound comes before it.
	if line := deepLine(data, limits.Depth*2); line > 0 {
		return nil, &Error{Path: path, Line: line, Message: fmt.Sprintf("is nested more than %d levels deep", limits.Depth)}
	}
	var documents []*yaml.Node
	budget := limits.Nodes
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decode(decoder, &document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, syntaxError(path, err)
		}
		if len(document.Content) == 0 {
			continue
		}
		node := document.Content[0]
		if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
			continue
		}
		m := measure{budget: budget, depth: limits.Depth, open: map[*yaml.Node]bool{}}
		if err := m.walk(node, 1); err != nil {
			err.Path = path
			return nil, err
		}
		budget = m.budget
		documents = append(documents, node)
	}
}

// decode turns a panic of the parser into an error: it happens on some malformed input.
func decode(decoder *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("yaml: the parser gave up on this file")
		}
	}()
	return decoder.Decode(into)
}

type measure struct {
	budget, depth int
	open          map[*yaml.Node]bool // anchors whose content is being walked
}

func (m *measure) walk(n *yaml.Node, depth int) *Error {
	if m.budget--; m.budget < 0 {
		return &Error{Line: n.Line, Column: n.Column, Message: "is too large once its aliases are replaced: use fewer aliases or split the file"}
	}
	if depth > m.depth {
		return &Error{Line: n.Line, Column: n.Column, Message: fmt.Sprintf("is nested more than %d levels deep", m.depth)}
	}
	if n.Kind == yaml.AliasNode {
		target := n.Alias
		if m.open[target] {
			return &Error{Line: n.Line, Column: n.Column, Message: "has an alias inside the value it stands for"}
		}
		return m.walk(target, depth)
	}
	if n.Anchor != "" {
		m.open[n] = true
		defer delete(m.open, n)
	}
	for _, c := range n.Content {
		if err := m.walk(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// deepLine answers the first line whose flow brackets or block indicators open more than limit levels, 0
// for none. It counts generously, brackets in strings too.
func deepLine(data []byte, limit int) int {
	depth, line, dashes := 0, 1, 0
	for i, c := range data {
		switch c {
		case '\n':
			line++
			dashes = 0
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-', '?':
			if i+1 < len(data) && data[i+1] == ' ' {
				dashes++
			}
		}
		if depth > limit*10 || dashes > limit*2 {
			return line
		}
	}
	return 0
}

var lineInError = regexp.MustCompile(`\bline (\d+)\b`)

// syntaxError rewrites a parser's error: the line becomes a field, the prefix goes.
func syntaxError(path string, err error) *Error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{Path: path}
	if m := lineInError.FindStringSubmatch(text); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		text = strings.TrimPrefix(text, m[0]+": ")
	}
	e.Message = "is not valid YAML: " + text
	return e
}

func lineOf(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return 0
}

// Deref follows aliases to the value they stand for.
func Deref(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// IsMerge says whether a key is the merge key ("<<", https://yaml.org/type/merge.html); a tag alone makes none.
func IsMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.Tag == "!" || key.ShortTag() == "!!merge")
}

// Merged lists what the value of a merge key merges in, the first of which wins.
func Merged(value *yaml.Node) []*yaml.Node {
	value = Deref(value)
	if value == nil || value.Kind != yaml.SequenceNode {
		return []*yaml.Node{value}
	}
	list := make([]*yaml.Node, len(value.Content))
	for i, c := range value.Content {
		list[i] = Deref(c)
	}
	return list
}

// Key is the text of a key or another scalar as the readers of Kubernetes see it: aliases are followed and !!binary
// (https://yaml.org/type/binary.html) is decoded.
func Key(n *yaml.Node) string {
	n = Deref(n)
	if n.ShortTag() == "!!binary" {
		if data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), "")); err == nil {
			return string(data)
		}
	}
	return n.Value
}

// Keys lists the keys of a map and of what it merges in, with repetitions.
func Keys(n *yaml.Node) []string {
	if n = Deref(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var list []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !IsMerge(n.Content[i]) {
			list = append(list, Key(n.Content[i]))
			continue
		}
		for _, merged := range Merged(n.Content[i+1]) {
			list = append(list, Keys(merged)...)
		}
	}
	return list
}

// Field answers the key and the value of a field of a map, nil where it has none. Of a key that is written twice the
// last counts. A value that comes in by a merge key is found, too, unless the map sets the field itself.
func Field(n *yaml.Node, name string) (key, value *yaml.Node) {
	n = Deref(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := len(n.Content)&^1 - 2; i >= 0; i -= 2 {
		if k := Deref(n.Content[i]); k.Kind == yaml.ScalarNode && !IsMerge(n.Content[i]) && Key(k) == name {
			return n.Content[i], Deref(n.Content[i+1])
		}
	}
	for i := len(n.Content)&^1 - 2; i >= 0; i -= 2 {
		if !IsMerge(n.Content[i]) {
			continue
		}
		for _, m := range Merged(n.Content[i+1]) {
			if k, v := Field(m, name); v != nil {
				return k, v
			}
		}
	}
	return nil, nil
}

// Text is the value of a scalar field of a map, empty where it has none.
func Text(n *yaml.Node, name string) string {
	_, v := Field(n, name)
	if v == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return Key(v)
}

// Items lists the elements of a list field of a map.
func Items(n *yaml.Node, name string) []*yaml.Node {
	_, v := Field(n, name)
	if v == nil || v.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]*yaml.Node, len(v.Content))
	for i, c := range v.Content {
		items[i] = Deref(c)
	}
	return items
}

// Vet refuses what Parse refuses for its cost, without parsing a file that cannot be costly: one that holds no
// anchor. Broken YAML may pass. An error is an *Error.
func Vet(path string, data []byte, limits Limits) error {
	limits = limits.withDefaults()
	if bytes.IndexByte(data, '&') >= 0 || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) || deepIndent(data, limits.Depth) {
		_, err := Parse(path, data, limits)
		return err
	}
	if line := deepLine(data, limits.Depth*2); line > 0 {
		return &Error{Path: path, Line: line, Message: fmt.Sprintf("is nested more than %d levels deep", limits.Depth)}
	}
	return nil
}

// deepIndent says whether a file may be nested deeper than limit: a line is indented that far, or opens that
// many brackets.
func deepIndent(data []byte, limit int) bool {
	indent, start, brackets := 0, true, 0
	for _, c := range data {
		switch c {
		case '\n':
			indent, start = 0, true
		case ' ':
			if start {
				indent++
			}
		case '-', '?':
			if start {
				indent++
			}
		case '[', '{':
			brackets++
			start = false
		default:
			start = false
		}
		if indent > limit || brackets > limit {
			return true
		}
	}
	return false
}
