package trace

import (
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

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
