package doc

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// RemoveItems takes elements out of a list.
func (c *Edit) RemoveItems(pointer string, indexes ...int) {
	in, i, _, ok := c.entry(pointer)
	if !ok {
		return
	}
	list := Deref(in.Content[i])
	if list.Kind != yaml.SequenceNode {
		c.fail("it is no list")
		return
	}
	lastKept := len(list.Content) - 1
	for lastKept >= 0 && slices.Contains(indexes, lastKept) {
		lastKept--
	}
	if lastKept < 0 || list != in.Content[i] {
		c.Set(pointer, []any{})
		return
	}
	c.mean(pointer, func(v any) any {
		var out []any
		items, _ := v.([]any)
		for i, item := range items {
			if !slices.Contains(indexes, i) {
				out = append(out, item)
			}
		}
		return out
	})
	if _, end, ok := c.editor.Span(list.Content[lastKept]); IsFlow(list) && lastKept+1 < len(list.Content) {
		_, behind, known := c.editor.Span(list.Content[len(list.Content)-1])
		if !ok || !known {
			c.fail(unclear)
			return
		}
		c.put(end, behind, "")
	}
	for _, i := range indexes {
		start, ok := c.dash(list.Content[i])
		_, end, known := c.editor.Span(list.Content[i])
		switch {
		case IsFlow(list) && i < lastKept:
			c.put(c.editor.Of(list.Content[i]), c.editor.Of(list.Content[i+1]), "")
		case IsFlow(list):
		case !ok || !known:
			c.fail("it is not on a line of its own")
		default:
			c.put(start, c.editor.lineEnd(end), "")
		}
	}
}

// dash returns where the line of a list element's dash begins; false if there is more on that line before the element.
func (c *Edit) dash(item *yaml.Node) (int, bool) {
	before := strings.TrimRight(c.editor.Text[:c.editor.Of(item)], " \r\n")
	at := len(before) - 1
	return c.editor.lineStart(len(before)), at >= 0 && before[at] == '-' && c.editor.isFirst(at)
}

// comments are the comments of a field: the lines before it, and the one at its end.
type comments struct {
	before []string
	behind string
}

// Remove removes a field from a map, on request with the comments above it.
func (c *Edit) Remove(pointer string, withComments bool) {
	c.remove(pointer, withComments)
}

func (c *Edit) remove(pointer string, withComments bool) (found comments) {
	in, i, _, ok := c.entry(pointer)
	if !ok || in.Kind != yaml.MappingNode {
		c.fail(unclear)
		return found
	}
	e, key, value := c.editor, in.Content[i-1], in.Content[i]
	_, end, ok := e.Span(value)
	if !ok || key.Anchor != "" {
		c.fail(unclear)
		return found
	}
	c.meanField(pointer, func(m map[string]any, key string) { delete(m, key) })
	if IsFlow(in) {
		c.removeFlow(in, i-1, end)
		return found
	}
	start := e.Of(key)
	if !e.isFirst(start) {
		c.fail("it is not on a line of its own")
		return found
	}
	start = e.lineStart(start)
	rest := strings.TrimRight(e.Text[end:e.lineEnd(end)], "\r\n")
	if strings.Contains(rest, "#") && (value.Kind != yaml.SequenceNode || IsFlow(value)) { // else it goes with the list
		found.behind = rest
	}
	for start > 0 && withComments {
		above := e.lineStart(start - 1)
		line := strings.TrimRight(e.Text[above:start], "\r\n")
		if trimmed := strings.TrimLeft(line, " "); !strings.HasPrefix(trimmed, "#") ||
			len(line)-len(trimmed) != key.Column-1 {
			break
		}
		found.before = append([]string{strings.TrimLeft(line, " ")}, found.before...)
		start = above
	}
	c.put(start, e.lineEnd(end), "")
	return found
}

// removeFlow removes a field from braces, with the comma after it, or before it if the field is the last.
func (c *Edit) removeFlow(in *yaml.Node, i, end int) {
	start := c.editor.Of(in.Content[i])
	if i+2 < len(in.Content) {
		c.put(start, c.editor.Of(in.Content[i+2]), "")
		return
	}
	before := strings.TrimRight(c.editor.Text[:start], " \t\r\n")
	if !strings.HasSuffix(before, ",") {
		c.fail(unclear)
		return
	}
	c.put(len(before)-1, end, "")
}
