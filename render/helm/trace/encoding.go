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

// fromText gives the values of a decoded text the places of their tokens in it.
func fromText(c *call) taint {
	s, sh := c.subject()
	e := c.encoding(s)
	e.segments, e.whole = sh.of(len(s)), taint{org: sh.mix(), cond: sh.cond}
	col := 0
	if e.root != nil {
		e.read(e.root, c.out)
		col = e.root.Column - 1
	}
	e.feeds(c.out, col)
	return taint{org: sh.mix(), cond: sh.conds()}
}

// feeds gives the decoded map the skipped blocks that are between its keys in the text.
func (e *encoding) feeds(out reflect.Value, col int) {
	if rv := concrete(out); rv.Kind() != reflect.Map || rv.IsNil() {
		return
	}
	info := e.track(value{rv: out})
	at := 0
	for _, g := range e.segments {
		if at += int(g.n); g.skipped == nil || !indented(e.Text, at, col) {
			continue
		}
		e.step()
		h := g.skipped
		if h.feed == nil {
			moved := *h
			moved.moved, h = true, &moved
		}
		info.feeds = info.feeds.join(feeds{h})
	}
}

// read records the origins of a decoded value and returns its taint. That of a container is the taint of the whole
// text, as the values in it have their own.
func (e *encoding) read(n *yaml.Node, v reflect.Value) taint {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	e.step()
	v = concrete(v)
	switch {
	case n.Kind == yaml.MappingNode && v.Kind() == reflect.Map:
		e.setMap(v, e.mapping(n, v))
	case n.Kind == yaml.SequenceNode && v.Kind() == reflect.Slice:
		info := &sliceInfo{org: e.whole.org}
		for i, below := range n.Content[:min(len(n.Content), v.Len())] {
			info.elems = append(info.elems, e.read(below, v.Index(i)))
		}
		e.setSlice(v, info)
	case n.Kind == yaml.ScalarNode:
		return e.scalar(n)
	default:
		return taint{org: e.whole.org, derived: true}
	}
	at := e.Of(n)
	if segments := cut(e.segments, at, at+1); len(segments) > 0 && len(n.Content) == 0 {
		return taint{org: segments[0].org, cond: join(segments[0].cond, e.whole.cond)}
	}
	return e.whole
}

func (e *encoding) mapping(n *yaml.Node, v reflect.Value) *mapInfo {
	info := &mapInfo{org: e.whole.org}
	var like mixer
	for key, below := range doc.Fields(n) {
		held := e.at(value{rv: v}, key.Value)
		if !held.rv.IsValid() {
			continue
		}
		of := entry{e.scalar(key), e.read(below, held.rv)}
		if len(of.key.segments) == 1 && of.key.segments[0].off >= 0 && of.key.segments[0].org.isKey() {
			like.add(of.key.segments[0].org.up)
		}
		info.set(key.Value, of)
	}
	if info.like = like.node(); len(like.parts) > 1 {
		info.like, info.feeds = nil, info.feeds.add(info.like)
	}
	return info
}

// scalar returns the taint of a scalar. It is that of its token, limited to the scalar's own bytes if the text contains
// them.
func (e *encoding) scalar(n *yaml.Node) taint {
	at, end, ok := e.Span(n)
	if !ok {
		at = min(e.Of(n), len(e.Text))
		end = min(at+1, len(e.Text))
	}
	t := &text{}
	for _, part := range e.own(n, at, end) {
		t.addSegs(cut(e.segments, part[0], part[1]), nil)
	}
	if t.segments == nil {
		sh := taint{segments: cut(e.segments, at, end)}
		return taint{org: sh.mix(), cond: join(sh.conds(), e.whole.cond), derived: true}
	}
	return taint{segments: t.segments, cond: e.whole.cond}
}
