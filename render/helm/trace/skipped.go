package trace

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// skippedBlock is a block that was skipped, or an action that printed nothing. It has what is needed to find which
// values the parse tree would read there.
type skippedBlock struct {
	feed *node      // if set, other fields are empty: keys of this value are, or would be, printed here
	node parse.Node // *parse.BranchNode, *parse.ActionNode
	dot  value
	vars []variable
	tmpl *tmpl
	set  *set
	// moved means that the printed text was decoded later, so its place has changed.
	moved bool
}

// skip marks a block that was not executed, or an action that printed nothing. of is the origin of the empty result.
func (f *frame) skip(dot value, n parse.Node, of *node) {
	f.grow(skippedCost)
	f.out.piece(segment{org: of, cond: f.cond, skipped: &skippedBlock{node: n, dot: dot, vars: slices.Clone(f.vars),
		tmpl: f.tmpl, set: f.set}})
}

// feeds are the skipped blocks in what a map was merged or decoded from. Each could add entries to the map.
type feeds []*skippedBlock

const maxFeeds = 16

// add adds values that could add entries.
func (l feeds) add(n *node) feeds {
	n.leaves(func(n *node) {
		if n.kind == Value && len(l) < maxFeeds && !slices.ContainsFunc(l, func(h *skippedBlock) bool { return h.feed == n }) {
			l = append(l, &skippedBlock{feed: n})
		}
	})
	return l
}

// join adds the skipped blocks of another map.
func (l feeds) join(other feeds) feeds {
	for _, h := range other {
		if h.feed != nil {
			l = l.add(h.feed)
		} else if len(l) < maxFeeds && !slices.Contains(l, h) {
			l = append(l, h)
		}
	}
	return l
}

// instead adds the empty values that another value replaced.
func (l feeds) instead(c *cond) feeds {
	if c != nil && c.role == Fallback {
		l = l.add(c.org)
	}
	return l
}

// feed adds the skipped blocks of a map to the text in which its entries were printed.
func (f *frame) feed(out *text, m value) {
	if info := f.mapOf(m.rv); info != nil {
		for _, h := range info.feeds {
			f.grow(skippedCost)
			out.piece(segment{cond: f.cond, skipped: h})
		}
	}
}

// indented reports whether a position is in the block of a mapping whose keys start at a column.
func indented(s string, at, col int) bool {
	line := strings.TrimRight(s[:at], " \n\t")
	line = line[strings.LastIndexByte(line, '\n')+1:]
	return len(line)-len(strings.TrimLeft(line, " ")) == col
}

// event is a part of what a block would print: text, or values that are read.
type event struct {
	text  string
	reads []*node
	yaml  bool    // toYaml prints a whole value
	needs []*node // values that must be true
	// shift is the indentation that is added to a text. For values it is the column at which they are printed. It is
	// negative if not known.
	shift int
}

// Limits for a block that is executed to see what it would print.
const (
	maxAssumedSteps = 20_000
	maxAssumedBytes = 1 << 20
	maxAssumedDepth = 12
)

// assume returns what a skipped block would print if its conditions were true. It executes the block again; calls that
// fail return their arguments.
func (e *exec) assume(h *skippedBlock, template string) []event {
	f := &frame{exec: e, set: h.set, tmpl: h.tmpl, out: &text{}, vars: slices.Clone(h.vars)}
	func() {
		defer func(limits Limits, depth int) {
			_ = recover() // keep what was printed until then
			e.assuming, e.limits, e.depth = false, limits, depth
			clear(e.included)
		}(e.limits, e.depth)
		e.limits = Limits{Steps: e.steps + maxAssumedSteps, Bytes: e.bytes + maxAssumedBytes, Depth: e.depth + maxAssumedDepth}
		e.assuming, e.ctx = true, context.WithoutCancel(e.ctx) // the context of Run may have ended; the steps are limited instead
		switch n := h.node.(type) {
		case *parse.ActionNode:
			f.walk(h.dot, n)
		case *parse.BranchNode:
			if n.NodeType == parse.NodeRange {
				f.loop(h.dot, &parse.RangeNode{BranchNode: *n})
			} else {
				f.branch(h.dot, n, n.NodeType == parse.NodeWith)
			}
		}
	}()
	return f.out.events(h.tmpl.name == template && !h.moved)
}

// assumed returns the key and the element of the single iteration that is assumed for a range.
func (f *frame) assumed(over value) (k, v value) {
	k = value{sh: taint{org: f.origin(over), cond: over.sh.cond}}
	switch rv := concrete(over.rv); {
	case rv.Kind() == reflect.Slice && rv.Len() > 0:
		return k, f.index(over, 0)
	case rv.Kind() == reflect.Map:
		return k, k
	}
	return k, value{sh: taint{org: over.sh.mix().child("0"), cond: over.sh.cond}}
}

// events splits printed text into lines and values. known means that its columns are known, except for the first line.
func (t *text) events(known bool) (list []event) {
	var line event
	flush := func() {
		if line.text != "" {
			list = append(list, line)
		}
		line = event{}
	}
	var inside *node // a value whose keys are printed one by one
	at := 0
	for _, g := range t.segments {
		s := string(t.buf[at : at+int(g.n)])
		begin := bytes.LastIndexByte(t.buf[:at], '\n')
		at += int(g.n)
		e := event{yaml: slices.Contains([]string{"null", "{}", "[]"}, s), needs: g.needs(), shift: -1}
		if known && begin >= 0 {
			e.shift = at - int(g.n) - begin - 1
		}
		g.org.leaves(func(n *node) {
			switch n.kind {
			case Value:
				e.reads = append(e.reads, n)
			case Key:
				e.reads, e.yaml = append(e.reads, n.up), true
			}
		})
		switch {
		case inside != nil && (g.org == nil || len(e.reads) > 0 && e.reads[0].below(inside)):
			continue
		case len(e.reads) > 0:
			flush()
			list = append(list, e)
			if inside = nil; g.org.isKey() {
				inside = g.org.up
			}
			continue
		}
		inside = nil
		for i, part := range strings.Split(s, "\n") {
			if i > 0 {
				flush()
				line.text = "\n"
			}
			line.text += part
			if line.shift = 0; !known {
				line.shift = -1
			}
			for _, n := range e.needs {
				if !slices.Contains(line.needs, n) {
					line.needs = append(line.needs, n)
				}
			}
		}
	}
	flush()
	return list
}

// needs returns the values that are assumed to be true at a segment, the outermost first.
func (g segment) needs() (list []*node) {
	g.cond.each(func(n *node, role Role) {
		if role == assumed && n.kind == Value {
			list = append(list, n)
		}
	})
	slices.Reverse(list)
	return list
}

// below reports whether another path is a prefix of a path.
func (n *node) below(other *node) bool {
	for ; n != nil; n = n.up {
		if n == other {
			return true
		}
	}
	return false
}
