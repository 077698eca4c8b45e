package trace

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// encoding is a text of YAML or JSON with the value that was encoded, or decoded.
type encoding struct {
	*frame
	doc.Offsets
	root *yaml.Node // nil: the text is invalid
	out  text       // the text, as far as it was matched with the value
	pos  int        // length of out

	segments []segment // of the text that was decoded
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

// own returns the parts of a scalar's token that are bytes of the scalar, in order. There are none if the token is
// written differently.
func (e *encoding) own(n *yaml.Node, at, end int) (parts [][2]int) {
	token := e.Text[:min(end+1, len(e.Text))] // including the next line break, which may be part of a block scalar
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		at += max(0, strings.IndexByte(token[at:], '\n')) // skip the line with its mark
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

// encoded handles toYaml and toJson: it matches the tokens of the text with the values.
func encoded(c *call) taint {
	s, _ := asString(c.out)
	v := c.args[len(c.args)-1]
	sh := c.written(s, v)
	sh.cond = join(sh.cond, v.sh.conds())
	return sh
}

// written returns the taint of a value as YAML or JSON. If they cannot be matched, it is the taint of the whole value.
func (f *frame) written(s string, v value) taint {
	if e := f.encoding(s); e.root != nil && e.write(e.root, v) {
		e.upTo(len(s))
		return e.out.taint()
	}
	return taint{org: f.origin(v), cond: v.sh.conds(), derived: true}
}

// upTo takes structural bytes up to an offset.
func (e *encoding) upTo(at int) {
	if at > e.pos {
		e.out.piece(segment{n: int32(at - e.pos), off: -1})
		e.pos = at
	}
}

// write matches the text with a value. It returns false where they differ.
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

// token takes the token of a scalar, or of an empty map or list. Bytes of the scalar in the token keep their places.
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
	case strings.TrimSuffix(s, "\n") == strings.TrimSuffix(n.Value, "\n"): // toYaml removes the last line break
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
