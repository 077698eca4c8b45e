package fetch

import (
	"bytes"
	"slices"
)

// cutIndex returns the lines of each version of a chart.
func cutIndex(index []byte, name string) (items [][]byte, err error) {
	c := indexCutter{name: name, at: -1}
	for len(index) > 0 && !c.done {
		end := bytes.IndexByte(index, '\n') + 1
		if end == 0 {
			end = len(index)
		}
		if err := c.line(index[:end]); err != nil {
			return nil, err
		}
		index = index[end:]
	}
	switch {
	case !c.seen:
		return nil, errLayout
	case !c.api:
		return nil, errNoIndex
	case c.found == 0:
		return nil, noChart(name)
	case c.found > 1:
		return nil, broken("the index of the chart repository has the chart %s twice", quote(name))
	}
	return c.items, nil
}

// indexCutter reads an index line by line.
type indexCutter struct {
	name              string
	seen, api, inside bool // saw "entries:"; saw "apiVersion:"; is below "entries:"
	at                int  // the indentation of the keys below entries; -1: not known yet
	found             int  // how often the chart occurred
	mine              bool // the current line is part of the chart
	dash              int  // the indentation of its items
	items             [][]byte
	done              bool
}

func (c *indexCutter) line(line []byte) error {
	text := bytes.TrimLeft(line, " ")
	indent := len(line) - len(text)
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) == 0 || (text[0] == '#' && !c.mine) {
		c.add(line)
		return nil
	}
	dash := text[0] == '-' && (len(text) == 1 || text[1] == ' ')
	switch {
	case indent == 0:
		return c.top(text)
	case !c.inside:
		return nil
	case c.at < 0:
		c.at = indent
	}
	switch {
	case indent < c.at:
		return errLayout
	case indent == c.at && !dash:
		return c.key(text)
	case !c.mine:
		return nil
	case dash && (len(c.items) == 0 || indent == c.dash):
		c.dash = indent
		c.items = append(c.items, slices.Clone(line))
		return nil
	case len(c.items) == 0 && text[0] != '#':
		return errLayout
	}
	c.add(line)
	return nil
}

// top reads a line without indentation.
func (c *indexCutter) top(text []byte) error {
	if bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("%")) {
		c.done = c.seen
		return nil
	}
	c.inside, c.mine = false, false
	key, value, ok := bytes.Cut(text, []byte(":"))
	switch {
	case !ok:
		return errLayout
	case string(key) == "apiVersion":
		c.api = true
	case string(key) == "entries":
		if c.seen || !hasNoValue(value) {
			return errLayout
		}
		c.seen, c.inside = true, true
	}
	return nil
}

// key reads a line with the name of a chart.
func (c *indexCutter) key(text []byte) error {
	key, value, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(key) == 0 {
		return errLayout
	}
	name := string(key)
	if q := name[0]; (q == '"' || q == '\'') && len(name) > 2 && name[len(name)-1] == q {
		name = name[1 : len(name)-1]
	}
	if c.mine = name == c.name; c.mine {
		if !hasNoValue(value) {
			return errLayout
		}
		c.found++
	}
	return nil
}

// hasNoValue reports whether nothing follows a key on its line.
func hasNoValue(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) == 0 || value[0] == '#'
}

func (c *indexCutter) add(line []byte) {
	if n := len(c.items); c.mine && n > 0 {
		c.items[n-1] = append(c.items[n-1], line...)
	}
}
