package trace

import (
	"slices"
	"text/template/parse"
)

// hole is a place where a template could have printed something: a block that was skipped, an action that printed
// nothing. It keeps what is needed to tell which values the parse tree would read there.
type hole struct {
	node parse.Node // *parse.ListNode of a skipped block, *parse.ActionNode
	body *parse.ListNode
	with bool // the block would have the condition's value as its dot
	v    value
	dot  value
	vars []variable
	tmpl *tmpl
	set  *set
	cond *cond
}

// skipped leaves a hole for a block that was not executed.
func (f *frame) skipped(dot value, n *parse.BranchNode, v value, with bool) {
	f.grow(holeCost)
	f.out.piece(seg{cond: f.cond, hole: &hole{node: n, body: n.List, with: with, v: v, dot: dot,
		vars: slices.Clone(f.vars), tmpl: f.tmpl, set: f.set, cond: f.cond}})
}

// printedNothing leaves a hole for an action without output.
func (f *frame) printedNothing(dot value, n *parse.ActionNode, v value) {
	f.grow(holeCost)
	f.out.piece(seg{cond: f.cond, hole: &hole{node: n, v: v, dot: dot,
		vars: slices.Clone(f.vars), tmpl: f.tmpl, set: f.set, cond: f.cond}})
}
