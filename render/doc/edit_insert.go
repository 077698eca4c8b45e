package doc

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Insert adds a field to a map, or below a key without a value. It adds it after the last field if that ends on its
// line, or if the map is a manifest, otherwise, if possible, as the first field on lines of its own.
func (c *Edit) Insert(pointer string, value any) {
	list := Tokens(pointer)
	name, parent := list[len(list)-1], pointer[:strings.LastIndexByte(pointer, '/')]
	e, m, key, flow := c.editor, c.root, (*yaml.Node)(nil), false
	if parent != "" {
		in, i, inFlow, ok := c.entry(parent)
		if !ok {
			return
		}
		if m, flow = in.Content[i], inFlow; in.Kind == yaml.MappingNode {
			key = in.Content[i-1]
		}
	}
	c.mean(parent, func(v any) any {
		fields, _ := v.(map[string]any)
		if fields == nil {
			fields = map[string]any{}
		}
		fields[name] = plainValue(value)
		return fields
	})
	switch {
	case m.Kind == yaml.ScalarNode && m.ShortTag() == "!!null" && m.Value == "" && key != nil && !flow:
		c.insertLines(e.lineEnd(e.Of(key)), key.Column+1, name, value)
	case m.Kind == yaml.ScalarNode && m.ShortTag() == "!!null" && key != nil:
		c.Set(parent, map[string]any{name: value})
	case m.Kind != yaml.MappingNode:
		c.fail("it is not a map that is written out here")
	case IsFlow(m):
		c.appendFlow(m, name, value)
	case e.KeepLines:
		c.insertLines(len(e.Text), m.Column-1, name, value)
	default:
		first, n := m.Content[0], len(m.Content)
		last := m.Content[n-1]
		_, end, known := e.Span(last)
		switch {
		case last.Kind == yaml.ScalarNode && known && e.line(end) == m.Content[n-2].Line:
			c.insertLines(e.lineEnd(end), first.Column-1, name, value)
		case parent == "" && len(c.base) == 0 && known && Text(m, "kind") != "":
			c.insertLines(e.lineEnd(end), first.Column-1, name, value)
		case key != nil && first.Line > key.Line:
			c.insertLines(e.lineEnd(e.Of(key)), first.Column-1, name, value)
		case n > 2 && m.Content[2].Line > first.Line:
			c.insertLines(e.lineStart(e.Of(m.Content[2])), first.Column-1, name, value)
		case known:
			c.insertLines(e.lineEnd(end), first.Column-1, name, value)
		default:
			c.fail("there is no place for it")
		}
	}
}

// insertLines inserts a field on lines of its own at an offset.
func (c *Edit) insertLines(at, indent int, name string, value any) {
	text, ok := Block(map[string]any{name: value})
	if !ok {
		c.fail("it cannot be written as YAML")
	}
	text = indented(text, indent)
	if c.editor.newline != "\n" {
		text = strings.ReplaceAll(text, "\n", c.editor.newline)
	}
	if at > 0 && c.editor.Text[at-1] != '\n' {
		text = c.editor.newline + strings.TrimSuffix(text, c.editor.newline)
	}
	c.put(at, at, text)
}

// appendFlow appends a field to a map in braces.
func (c *Edit) appendFlow(m *yaml.Node, name string, value any) {
	like := m // an empty map gets keys like those of the document
	if len(m.Content) == 0 {
		like = c.root
	}
	text, ok := inline(map[string]any{name: value}, nil, true)
	if quotesKeys(like) {
		text = asJSON(map[string]any{name: plainValue(value)})
	}
	_, end, known := c.editor.Span(m)
	if !ok || !known || len(text) < 2 {
		c.fail(unclear)
		return
	}
	if text = text[1 : len(text)-1]; len(m.Content) > 0 {
		text = ", " + text
		if _, end, known = c.editor.Span(m.Content[len(m.Content)-1]); !known {
			c.fail(unclear)
		}
	} else {
		end--
		if slices.ContainsFunc(c.spans, func(s span) bool { return s.end == end }) {
			text = ", " + text
		}
	}
	c.put(end, end, text)
}

// quotesKeys reports whether a map is written as in JSON.
func quotesKeys(m *yaml.Node) bool {
	return len(m.Content) > 0 && m.Content[0].Style&yaml.DoubleQuotedStyle != 0
}

// Move removes a field from a map and inserts its text, as changed by another edit, under a new name as the first field
// of other maps. Its comments are moved to the first of these that has lines of its own.
func (c *Edit) Move(pointer string, within *Edit, name string, to ...string) {
	in, i, _, ok := c.entry(pointer)
	if !ok || in.Kind != yaml.MappingNode {
		c.fail(unclear)
		return
	}
	e, key, value := c.editor, in.Content[i-1], in.Content[i]
	start, end, ok := e.Span(value)
	if !ok || value.Anchor != "" || value.Style&yaml.TaggedStyle != 0 {
		c.fail(unclear)
		return
	}
	block := value.Kind == yaml.SequenceNode && !IsFlow(value)
	if block {
		start, end = e.lineStart(start), e.lineEnd(end)
	}
	result := Value(value, true)
	moved := &Editor{Offsets: Offsets{Text: e.Text[start:end]}}
	inner := slices.Clone(within.spans)
	for i := range inner {
		inner[i].start -= start
		inner[i].end -= start
	}
	raw, ok := moved.splice(inner)
	if !ok || within.Unsafe != "" {
		c.fail(unclear)
		return
	}
	at := slices.Concat(c.base, Tokens(pointer))
	for _, m := range within.meaning {
		result = with(result, m.tokens[len(at):], m.do)
	}
	around := c.remove(pointer, true)
	if c.Unsafe != "" {
		return
	}
	gone := c.spans[len(c.spans)-1].start
	carried := IsFlow(in) || len(around.before) == 0 && around.behind == ""
	written := map[*yaml.Node]bool{} // an alias uses the same text again
	for _, pointer := range to {
		in, i, _, ok := c.entry(pointer)
		if !ok {
			return
		}
		c.mean(pointer, func(v any) any {
			if m, ok := v.(map[string]any); ok {
				m[name] = MapLeaves(result, func(leaf any) any { return leaf })
			}
			return v
		})
		target := field{raw: string(raw), name: name, block: block, indent: key.Column - 1}
		if in.Kind == yaml.MappingNode {
			target.key = in.Content[i-1]
		}
		m := Deref(in.Content[i])
		if written[m] {
			continue
		}
		written[m] = true
		if !carried && target.onLines(m) {
			target.comments, carried = around, true
		}
		c.prepend(m, target)
	}
	if !carried {
		// No target has lines for the comments, so they stay where they were.
		c.put(gone, gone, around.lines(key.Column-1, e.newline))
	}
}

func (c comments) lines(indent int, newline string) string {
	var b strings.Builder
	for _, line := range c.before {
		b.WriteString(strings.Repeat(" ", indent) + line + newline)
	}
	if c.behind != "" {
		b.WriteString(strings.Repeat(" ", indent) + strings.TrimLeft(c.behind, " ") + newline)
	}
	return b.String()
}

// field is a field to insert into a map.
type field struct {
	key       *yaml.Node // of the map, nil where that is an element
	name, raw string
	block     bool // the value is a block list: whole lines
	indent    int  // of the key where it was
	comments  comments
}

// onLines reports whether a map has lines of its own below its key.
func (f field) onLines(m *yaml.Node) bool {
	return !IsFlow(m) && f.key != nil && m.Content[0].Line > f.key.Line
}

// prepend inserts a field as the first one of a map.
func (c *Edit) prepend(m *yaml.Node, f field) {
	e, first := c.editor, m.Content[0]
	switch {
	case IsFlow(m):
		c.prependFlow(m, f)
	case f.onLines(m):
		indent := first.Column - 1
		at := e.lineEnd(e.Of(f.key))
		if m.Line > f.key.Line+1 && m.Anchor != "" {
			c.fail(unclear)
			return
		}
		text := comments{before: f.comments.before}.lines(indent, e.newline) + strings.Repeat(" ", indent) + f.name + ":"
		if f.block {
			text += e.newline + indented(f.raw, max(0, indent-f.indent))
			if !strings.HasSuffix(f.raw, "\n") {
				text += e.newline
			}
		} else {
			text += " " + f.raw + f.comments.behind + e.newline
		}
		c.put(at, at, text)
	case f.block:
		c.fail("the rule has no place where a list can be added")
	default:
		at := e.Of(first)
		c.put(at, at, f.name+": "+f.raw+e.newline+strings.Repeat(" ", first.Column-1))
	}
}

// prependFlow inserts a field into braces, with a quoted key if the other keys are quoted.
func (c *Edit) prependFlow(m *yaml.Node, f field) {
	if f.block || strings.Contains(f.raw, "\n") {
		c.fail("the rule is written in braces, and the value is not")
		return
	}
	e, first := c.editor, m.Content[0]
	name, raw := f.name, f.raw
	if first.Style&yaml.DoubleQuotedStyle != 0 {
		name = `"` + name + `"`
		if raw != "true" && raw != "false" && !strings.ContainsAny(raw, `"[{`) {
			raw = `"` + raw + `"`
		}
	}
	at := e.Of(first)
	separator := " "
	if e.isFirst(at) {
		separator = e.newline + e.Text[e.lineStart(at):at]
	}
	c.put(at, at, name+": "+raw+","+separator)
}

// Wrap puts a value below a new key: a list directly, a map as the only element of a list.
func (c *Edit) Wrap(pointer, name string) {
	in, i, _, ok := c.entry(pointer)
	if !ok || in.Kind != yaml.MappingNode {
		c.fail(unclear)
		return
	}
	e, key, value := c.editor, in.Content[i-1], in.Content[i]
	isList := Deref(value).Kind == yaml.SequenceNode
	c.mean(pointer, func(v any) any {
		if !isList {
			v = []any{v}
		}
		return map[string]any{name: v}
	})
	start, end, ok := e.Span(value)
	switch {
	case !ok || value.Kind == yaml.AliasNode || value.Anchor != "" || value.Style&yaml.TaggedStyle != 0:
		c.fail(unclear)
	case IsFlow(value):
		before, behind, key := "", "}", name
		if isQuoted(value) {
			key = `"` + name + `"`
		}
		if !isList {
			before, behind = "[", "]}"
		}
		c.put(start, start, "{"+key+": "+before)
		c.put(end, end, behind)
	case !e.isFirst(start):
		c.fail("it does not begin on a line of its own")
	case isList:
		indent, by := value.Column-1, 0
		if indent <= key.Column-1 {
			by = key.Column + 1 - indent
		}
		at := e.lineEnd(e.Of(key))
		c.put(at, at, strings.Repeat(" ", indent+by)+name+":"+e.newline)
		c.indent(at, end, by)
	default:
		c.put(start, start, name+":"+e.newline+strings.Repeat(" ", value.Column-1)+"- ")
		c.indent(e.lineEnd(start), end, 2)
	}
}

// isQuoted reports whether keys are written as JSON has them.
func isQuoted(n *yaml.Node) bool {
	for n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	return n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Style&yaml.DoubleQuotedStyle != 0
}

// indent moves the lines from one offset to another to the right.
func (c *Edit) indent(from, to, by int) {
	for at := from; at < to && by > 0; at = c.editor.lineEnd(at) {
		if strings.TrimSpace(c.editor.Text[at:c.editor.lineEnd(at)]) != "" {
			c.put(at, at, strings.Repeat(" ", by))
		}
	}
}

// indented indents lines of a text by more spaces; empty lines stay empty.
func indented(lines string, by int) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(lines, "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return b.String()
}
