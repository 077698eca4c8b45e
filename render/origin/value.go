package origin

import (
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// mark says where a value was written: a node of a file, or whole lines.
type mark struct {
	path      string
	node      *yaml.Node // nil: lines
	line, end int
	how       How
	role      string
	part      part // of the node's text; zero: all of it
}

// part is a range of a scalar's text, in runes.
type part struct{ from, to int }

func (m mark) known() bool { return m.path != "" }

// value is a simulated field, with marks of who wrote it.
type value struct {
	kind        yaml.Kind // ScalarNode, MappingNode or SequenceNode
	text        string    // of a scalar
	null        bool
	way         bool // a map that was only created as the parent of another one, so its own mark does not count
	approximate bool // the text may differ from the rendered one, like the content of a file
	fields      []field
	items       []*value
	by          mark
	pieces      []piece // of a scalar that was written in several places: the parts of its text
	chain       []link  // replaced values, the nearest first

	taken map[string]mark // of a map: who took fields away, by key
}

// link is a value that was replaced.
type link struct {
	mark
	text string // empty where not known
}

// history returns the value followed by those that it replaced.
func (v *value) history() []link {
	own := link{v.by, v.text}
	if v.approximate {
		own.text = ""
	}
	return append([]link{own}, v.chain...)
}

type field struct {
	key   string
	value *value
}

func scalarValue(text string, by mark) *value {
	return &value{kind: yaml.ScalarNode, text: text, by: by}
}

func mapValue(by mark) *value { return &value{kind: yaml.MappingNode, by: by} }

// on returns the mark for another node of the same file.
func (m mark) on(n *yaml.Node) mark { m.node = n; return m }

// lines returns the mark for all lines of a map of scalars.
func (m mark) lines(n *yaml.Node) mark {
	m.line, m.end = n.Line, n.Line
	for _, c := range n.Content {
		m.end = max(m.end, c.Line+blockLines(c))
	}
	return m
}

// value copies a node, with aliases and merge keys resolved. at is the node whose place the value has: the key of a map
// or a list, else the node itself.
func (m mark) value(n, at *yaml.Node) *value {
	n = doc.Deref(n)
	if at == nil || n.Kind == yaml.ScalarNode {
		at = n
	}
	v := &value{kind: n.Kind, by: m.on(at)}
	switch n.Kind {
	case yaml.ScalarNode:
		v.text, v.null = n.Value, n.ShortTag() == "!!null"
	case yaml.SequenceNode:
		for _, c := range n.Content {
			v.items = append(v.items, m.value(c, nil))
		}
	case yaml.MappingNode:
		if at == n && len(n.Content) > 0 && n.Style&yaml.FlowStyle == 0 {
			v.by = m.on(n.Content[0])
		}
		for key, content := range doc.Fields(n) {
			v.put(doc.Key(key), m.value(content, key))
		}
	}
	return v
}

func (v *value) onTheWay() bool { return v != nil && v.way }

// get returns a field of a map, nil where it has none.
func (v *value) get(key string) *value {
	if v == nil || v.kind != yaml.MappingNode {
		return nil
	}
	for _, f := range v.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// at returns the value at a path of keys, nil where there is none.
func (v *value) at(keys ...string) *value {
	for _, key := range keys {
		v = v.get(key)
	}
	return v
}

// str returns the text of a scalar field.
func (v *value) str(keys ...string) string {
	if f := v.at(keys...); f != nil && f.kind == yaml.ScalarNode {
		return f.text
	}
	return ""
}

// put sets a field of a map, and ignores the old value.
func (v *value) put(key string, to *value) {
	for i := range v.fields {
		if v.fields[i].key == key {
			v.fields[i].value = to
			return
		}
	}
	v.fields = append(v.fields, field{key, to})
}

// set sets a field of a map, and adds the old value to the chain. It changes the old value in place, as kustomize does:
// other fields may have the same value (see pairs).
func (v *value) set(key string, to *value) {
	old := v.get(key)
	if old == nil {
		v.put(key, to)
		return
	}
	to.replaces(old)
	*old = *to
}

// take removes a field of a map, and remembers who did.
func (v *value) take(key string, by mark) {
	if v.get(key) == nil {
		return
	}
	v.drop(key)
	if v.taken == nil {
		v.taken = map[string]mark{}
	}
	v.taken[key] = by
}

func (v *value) drop(key string) {
	v.fields = slices.DeleteFunc(v.fields, func(f field) bool { return f.key == key })
}

// replaces records that v took the place of another value.
func (v *value) replaces(old *value) {
	if old.by.known() && old.kind == yaml.ScalarNode && v.kind == yaml.ScalarNode {
		v.chain = append(slices.Clip(v.chain), old.history()...)
	}
}

// write changes a scalar in place.
func (v *value) write(text string, by mark) {
	v.chain = v.history()
	v.text, v.by, v.null, v.approximate, v.pieces = text, by, false, false, nil
}

func (v *value) clone() *value {
	c := *v
	c.chain, c.taken = slices.Clone(v.chain), maps.Clone(v.taken)
	c.fields = make([]field, len(v.fields))
	for i, f := range v.fields {
		c.fields[i] = field{f.key, f.value.clone()}
	}
	c.items = make([]*value, len(v.items))
	for i, item := range v.items {
		c.items[i] = item.clone()
	}
	return &c
}

// size counts the values in v, up to limit.
func (v *value) size(limit int) int {
	n := 1
	for _, f := range v.fields {
		if n >= limit {
			return n
		}
		n += f.value.size(limit - n)
	}
	for _, item := range v.items {
		if n >= limit {
			return n
		}
		n += item.size(limit - n)
	}
	return n
}

// ensure returns the map at a path of keys, and creates what is missing.
func (v *value) ensure(by mark, keys ...string) *value {
	for _, key := range keys {
		next := v.get(key)
		if next == nil || next.kind != yaml.MappingNode {
			next = mapValue(by)
			v.put(key, next)
		}
		v = next
	}
	return v
}

// follow returns the simulated value of a rendered field. List elements are found by what distinguishes them from their
// siblings, else by index.
func (v *value) follow(steps []step) *value {
	for _, s := range steps {
		if v == nil {
			return nil
		}
		if v.kind != yaml.SequenceNode {
			v = v.get(s.token)
			continue
		}
		v = v.element(s)
	}
	return v
}

func (v *value) element(s step) *value {
	if s.index < 0 {
		return nil
	}
	var same []*value
	for _, item := range v.items {
		if s.by == "" && item.kind == yaml.ScalarNode && item.text == s.name || s.by != "" && item.str(s.by) == s.name {
			same = append(same, item)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	if s.index < len(v.items) && (len(same) == 0 || slices.Contains(same, v.items[s.index])) {
		return v.items[s.index]
	}
	if len(same) > 0 {
		return same[0]
	}
	return nil
}

// index parses a list index, -1 if it is none.
func index(token string) int {
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
