package trace

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// fromText gives the values of a decoded text the places of their tokens in it.
func fromText(c *call) taint {
	s, sh := c.subject()
	c.decoded(s, sh)
	return taint{org: sh.mix(), cond: sh.conds()}
}

// decoded records the origins of a decoded document.
func (c *call) decoded(s string, sh taint) {
	d := &decoder{call: c, Offsets: doc.NewOffsets(s), segments: sh.of(len(s)), cond: sh.cond, org: sh.mix()}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err == nil && len(doc.Content) == 1 {
		d.node(doc.Content[0], c.out, 0)
		d.feeds(doc.Content[0].Column - 1)
	} else if err == nil {
		d.feeds(0)
	}
}

// feeds gives the decoded map the skipped blocks of the text that stand between its keys.
func (d *decoder) feeds(col int) {
	if rv := concrete(d.out); rv.Kind() != reflect.Map || rv.IsNil() {
		return
	}
	info := d.track(value{rv: d.out})
	at := 0
	for _, g := range d.segments {
		if at += int(g.n); g.skipped == nil || !indented(d.Text, at, col) {
			continue
		}
		d.step()
		h := g.skipped
		if h.feed == nil {
			moved := *h
			moved.moved, h = true, &moved
		}
		info.feeds = info.feeds.join(feeds{h})
	}
}

type decoder struct {
	*call
	doc.Offsets
	segments []segment
	cond     *cond
	org      *node
}

// node records the origins of a decoded value and returns the taint of a scalar.
func (d *decoder) node(n *yaml.Node, v reflect.Value, depth int) taint {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if depth > 100 {
		return taint{org: d.org, derived: true}
	}
	d.step()
	v = concrete(v)
	switch {
	case n.Kind == yaml.MappingNode && v.Kind() == reflect.Map:
		return d.mapping(n, v, depth)
	case n.Kind == yaml.SequenceNode && v.Kind() == reflect.Slice:
		info := &sliceInfo{org: d.org}
		for i, e := range n.Content {
			if i >= v.Len() {
				break
			}
			info.elems = append(info.elems, d.node(e, v.Index(i), depth+1))
		}
		d.setSlice(v, info)
		return d.whole(n)
	case n.Kind == yaml.ScalarNode:
		return d.scalar(n)
	}
	return taint{org: d.org, derived: true}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, depth int) taint {
	info := &mapInfo{org: d.org}
	var like mixer
	all := value{rv: v}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		held := d.at(all, key.Value)
		if key.Tag == "!!merge" || !held.rv.IsValid() {
			continue
		}
		e := entry{d.scalar(key), d.node(n.Content[i+1], held.rv, depth+1)}
		if len(e.key.segments) == 1 && e.key.segments[0].off >= 0 && e.key.segments[0].org.isKey() {
			like.add(e.key.segments[0].org.up)
		}
		info.set(key.Value, e)
	}
	if info.like = like.node(); len(like.parts) > 1 {
		info.like, info.feeds = nil, info.feeds.add(info.like)
	}
	d.setMap(v, info)
	return d.whole(n)
}

// whole is the origin of a container: what its entries are of is told by themselves.
func (d *decoder) whole(n *yaml.Node) taint {
	at := d.Of(n)
	if at < len(d.Text) {
		if segments := cut(d.segments, at, at+1); len(segments) > 0 && len(n.Content) == 0 {
			return taint{org: segments[0].org, cond: join(segments[0].cond, d.cond)}
		}
	}
	return taint{org: d.org, cond: d.cond}
}

// scalar returns the taint of a scalar: that of its token, cut down to its own bytes where they stand in the text.
func (d *decoder) scalar(n *yaml.Node) taint {
	at := d.Of(n)
	rest := d.Text[at:]
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && rest != "" {
		if strings.HasPrefix(rest[1:], n.Value) && len(n.Value) > 0 {
			return d.cut(at+1, at+1+len(n.Value))
		}
		return d.mixed(at, at+max(1, doc.QuotedLength(rest)))
	}
	if n.Style&yaml.LiteralStyle != 0 {
		return d.literal(n, at)
	}
	if n.Value != "" && strings.HasPrefix(rest, n.Value) {
		return d.cut(at, at+len(n.Value))
	}
	return d.mixed(at, min(at+max(1, len(n.Value)), len(d.Text)))
}

func (d *decoder) cut(i, j int) taint {
	segments := cut(d.segments, i, j)
	if segments == nil {
		return taint{org: d.org, cond: d.cond, derived: true}
	}
	return taint{segments: segments, cond: d.cond}
}

// mixed is the taint of a scalar whose bytes are not those of its token.
func (d *decoder) mixed(i, j int) taint {
	sh := taint{segments: cut(d.segments, i, j)}
	return taint{org: sh.mix(), cond: join(sh.conds(), d.cond), derived: true}
}

// literal follows the lines of a block scalar.
func (d *decoder) literal(n *yaml.Node, at int) taint {
	t := &text{}
	line := n.Line
	for rest := n.Value; rest != ""; line++ {
		i := strings.IndexByte(rest, '\n')
		want := rest
		if i >= 0 {
			want = rest[:i]
		}
		if line >= len(d.Lines) {
			return d.mixed(at, len(d.Text))
		}
		from := d.Lines[line]
		src, _, _ := strings.Cut(d.Text[from:], "\n")
		k := strings.Index(src, want)
		if k < 0 || len(src) != k+len(want) {
			return d.mixed(at, from)
		}
		if i >= 0 {
			want = rest[:i+1]
			if from+k+len(want) > len(d.Text) {
				return d.mixed(at, from)
			}
		}
		t.addSegs(cut(d.segments, from+k, from+k+len(want)), nil)
		rest = rest[len(want):]
	}
	sh := t.taint()
	sh.cond = d.cond
	if sh.segments == nil {
		sh.org = d.org
	}
	return sh
}
