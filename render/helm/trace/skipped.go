package trace

import (
	"slices"
	"strings"
	"text/template/parse"
)

// skippedBlock is a place where a template could have printed something: a block that was skipped, an action that printed
// nothing. It keeps what is needed to tell which values the parse tree would read there.
type skippedBlock struct {
	feed *node      // the other fields are empty: keys of this value would be printed there, or have been
	node parse.Node // *parse.BranchNode, *parse.ActionNode
	dot  value
	vars []variable
	tmpl *tmpl
	set  *set
	// moved means that what was printed was decoded since and stands elsewhere.
	moved bool
}

// skip marks where a block was not executed, or an action printed nothing: of is what that is of.
func (f *frame) skip(dot value, n parse.Node, of *node) {
	f.grow(skippedCost)
	g := segment{cond: f.cond, skipped: &skippedBlock{node: n, dot: dot, vars: slices.Clone(f.vars),
		tmpl: f.tmpl, set: f.set}}
	if f.assuming {
		g.org = of
	}
	f.out.piece(g)
}

// feeds are the skipped blocks of what a map was merged or decoded of, each of which would give it entries that it has not.
type feeds []*skippedBlock

const maxFeeds = 16

// add adds values that would give entries.
func (l feeds) add(n *node) feeds {
	n.leaves(func(n *node) {
		if n.kind == Value && len(l) < maxFeeds && !slices.ContainsFunc(l, func(h *skippedBlock) bool { return h.feed == n }) {
			l = append(l, &skippedBlock{feed: n})
		}
	})
	return l
}

// join adds those of another map.
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

// instead adds the values that are empty, so that something else is there in their place.
func (l feeds) instead(c *cond) feeds {
	if c != nil && c.role == Fallback {
		l = l.add(c.org)
	}
	return l
}

// feed leaves the skipped blocks of a map where its entries were printed.
func (f *frame) feed(out *text, m value) {
	if info := f.mapOf(m.rv); info != nil {
		for _, h := range info.feeds {
			f.grow(skippedCost)
			out.piece(segment{cond: f.cond, skipped: h})
		}
	}
}

// indented reports whether what is printed at a position stands in the block of a mapping whose keys begin at a column.
func indented(s string, at, col int) bool {
	line := strings.TrimRight(s[:at], " \n\t")
	line = line[strings.LastIndexByte(line, '\n')+1:]
	return len(line)-len(strings.TrimLeft(line, " ")) == col
}
