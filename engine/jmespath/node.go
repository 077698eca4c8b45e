package jmespath

import (
	"regexp"
	"slices"
)

// op describes what a node does.
type op uint8

const (
	opCurrent op = iota
	opField
	opLiteral
	opSub    // kids: left, right; right sees the left value
	opPipe   // as opSub, and a missing key becomes null
	opIndex  // index
	opSlice  // slice
	opList   // multi-select list
	opHash   // multi-select hash, keys beside kids
	opOr     // kids: left, right
	opAnd    // kids: left, right
	opNot    // kids: operand
	opEqual  // kids: left, right
	opUnlike // kids: left, right
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opFlatten    // kids: list
	opProject    // kids: list, what to take of each
	opFilter     // kids: list, what to take of each, condition
	opValues     // kids: object, what to take of each value
	opCall       // function, kids: arguments
	opVariable   // name, of what the environment binds
	opArithmetic // kids: one or two operands, arithmetic
	opExpref     // kids: the expression, evaluated by the function
)

// node is one step of a compiled expression. It never changes after compile.
type node struct {
	op         op
	name       string   // opField
	keys       []string // opHash
	value      any      // opLiteral
	index      int      // opIndex
	slice      [3]*int  // opSlice: start, stop, step
	kids       []*node
	fn         *function
	pattern    *regexp.Regexp // opCall whose first argument is a constant regular expression
	absent     *NotFoundError // opField: made once; nil where a missing key is null
	arithmetic byte           // opArithmetic: one of + - * / % and d for whole division
}

// builds reports whether the node can name one part of the data more than once; projections only select.
func (n *node) builds() bool {
	switch n.op {
	case opList, opHash, opCall:
		return true
	}
	return slices.ContainsFunc(n.kids, (*node).builds)
}
