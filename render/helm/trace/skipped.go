package trace

import (
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
