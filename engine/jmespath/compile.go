package jmespath

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jmespath-community/go-jmespath/pkg/parsing"
)

// compile parses the source and turns the tree of the parser into nodes.
func compile(source string, d dialect) (root *node, err error) {
	if len(source) > maxSource {
		return nil, &SyntaxError{Offset: maxSource, Message: fmt.Sprintf("expression is longer than %d bytes", maxSource)}
	}
	text, back, scanErr := rewriteRawStrings(source)
	if scanErr != nil {
		return nil, scanErr
	}
	ast, err := parse(text)
	if err == nil {
		root, err = d.translate(&ast, 0)
	}
	if err != nil {
		return nil, located(err, back, len(source))
	}
	return root, nil
}

// parse calls the library's parser, which indexes past its tokens on some malformed input.
func parse(text string) (ast parsing.ASTNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &SyntaxError{Offset: len(text), Message: "malformed expression"}
		}
	}()
	return parsing.NewParser().Parse(text)
}

// located turns any error of parsing into a *SyntaxError with an offset into the source.
func located(err error, back func(int) int, length int) *SyntaxError {
	if own, ok := errors.AsType[*SyntaxError](err); ok {
		return own
	}
	if lib, ok := errors.AsType[parsing.SyntaxError](err); ok {
		return &SyntaxError{Offset: min(max(back(lib.Offset), 0), length), Message: lib.Error()}
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &SyntaxError{Message: "SyntaxError: a literal in backticks or a quoted name is not JSON"}
	}
	return &SyntaxError{Message: "SyntaxError: " + err.Error()}
}

// comparators maps the library's tokens to operations.
var comparators = map[parsing.TokType]op{
	parsing.TOKEQ: opEqual, parsing.TOKNE: opUnlike, parsing.TOKLT: opLess,
	parsing.TOKLTE: opLessEqual, parsing.TOKGT: opGreater, parsing.TOKGTE: opGreaterEqual,
}

// simpleNodes maps types of nodes, whose own type the library does not export, to operations that need nothing but
// their operands.
var simpleNodes = map[any]op{
	parsing.ASTCurrentNode: opCurrent, parsing.ASTIdentity: opCurrent, parsing.ASTSubexpression: opSub,
	parsing.ASTIndexExpression: opSub, parsing.ASTPipe: opPipe, parsing.ASTMultiSelectList: opList,
	parsing.ASTOrExpression: opOr, parsing.ASTAndExpression: opAnd, parsing.ASTNotExpression: opNot,
	parsing.ASTFlatten: opFlatten, parsing.ASTProjection: opProject, parsing.ASTFilterProjection: opFilter,
	parsing.ASTValueProjection: opValues, parsing.ASTExpRef: opExpref,
}

func (d dialect) translate(ast *parsing.ASTNode, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, &SyntaxError{Message: fmt.Sprintf("expression is nested deeper than %d", maxDepth)}
	}
	n := &node{}
	simple := false
	n.op, simple = simpleNodes[ast.NodeType]
	switch ast.NodeType {
	case parsing.ASTField:
		n.op, n.name = opField, ast.Value.(string)
		if d != assertions {
			n.absent = &NotFoundError{Path: n.name}
		}
	case parsing.ASTLiteral:
		n.op, n.value = opLiteral, wholeNumbers(ast.Value)
	case parsing.ASTIndex:
		n.op, n.index = opIndex, ast.Value.(int)
	case parsing.ASTSlice:
		n.op = opSlice
		copy(n.slice[:], ast.Value.([]*int))
		if step := n.slice[2]; step != nil && *step == 0 {
			return nil, &SyntaxError{Message: "SyntaxError: the step of a slice cannot be 0"}
		}
	case parsing.ASTMultiSelectHash:
		n.op = opHash
		for i := range ast.Children {
			n.keys = append(n.keys, ast.Children[i].Value.(string))
		}
	case parsing.ASTKeyValPair:
		return d.translate(&ast.Children[0], depth+1)
	case parsing.ASTComparator:
		n.op = comparators[ast.Value.(parsing.TokType)]
	case parsing.ASTFunctionExpression:
		n.op = opCall
		if err := resolveFunction(n, ast); err != nil {
			return nil, err
		}
	case parsing.ASTArithmeticExpression, parsing.ASTArithmeticUnaryExpression:
		if d == assertions {
			n.op, n.arithmetic = opArithmetic, operations[ast.Value.(parsing.TokType)]
			break
		}
		return nil, &SyntaxError{Message: "SyntaxError: Kyverno has no arithmetic operators, use add(), subtract(), " +
			"multiply(), divide() or modulo()"}
	case parsing.ASTVariable:
		if d != assertions {
			return nil, &SyntaxError{Message: "SyntaxError: let expressions and $ are not part of Kyverno's JMESPath"}
		}
		n.op, n.name = opVariable, strings.TrimPrefix(ast.Value.(string), "$")
	case parsing.ASTLetExpression, parsing.ASTBinding, parsing.ASTBindings, parsing.ASTRootNode:
		return nil, &SyntaxError{Message: "SyntaxError: let expressions and $ are not part of Kyverno's JMESPath"}
	default:
		if !simple {
			return nil, &SyntaxError{Message: "SyntaxError: Incomplete expression"}
		}
	}
	for i := range ast.Children {
		kid, err := d.translate(&ast.Children[i], depth+1)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	if err := checkConstants(n); err != nil {
		return nil, err
	}
	return n, nil
}

// resolveFunction finds the function of a call and checks the number of its arguments.
func resolveFunction(n *node, ast *parsing.ASTNode) error {
	name := ast.Value.(string)
	n.fn = functions[name]
	if n.fn == nil {
		return &SyntaxError{Message: fmt.Sprintf("unknown function: %s", name)}
	}
	given, want := len(ast.Children), len(n.fn.params)
	if given != want && (!n.fn.variadic || given < want) {
		return &SyntaxError{Message: fmt.Sprintf("function %s takes %d arguments, not %d", name, want, given)}
	}
	for i := range ast.Children {
		isRef := ast.Children[i].NodeType == parsing.ASTExpRef
		if wantRef := n.fn.param(i)&kindExpref != 0; isRef != wantRef {
			rule := "cannot be an expression reference"
			if wantRef {
				rule = "must be an expression reference (&...)"
			}
			return &SyntaxError{Message: fmt.Sprintf("function %s: argument %d %s", name, i+1, rule)}
		}
	}
	return nil
}

// checkConstants compiles the regular expression of a call once where it is a literal. One that does not
// compile is left for the evaluation, as Kyverno does, since the call may never be reached.
func checkConstants(n *node) error {
	for i, kid := range n.kids {
		if kid.op == opExpref && n.op != opCall {
			return &SyntaxError{Message: fmt.Sprintf("SyntaxError: & is only allowed as an argument of a function (operand %d)",
				i+1)}
		}
	}
	if n.op != opCall || !n.fn.regex || n.kids[0].op != opLiteral {
		return nil
	}
	if text, ok := n.kids[0].value.(string); ok {
		if re, err := regexp.Compile(text); err == nil {
			n.pattern = re
		}
	}
	return nil
}

// wholeNumbers gives literals the numbers that data has: int64 where they are whole.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case float64:
		return wholeIfExact(v)
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	}
	return v
}
