package fix

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// target is a mapping that gets a field: a value of key, or an item of a list.
type target struct {
	pointer string
	key     *yaml.Node
	node    *yaml.Node
}

// move takes a field out of a mapping and writes it into the targets.
func (p *planner) move(c *change, from, key, value *yaml.Node, to []target, name string) {
	end, ok := p.end(value)
	if !ok {
		c.unsafe = unclear
		return
	}
	c.mean(remove("/spec", key.Value))
	raw := p.present(c, value, end)
	comments := p.remove(c, from, key, value)
	if c.unsafe != "" {
		return
	}
	start := c.spans[len(c.spans)-1].start
	carried := false
	written := map[*yaml.Node]bool{} // an alias repeats what is written once
	for _, t := range to {
		c.mean(set(t.pointer, name, presentValue(value)))
		if written[t.node] {
			continue
		}
		written[t.node] = true
		text := field{name: name, raw: raw, block: value.Kind == yaml.SequenceNode && !isFlow(value), source: key.Column - 1}
		if !carried && p.block(t) {
			text.comments, carried = comments, true
		}
		p.insert(c, t, text)
	}
	if !carried && comments.any() && !isFlow(from) {
		// There is no place for the comments beside the field, so they stay where they were.
		c.spans = append(c.spans, span{start, start, comments.lines(key.Column-1, p.newline)})
	}
}

// present is the text of a value, its failure actions spelled as they are today.
func (p *planner) present(c *change, value *yaml.Node, end int) string {
	start := p.offset(value)
	if value.Kind == yaml.SequenceNode && !isFlow(value) {
		start = p.lineStart(start)
		end = p.lineEnd(end)
	}
	inner := &change{}
	respell := func(n *yaml.Node) {
		if now, wrong := spelled(n); wrong {
			p.write(inner, n, now)
		}
	}
	respell(value)
	for _, o := range items(value) {
		_, a := entry(o, "action")
		respell(a)
	}
	for i := range inner.spans {
		inner.spans[i].start -= start
		inner.spans[i].end -= start
	}
	out, ok := splice(p.data[start:end], []*change{inner})
	if !ok || inner.unsafe != "" {
		c.unsafe = unclear
	}
	return string(out)
}

// presentValue is the value of a node, its failure actions spelled as they are today.
func presentValue(n *yaml.Node) any {
	respell := func(v any) any {
		if s, ok := v.(string); ok {
			return cmp.Or(presentAction(s), s)
		}
		return v
	}
	value := doc.Value(n, true)
	list, _ := value.([]any)
	for _, o := range list {
		if m, ok := o.(map[string]any); ok && m["action"] != nil {
			m["action"] = respell(m["action"])
		}
	}
	return respell(value)
}

// comments are those that belong to a field: the lines before it, and the one behind it.
type comments struct {
	before []string
	behind string
}

func (c comments) any() bool { return len(c.before) > 0 || c.behind != "" }

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

// remove takes a field out of a mapping, with its comments, which it returns.
func (p *planner) remove(c *change, from, key, value *yaml.Node) comments {
	end, ok := p.end(value)
	if !ok || key.Anchor != "" {
		c.unsafe = unclear
		return comments{}
	}
	if isFlow(from) {
		p.removeFlow(c, from, key, end)
		return comments{}
	}
	start := p.offset(key)
	if !p.alone(start) {
		c.unsafe = "it does not stand on a line of its own"
		return comments{}
	}
	start = p.lineStart(start)
	rest := strings.TrimRight(string(p.data[end:p.lineEnd(end)]), "\r\n")
	var found comments
	if strings.Contains(rest, "#") {
		found.behind = rest
	}
	if value.Kind == yaml.SequenceNode && !isFlow(value) {
		found.behind = "" // it goes with the list
	}
	for start > 0 {
		above := p.lineStart(start - 1)
		line := strings.TrimRight(string(p.data[above:start]), "\r\n")
		if trimmed := strings.TrimLeft(line, " "); !strings.HasPrefix(trimmed, "#") ||
			len(line)-len(trimmed) != key.Column-1 {
			break
		}
		found.before = append([]string{strings.TrimLeft(line, " ")}, found.before...)
		start = above
	}
	c.spans = append(c.spans, span{start, p.lineEnd(end), ""})
	return found
}

func (p *planner) removeFlow(c *change, from, key *yaml.Node, end int) {
	start := p.offset(key)
	for i := 0; i+2 < len(from.Content); i += 2 {
		if from.Content[i] == key {
			c.spans = append(c.spans, span{start, p.offset(from.Content[i+2]), ""})
			return
		}
	}
	before := strings.TrimRight(string(p.data[:start]), " \t\r\n")
	if strings.HasSuffix(before, ",") {
		c.spans = append(c.spans, span{len(before) - 1, end, ""})
		return
	}
	c.unsafe = unclear
}

// field is what is written into a mapping.
type field struct {
	name, raw string
	block     bool // the value is a block list: whole lines
	source    int  // the indentation of the key where it was
	comments  comments
}

// block reports whether a target is a mapping with lines of its own below its key.
func (p *planner) block(t target) bool {
	return !isFlow(t.node) && t.key != nil && t.node.Content[0].Line > t.key.Line
}

// insert writes a field as the first one of a mapping.
func (p *planner) insert(c *change, t target, f field) {
	first := t.node.Content[0]
	switch {
	case isFlow(t.node):
		p.insertFlow(c, t.node, f)
	case p.block(t):
		indent := first.Column - 1
		at := p.lineEnd(p.offset(t.key))
		if t.node.Line > t.key.Line+1 && t.node.Anchor != "" {
			c.unsafe = unclear
			return
		}
		var b strings.Builder
		b.WriteString(comments{before: f.comments.before}.lines(indent, p.newline))
		b.WriteString(strings.Repeat(" ", indent) + f.name + ":")
		if f.block {
			b.WriteString(p.newline + shift(f.raw, max(0, indent-f.source)))
			if !strings.HasSuffix(f.raw, "\n") {
				b.WriteString(p.newline)
			}
		} else {
			b.WriteString(" " + f.raw + f.comments.behind + p.newline)
		}
		c.spans = append(c.spans, span{at, at, b.String()})
	case f.block:
		c.unsafe = "the rule is written in a way that leaves no place for a list"
	default:
		at := p.offset(first)
		c.spans = append(c.spans, span{at, at, f.name + ": " + f.raw + p.newline + strings.Repeat(" ", first.Column-1)})
	}
}

// insertFlow writes a field into braces, with quotes where the other keys have them.
func (p *planner) insertFlow(c *change, n *yaml.Node, f field) {
	if f.block || strings.Contains(f.raw, "\n") {
		c.unsafe = "the rule is written in braces and the value on lines"
		return
	}
	first := n.Content[0]
	name, raw := f.name, f.raw
	if first.Style&yaml.DoubleQuotedStyle != 0 {
		name = `"` + name + `"`
		if raw != "true" && raw != "false" && !strings.ContainsAny(raw, `"[{`) {
			raw = `"` + raw + `"`
		}
	}
	at := p.offset(first)
	separator := " "
	if p.alone(at) {
		separator = p.newline + string(p.data[p.lineStart(at):at])
	}
	c.spans = append(c.spans, span{at, at, name + ": " + raw + "," + separator})
}

// under puts a list that is the value of a key below another key.
func (p *planner) under(c *change, key, value *yaml.Node, name string) {
	_, end, ok := p.wrap(c, value, name, "", "}")
	if !ok {
		return
	}
	indent := value.Column - 1
	by := 0
	if indent <= key.Column-1 {
		by = key.Column + 1 - indent
	}
	at := p.lineEnd(p.offset(key))
	c.spans = append(c.spans, span{at, at, strings.Repeat(" ", indent+by) + name + ":" + p.newline})
	p.indent(c, at, end, by)
}

// listed puts a mapping into a list of one below another key.
func (p *planner) listed(c *change, value *yaml.Node, name string) {
	first, end, ok := p.wrap(c, value, name, "[", "]}")
	if !ok {
		return
	}
	c.spans = append(c.spans, span{first, first, name + ":" + p.newline + strings.Repeat(" ", value.Column-1) + "- "})
	p.indent(c, p.lineEnd(first), end, 2)
}

// wrap puts a value in flow style below a key. Where the value is a block, it returns where that begins and ends: the
// caller writes the lines. It returns false where nothing is left to do, or nothing can be done.
func (p *planner) wrap(c *change, value *yaml.Node, name, before, after string) (first, end int, block bool) {
	end, ok := p.end(value)
	first = p.offset(value)
	switch {
	case !ok || value.Kind == yaml.AliasNode:
		c.unsafe = unclear
	case isFlow(value):
		if p.quoted(value) {
			name = `"` + name + `"`
		}
		c.spans = append(c.spans, span{first, first, "{" + name + ": " + before}, span{end, end, after})
	case !p.alone(first):
		c.unsafe = "it does not begin on a line of its own"
	default:
		return first, end, true
	}
	return 0, 0, false
}

// quoted reports whether keys are written as JSON has them.
func (p *planner) quoted(n *yaml.Node) bool {
	for n != nil && n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	return isMapping(n) && n.Content[0].Style&yaml.DoubleQuotedStyle != 0
}

// indent moves the lines from one offset to another to the right.
func (p *planner) indent(c *change, from, to, by int) {
	if by == 0 {
		return
	}
	for at := from; at < to; at = p.lineEnd(at) {
		if strings.TrimSpace(string(p.data[at:p.lineEnd(at)])) != "" {
			c.spans = append(c.spans, span{at, at, strings.Repeat(" ", by)})
		}
	}
}
