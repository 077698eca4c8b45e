package doc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"
)

// Editor edits values in the text of a file, and keeps comments, order, quotes and indentation. [Editor.Apply] verifies
// the edits: the new text has to have the same values as before, except the edited ones.
type Editor struct {
	Offsets
	// KeepLines keeps every line number: removed text leaves its line breaks, and new text is added at the end.
	KeepLines bool

	documents []*yaml.Node // nil if it cannot be read
	problems  int          // how many documents cannot be read
	newline   string
}

// ErrUncertain means that a text cannot be edited without changing something else.
var ErrUncertain = errors.New("an anchor, an alias or its formatting makes that unsafe")

// NewEditor returns an editor of a file. Documents that cannot be read stay as they are.
func NewEditor(data []byte) *Editor {
	e := &Editor{Offsets: NewOffsets(string(data)), newline: "\n"}
	if strings.Contains(e.Text, "\r\n") {
		e.newline = "\r\n"
	}
	documents, problems := Documents("", data, Limits{})
	e.documents, e.problems = actions(e.Offsets, documents), len(problems)
	return e
}

// actions makes texts of the actions of a template, {{ .Values.name }}, which are maps for YAML.
func actions(o Offsets, documents []*yaml.Node) []*yaml.Node {
	for _, d := range documents {
		for n := range Nodes(d) {
			if n.Kind != yaml.MappingNode || !IsFlow(n) || len(n.Content) == 0 || n.Content[0].Kind != yaml.MappingNode {
				continue
			}
			if start, end, ok := o.Span(n); ok && strings.HasPrefix(o.Text[start:], "{{") {
				*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: o.Text[start:end], Line: n.Line, Column: n.Column}
			}
		}
	}
	return documents
}

// Editable reports whether the parser and the editor see the same lines: YAML 1.1 knows more line breaks.
func (e *Editor) Editable() bool {
	return !strings.ContainsAny(e.Text, "\u0085\u2028\u2029") && strings.Count(e.Text, "\r") == strings.Count(e.Text, "\r\n")
}

// Spot is a value in a file: of a key, in a list, or a whole document.
type Spot struct {
	Document int
	Pointer  string     // JSON Pointer (RFC 6901) in the document
	Key      *yaml.Node // nil if it has none
	Node     *yaml.Node
	In       *yaml.Node // the map or list around it, nil for a document
}

// At lists the values that begin, or whose keys begin, at a position of the file; with column 0, on a line. The outer
// ones come first.
func (e *Editor) At(line, column int) (found []Spot) {
	var walk func(s Spot)
	walk = func(s Spot) {
		for _, n := range []*yaml.Node{s.Key, s.Node} {
			if e.Begins(n, line, column) {
				found = append(found, s)
			}
		}
		step := 1
		if s.Node.Kind == yaml.MappingNode {
			step = 2
		}
		for i := 0; i+step <= len(s.Node.Content); i += step {
			first, behind := s.Node.Content[i], i+step
			if first.Line > line || behind < len(s.Node.Content) && s.Node.Content[behind].Line < line {
				continue
			}
			child := Spot{Document: s.Document, Node: s.Node.Content[behind-1], In: s.Node}
			if step == 2 {
				child.Key, child.Pointer = first, s.Pointer+"/"+jsonpointer.Escape(first.Value)
			} else {
				child.Pointer = s.Pointer + "/" + strconv.Itoa(i)
			}
			walk(child)
		}
	}
	for i, d := range e.documents {
		walk(Spot{Document: i, Node: d})
	}
	return found
}

// Edit is a change of values of one document: the pieces of text to replace, and how the values change.
type Edit struct {
	Unsafe string // why the text cannot be edited; empty if it can

	editor   *Editor
	document int
	root     *yaml.Node
	base     []string // where the root is in the document
	spans    []span
	meaning  []meaning
}

// span replaces the bytes from start to end.
type span struct {
	start, end int
	text       string
}

// meaning is how the value at a place changes.
type meaning struct {
	tokens []string
	do     func(any) any
}

// Len returns how many documents can be read.
func (e *Editor) Len() int { return len(e.documents) }

// Document returns one of the documents that can be read.
func (e *Editor) Document(i int) Spot { return Spot{Document: i, Node: e.documents[i]} }

// Edit starts an edit. Its pointers are relative to a value of the file.
func (e *Editor) Edit(s Spot) *Edit {
	return &Edit{editor: e, document: s.Document, root: s.Node, base: Tokens(s.Pointer)}
}

// Apply returns the text with the edits made. It returns [ErrUncertain] if the new text would have other values than
// the edits mean.
func (e *Editor) Apply(edits ...*Edit) ([]byte, error) {
	var spans []span
	want := make([]any, len(e.documents))
	for i, d := range e.documents {
		want[i] = Value(d, true)
	}
	for _, c := range edits {
		if c.Unsafe != "" {
			return nil, errors.New(c.Unsafe)
		}
		for _, s := range c.spans {
			if !slices.Contains(spans, s) { // the value of an alias is edited once for all its uses
				spans = append(spans, s)
			}
		}
		for _, m := range c.meaning {
			want[c.document] = with(want[c.document], m.tokens, m.do)
		}
	}
	data, ok := e.splice(spans)
	if !ok || !e.Editable() {
		return nil, ErrUncertain
	}
	now, problems := Documents("", data, Limits{})
	if len(now) != len(want) || len(problems) > e.problems {
		return nil, ErrUncertain
	}
	for i, d := range actions(NewOffsets(string(data)), now) {
		if !reflect.DeepEqual(Value(d, true), want[i]) {
			return nil, ErrUncertain
		}
	}
	return data, nil
}

// splice replaces pieces of the text. It returns false if two of them overlap.
func (e *Editor) splice(spans []span) ([]byte, bool) {
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var out bytes.Buffer
	at := 0
	for _, s := range spans {
		if s.start < at || s.end > len(e.Text) {
			return nil, false
		}
		out.WriteString(e.Text[at:s.start])
		out.WriteString(s.text)
		if e.KeepLines {
			lost := strings.Count(e.Text[s.start:s.end], "\n") - strings.Count(s.text, "\n")
			out.WriteString(strings.Repeat("\n", max(0, lost)))
		}
		at = s.end
	}
	out.WriteString(e.Text[at:])
	return out.Bytes(), true
}

// Lines returns how an edit changes the lines of the file: the removed lines, starting at a line, and the lines added
// in their place.
func (c *Edit) Lines() (line int, removed, added []string) {
	if len(c.spans) == 0 {
		return 0, nil, nil
	}
	e := c.editor
	first, last := e.lineStart(c.spans[0].start), 0
	for _, s := range c.spans {
		first, last = min(first, e.lineStart(s.start)), max(last, s.end)
	}
	text, _ := (&Editor{Offsets: Offsets{Text: e.Text[:last]}}).splice(slices.Clone(c.spans))
	now := string(text)[first:]
	if whole := last == 0 || e.Text[last-1] == '\n'; !whole || now != "" && !strings.HasSuffix(now, "\n") {
		end := e.lineEnd(last)
		now += e.Text[last:end]
		last = end
	}
	rows := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	}
	return e.line(first), rows(e.Text[first:last]), rows(now)
}

// with returns a copy of a value in which do has changed the value at a path.
func with(v any, tokens []string, do func(any) any) any {
	if len(tokens) == 0 {
		return do(v)
	}
	switch v := v.(type) {
	case map[string]any:
		v[tokens[0]] = with(v[tokens[0]], tokens[1:], do)
	case []any:
		if i, err := strconv.Atoi(tokens[0]); err == nil && i >= 0 && i < len(v) {
			v[i] = with(v[i], tokens[1:], do)
		}
	}
	return v
}

func (c *Edit) fail(why string) { c.Unsafe = cmp.Or(c.Unsafe, why) }

const unclear = "its end in the text is not certain"

// mean records how the value at a pointer changes.
func (c *Edit) mean(pointer string, do func(any) any) {
	c.meaning = append(c.meaning, meaning{slices.Concat(c.base, Tokens(pointer)), do})
}

// meanField records how a field changes in the map that contains it.
func (c *Edit) meanField(pointer string, do func(m map[string]any, key string)) {
	list := Tokens(pointer)
	at := slices.Concat(c.base, list[:len(list)-1])
	c.meaning = append(c.meaning, meaning{at, func(v any) any {
		if m, ok := v.(map[string]any); ok {
			do(m, list[len(list)-1])
		}
		return v
	}})
}

func (c *Edit) put(start, end int, text string) { c.spans = append(c.spans, span{start, end, text}) }

// entry finds the value of a pointer in the text: the map or list that contains it, and the index in there. It does not
// follow merge keys. flow means that it is written in brackets.
func (c *Edit) entry(pointer string) (in *yaml.Node, index int, flow, ok bool) {
	n := c.root
	for _, token := range Tokens(pointer) {
		in, index = Deref(n), -1
		flow = flow || IsFlow(in)
		switch in.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(in.Content); i += 2 {
				if in.Content[i].Value == token && index < 0 {
					index = i + 1
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(in.Content) {
				index = i
			}
		}
		if index < 0 {
			c.fail(unclear)
			return nil, 0, false, false
		}
		n = in.Content[index]
	}
	if in == nil {
		c.fail("it is a whole document")
	}
	return in, index, flow, in != nil
}

// Set replaces a value. A text keeps its quotes; a collection is written in brackets.
func (c *Edit) Set(pointer string, value any) {
	in, i, flow, ok := c.entry(pointer)
	if !ok {
		return
	}
	n := in.Content[i]
	start, end, ok := c.editor.Span(n)
	text, written := inline(value, n, flow)
	if !ok || !written {
		c.fail(unclear)
		return
	}
	if strings.HasPrefix(text, "{") {
		if quotesKeys(c.root) {
			text = asJSON(plainValue(value))
		}
		if n.ShortTag() == "!!null" { // another edit may write other fields of the map: it does not replace this one
			c.put(start, end, "")
			start = end
		}
	}
	c.mean(pointer, func(any) any { return plainValue(value) })
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode || IsFlow(n) {
		c.put(start, end, text)
		return
	}
	behind := c.colon(in, i)
	if behind < 0 || !c.editor.isFirst(start) {
		c.fail(unclear)
		return
	}
	c.put(behind, behind, " "+text)
	c.put(c.editor.lineStart(start), c.editor.lineEnd(end), "")
}

// colon returns the offset after the colon of a key, -1 if there is none.
func (c *Edit) colon(in *yaml.Node, i int) int {
	if in.Kind != yaml.MappingNode {
		return -1
	}
	_, end, ok := c.editor.Span(in.Content[i-1])
	if !ok || !strings.HasPrefix(c.editor.Text[end:], ":") {
		return -1
	}
	return end + 1
}

// Rename gives a key another name; its quotes stay.
func (c *Edit) Rename(pointer, name string) {
	in, i, _, ok := c.entry(pointer)
	if !ok || in.Kind != yaml.MappingNode {
		c.fail(unclear)
		return
	}
	key := in.Content[i-1]
	start, end, ok := c.editor.Span(key)
	text, written := inline(name, key, false)
	if !ok || !written {
		c.fail(unclear)
		return
	}
	c.put(start, end, text)
	c.meanField(pointer, func(m map[string]any, key string) {
		m[name] = m[key]
		delete(m, key)
	})
}

// IsFlow reports whether a value is written in brackets.
func IsFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// Block returns a value as YAML in block style.
func Block(value any) (string, bool) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(value) != nil || e.Close() != nil {
		return "", false
	}
	return b.String(), true
}

// inline returns a value as YAML on one line to replace another, in brackets if needed.
func inline(value any, was *yaml.Node, flow bool) (string, bool) {
	if text, ok := value.(string); ok && was != nil && !strings.ContainsAny(text, "\r\n") {
		switch {
		case was.Style&yaml.DoubleQuotedStyle != 0:
			return asJSON(text), true
		case was.Style&yaml.SingleQuotedStyle != 0:
			return "'" + strings.ReplaceAll(text, "'", "''") + "'", true
		}
	}
	var n yaml.Node
	if n.Encode(value) != nil {
		return "", false
	}
	outer := &n
	if flow {
		outer = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&n}}
	}
	setFlow(outer)
	text, ok := Block(outer)
	text = strings.TrimSuffix(text, "\n")
	if flow {
		text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	}
	return text, ok && !strings.Contains(text, "\n")
}

func asJSON(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func setFlow(n *yaml.Node) {
	for c := range Nodes(n) {
		if c.Kind == yaml.MappingNode || c.Kind == yaml.SequenceNode {
			c.Style |= yaml.FlowStyle
		}
	}
}

// plainValue returns a value in the form that [Value] returns.
func plainValue(value any) any {
	text, ok := Block(value)
	documents, err := Parse("", []byte(text), Limits{})
	if !ok || err != nil || len(documents) == 0 {
		return nil
	}
	return Value(documents[0], true)
}
