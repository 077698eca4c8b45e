// Package doc parses the YAML and JSON files of a repository into nodes with line numbers, and refuses files that are
// made to exhaust memory or time.
//
// It is the first code that reads untrusted input. Aliases that multiply, anchors that contain themselves, deep
// nesting, NUL bytes and invalid UTF-8 are refused here, with a file and a line.
package doc

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits limit what one call reads. The zero value means the defaults, which no hand-written manifest reaches.
type Limits struct {
	Nodes int // nodes, counting the value of an alias at each use; default 500,000
	Depth int // nesting of maps and lists; default 100
}

func (l Limits) withDefaults() Limits {
	l.Nodes = cmp.Or(max(0, l.Nodes), 500_000)
	l.Depth = cmp.Or(max(0, l.Depth), 100)
	return l
}

// Error describes what is wrong with a file, and where. The message quotes nothing of the file.
type Error struct {
	Path    string
	Line    int // 0: the whole file
	Column  int
	Message string
	Syntax  bool // no YAML parser accepts the file; false: only Lintel refuses it

	// Unknown means that the file itself is not wrong: it uses something that only the cluster, the operator or another
	// repository has, or that Lintel does not evaluate.
	Unknown bool
	// Lacks means that the file names an object that is not in the repository. Where it was there before, its removal is the
	// error.
	Lacks bool
	// Quotes means that the message may quote text from another repository or a chart.
	Quotes bool
	// Missing is the remote source that is not available, in a form for people, and Reason is why; empty if the error
	// is about something else.
	Missing, Reason string
	// By is the line that deploys the file, as FILE:LINE; empty if the file deploys itself, or nothing does.
	By string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
}

// Parse reads all documents of a YAML or JSON file up to the first problem, and returns that with the documents before
// it. Empty documents are left out. The nodes are the documents' content as written, with lines and columns of the
// file. The limits apply to all documents together. An error is an *Error.
func Parse(path string, data []byte, limits Limits) (documents []*yaml.Node, _ error) {
	limits = limits.withDefaults()
	// The parser recurses into the nesting, so this cheapest check comes first.
	if line := deepLine(data, limits.Depth*2); line > 0 && bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) {
		return nil, &Error{Path: path, Line: line, Message: fmt.Sprintf("is nested more than %d levels deep", limits.Depth)}
	}
	m := limits.measure()
	for document, problem := range read(path, data) {
		if problem == nil {
			problem = m.document(path, document)
		}
		if problem != nil {
			return documents, problem
		}
		documents = append(documents, document)
	}
	return documents, nil
}

// Documents is like [Parse], but continues after a document with a problem. The limits apply to each document.
func Documents(path string, data []byte, limits Limits) (documents []*yaml.Node, problems []Error) {
	limits = limits.withDefaults()
	for document, problem := range read(path, data) {
		if problem == nil {
			problem = limits.measure().document(path, document)
		}
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		documents = append(documents, document)
	}
	return documents, problems
}

// read yields the documents of a file, or the problem of one that cannot be read.
func read(path string, data []byte) iter.Seq2[*yaml.Node, *Error] {
	return func(yield func(*yaml.Node, *Error) bool) {
		data = bytes.TrimPrefix(data, []byte(byteOrderMark))
		if _, wide := Narrow(data); wide {
			yield(nil, &Error{Path: path, Line: 1, Message: "is written in UTF-16: save the file as UTF-8"})
			return
		}
		if i := bytes.IndexByte(data, 0); i >= 0 {
			yield(nil, &Error{Path: path, Line: lineOf(data, i), Message: "holds a NUL byte: this is not a text file"})
			return
		}
		if !utf8.Valid(data) {
			yield(nil, &Error{Path: path, Line: lineOf(data, invalidAt(data)),
				Message: "is not valid UTF-8: save the file in that encoding"})
			return
		}
		for _, c := range chunks(data) {
			// YAML knows more line breaks than chunks does, so a chunk may contain several documents.
			breaks := Breaks(c.text)
			for decoder := yaml.NewDecoder(bytes.NewReader(c.text)); ; {
				var root yaml.Node
				err := decode(decoder, &root)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					if !yield(nil, c.syntaxError(path, err)) {
						return
					}
					break
				}
				if len(root.Content) == 0 || root.Content[0].Kind == yaml.ScalarNode && root.Content[0].ShortTag() == "!!null" {
					continue
				}
				shift(root.Content[0], c.line, breaks)
				if !yield(root.Content[0], nil) {
					return
				}
			}
		}
	}
}

// Narrow returns the content of a file as UTF-8 if it is marked as UTF-16, which kubectl, Argo CD and kustomize read as
// well; false if it is not.
func Narrow(data []byte) ([]byte, bool) {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte("\xff\xfe")):
		return data, false
	}
	units := make([]uint16, 0, len(data)/2)
	for at := 2; at+1 < len(data); at += 2 {
		units = append(units, order.Uint16(data[at:]))
	}
	return []byte(string(utf16.Decode(units))), true
}

// decode turns a panic of the parser into an error. It panics on some malformed input.
func decode(decoder *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("yaml: the parser crashed on this file")
		}
	}()
	return decoder.Decode(into)
}

type measure struct {
	budget, depth int
	open          map[*yaml.Node]bool // anchors whose content is being visited
}

func (l Limits) measure() *measure {
	return &measure{budget: l.Nodes, depth: l.Depth, open: map[*yaml.Node]bool{}}
}

func (m *measure) document(path string, n *yaml.Node) *Error {
	err := m.walk(n, 1)
	if err != nil {
		err.Path = path
	}
	return err
}

func (m *measure) walk(n *yaml.Node, depth int) *Error {
	if m.budget--; m.budget < 0 {
		return &Error{Line: n.Line, Column: n.Column,
			Message: "is too large once its aliases are replaced: use fewer aliases or split the file"}
	}
	if depth > m.depth {
		return &Error{Line: n.Line, Column: n.Column, Message: fmt.Sprintf("is nested more than %d levels deep", m.depth)}
	}
	if n.Kind == yaml.AliasNode {
		target := n.Alias
		if m.open[target] {
			return &Error{Line: n.Line, Column: n.Column, Message: "has an alias inside the value it stands for, " +
				"so that it contains itself: write the value out"}
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

// deepLine returns the first line where more than limit flow brackets or block indicators are open, 0 if there is none.
// It may count too many, such as brackets in strings.
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

func lineOf(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

func invalidAt(data []byte) int {
	for i, r := range string(data) {
		if r == utf8.RuneError && !bytes.HasPrefix(data[i:], []byte(string(r))) {
			return i
		}
	}
	return 0
}

// Vet refuses files that Parse would refuse because of their cost. It parses a file only if that can be costly: if it
// has an anchor. Invalid YAML may pass. An error is an *Error.
func Vet(path string, data []byte, limits Limits) error {
	limits = limits.withDefaults()
	if bytes.IndexByte(data, '&') >= 0 || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) ||
		deepIndent(data, limits.Depth) || deepLine(data, limits.Depth*2) > 0 {
		_, err := Parse(path, data, limits)
		return err
	}
	return nil
}

// deepIndent reports whether a file may be nested deeper than limit: a line is indented that far, or opens that many
// brackets.
func deepIndent(data []byte, limit int) bool {
	indent, start, brackets := 0, true, 0
	for _, c := range data {
		switch c {
		case '\n':
			indent, start = 0, true
		case ' ', '-', '?':
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
