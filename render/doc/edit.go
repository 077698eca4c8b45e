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

// Editor edits the values of a file in its text: comments, order, quotes and indentation stay. An edit is verified by
// [Editor.Apply]: the text that results holds what the file held, but for the values that were edited.
type Editor struct {
	Offsets
	// KeepLines keeps everything on its line: what is taken out leaves its line breaks, what is new comes last.
	KeepLines bool

	documents []*yaml.Node // nil where they cannot be read
	problems  int          // how many documents cannot
	newline   string
}

// ErrUncertain means that a text cannot be edited so that nothing else changes.
var ErrUncertain = errors.New("an anchor, an alias or its formatting makes that unsafe")

// NewEditor returns an editor of a file. Documents that cannot be read stay as they are.
func NewEditor(data []byte) *Editor {
	e := &Editor{Offsets: NewOffsets(string(data)), newline: "\n"}
	if strings.Contains(e.Text, "\r\n") {
		e.newline = "\r\n"
	}
	documents, problems := Documents("", data, Limits{})
	e.documents, e.problems = documents, len(problems)
	return e
}

// Editable reports whether lines mean the same to the parser and to the editor: YAML 1.1 knows more line breaks.
func (e *Editor) Editable() bool {
	return !strings.ContainsAny(e.Text, "\u0085\u2028\u2029") && strings.Count(e.Text, "\r") == strings.Count(e.Text, "\r\n")
}

// Spot is a value of a file: that of a key, an element of a list, or a document.
type Spot struct {
	Document int
	Pointer  string     // JSON Pointer (RFC 6901) in the document
	Key      *yaml.Node // nil where it has none
	Node     *yaml.Node
	In       *yaml.Node // the map or list around it, nil for a document
}

// At lists the values of which the key or the value begins at a position of the file, the outer ones first.
func (e *Editor) At(line, column int) (found []Spot) {
	var walk func(s Spot)
	walk = func(s Spot) {
		for _, n := range []*yaml.Node{s.Key, s.Node} {
			if n != nil && n.Line == line && n.Column == column {
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

// Edit is a change of values of one document: pieces of the text to replace, and what that means.
type Edit struct {
	Unsafe string // why the text cannot be edited; empty where it can

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

// meaning is what becomes of the value at a place.
type meaning struct {
	tokens []string
	do     func(any) any
}

// Len is how many documents can be read.
func (e *Editor) Len() int { return len(e.documents) }

// Document is the value of one of the documents that can be read.
func (e *Editor) Document(i int) Spot { return Spot{Document: i, Node: e.documents[i]} }

// Edit begins an edit; its pointers count from a value of the file.
func (e *Editor) Edit(s Spot) *Edit {
	return &Edit{editor: e, document: s.Document, root: s.Node, base: tokens(s.Pointer)}
}

// Apply returns the text with edits made. It is [ErrUncertain] where that held anything else than what they mean.
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
			if !slices.Contains(spans, s) { // what an alias stands for is edited once for all its uses
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
	for i, d := range now {
		if !reflect.DeepEqual(Value(d, true), want[i]) {
			return nil, ErrUncertain
		}
	}
	return data, nil
}

// splice replaces pieces of the text. It fails where two of them overlap.
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

// Lines returns what an edit makes of the lines of the file: those taken out, from a line on or before it, and those that
// come in their place.
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

// with returns a value in which that at a place is another.
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

func tokens(pointer string) (list []string) {
	for _, t := range strings.Split(pointer, "/")[1:] {
		list = append(list, jsonpointer.Unescape(t))
	}
	return list
}

func (c *Edit) fail(why string) { c.Unsafe = cmp.Or(c.Unsafe, why) }

const unclear = "its end in the text is not certain"

// mean notes what becomes of the value at a pointer.
func (c *Edit) mean(pointer string, do func(any) any) {
	c.meaning = append(c.meaning, meaning{slices.Concat(c.base, tokens(pointer)), do})
}

// meanField notes what becomes of a field of the map around it.
func (c *Edit) meanField(pointer string, do func(m map[string]any, key string)) {
	list := tokens(pointer)
	at := slices.Concat(c.base, list[:len(list)-1])
	c.meaning = append(c.meaning, meaning{at, func(v any) any {
		if m, ok := v.(map[string]any); ok {
			do(m, list[len(list)-1])
		}
		return v
	}})
}

func (c *Edit) put(start, end int, text string) { c.spans = append(c.spans, span{start, end, text}) }

// entry finds what a pointer leads to, as it is written: the map or list around it and its index there; values of merge
// keys belong elsewhere. flow says that it is in brackets.
func (c *Edit) entry(pointer string) (in *yaml.Node, index int, flow, ok bool) {
	n := c.root
	for _, token := range tokens(pointer) {
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

// colon is the offset behind the colon of a key, -1 where there is none.
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

// Block is a value as YAML on lines.
func Block(value any) (string, bool) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(value) != nil || e.Close() != nil {
		return "", false
	}
	return b.String(), true
}

// inline is a value as it is written on one line in the place of another, in brackets or not.
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
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style |= yaml.FlowStyle
	}
	for _, c := range n.Content {
		setFlow(c)
	}
}

// plainValue is a value as [Value] reads it.
func plainValue(value any) any {
	text, ok := Block(value)
	documents, err := Parse("", []byte(text), Limits{})
	if !ok || err != nil || len(documents) == 0 {
		return nil
	}
	return Value(documents[0], true)
}
