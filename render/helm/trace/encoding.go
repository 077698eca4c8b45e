package trace

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// encoding is a text of YAML or JSON beside the value that it was made of, or that was made of it.
type encoding struct {
	*frame
	doc.Offsets
	root *yaml.Node // nil: it cannot be read
	out  text       // of what was encoded, as far as it was followed
	pos  int        // the length of that

	segments []segment // of what was decoded
	whole    taint
}

func (f *frame) encoding(s string) *encoding {
	e := &encoding{frame: f, Offsets: doc.NewOffsets(s)}
	var document yaml.Node
	if yaml.Unmarshal([]byte(s), &document) == nil && len(document.Content) == 1 {
		e.root = document.Content[0]
	}
	return e
}

// own returns the parts of a scalar's token that are its own bytes, in order; none where it is spelled in another way.
func (e *encoding) own(n *yaml.Node, at, end int) (parts [][2]int) {
	token := e.Text[:min(end+1, len(e.Text))] // with the line break behind it, which a block may have
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		at += max(0, strings.IndexByte(token[at:], '\n')) // behind its head
	}
	for value := n.Value; value != ""; {
		line := value
		if i := strings.IndexByte(value, '\n'); i >= 0 {
			line = value[:i+1]
		}
		i := strings.Index(token[at:], line)
		if i < 0 {
			return nil
		}
		at += i
		parts = append(parts, [2]int{at, at + len(line)})
		at, value = at+len(line), value[len(line):]
	}
	return parts
}

// encoded finds the tokens of what toYaml or toJson printed in the value that it printed.
func encoded(c *call) taint {
	s, _ := asString(c.out)
	v := c.args[len(c.args)-1]
	sh := c.written(s, v)
	sh.cond = join(sh.cond, v.sh.conds())
	return sh
}

// written returns the taint of a value as YAML or JSON; that of the whole if it cannot be followed.
func (f *frame) written(s string, v value) taint {
	if e := f.encoding(s); e.root != nil && e.write(e.root, v) {
		e.upTo(len(s))
		return e.out.taint()
	}
	return taint{org: f.origin(v), cond: v.sh.conds(), derived: true}
}

// upTo takes bytes that are structure.
func (e *encoding) upTo(at int) {
	if at > e.pos {
		e.out.piece(segment{n: int32(at - e.pos), off: -1})
		e.pos = at
	}
}

// write follows what was printed of a value. It returns false where that is something else.
func (e *encoding) write(n *yaml.Node, v value) bool {
	e.step()
	rv := concrete(v.rv)
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 0 && rv.Kind() == reflect.Map:
		for key, below := range doc.Fields(n) {
			held := e.at(v, key.Value)
			if !held.rv.IsValid() || !e.token(key, value{reflect.ValueOf(key.Value), e.entry(v, key.Value).key}) ||
				!e.write(below, held) {
				return false
			}
		}
		e.feed(&e.out, v)
		return true
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && rv.Kind() == reflect.Slice:
		for i, below := range n.Content {
			if i >= rv.Len() || !e.write(below, e.index(v, i)) {
				return false
			}
		}
		return true
	}
	return len(n.Content) == 0 && e.token(n, v)
}

// token takes a scalar's token, or that of an empty map or list. Where the scalar's own bytes stand in it, they keep
// their places.
func (e *encoding) token(n *yaml.Node, v value) bool {
	at, end, ok := e.Span(n)
	if !ok || at < e.pos {
		return false
	}
	e.upTo(at)
	of := v.sh.mix()
	if e.assuming {
		of = e.origin(v)
	}
	rest := func(to int) {
		if to > e.pos {
			e.out.piece(segment{n: int32(to - e.pos), off: -1, org: of, cond: v.sh.conds()})
			e.pos = to
		}
	}
	switch s, _ := asString(v.rv); {
	case s == "":
		e.out.piece(segment{n: int32(end - at), org: of, cond: v.sh.conds()})
		e.pos = end
	case strings.TrimSuffix(s, "\n") == strings.TrimSuffix(n.Value, "\n"): // toYaml cuts the last line break off
		pieces := cutter{segments: v.sh.of(len(s))}
		for _, part := range e.own(n, at, end) {
			rest(part[0])
			pieces.next(part[1]-part[0], func(g segment) {
				g.cond = join(g.cond, v.sh.cond)
				e.out.piece(g)
			})
			e.pos = part[1]
		}
	}
	rest(end)
	return true
}
