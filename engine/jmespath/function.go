package jmespath

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kind is a set of types that a parameter takes.
type kind uint16

const (
	kindString kind = 1 << iota
	kindNumber
	kindArray
	kindObject
	kindStrings // a list of strings
	kindNumbers // a list of numbers
	kindAny
	kindExpref
)

// String names the types for people.
func (k kind) String() string {
	var names []string
	for i, name := range []string{"String", "Number", "Array", "Object", "StringArray", "NumberArray", "Any",
		"Expression"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// takes reports whether a value is of one of the types.
func (k kind) takes(v any) bool {
	if k&(kindAny|kindExpref) != 0 { // references are checked when the expression is compiled
		return true
	}
	if _, ok := v.(string); ok {
		return k&kindString != 0
	}
	if _, ok := asNumber(v); ok {
		return k&kindNumber != 0
	}
	if list, ok := v.([]any); ok {
		return k&kindArray != 0 || k&kindStrings != 0 && all(list, isString) || k&kindNumbers != 0 && all(list, isNumber)
	}
	_, ok := v.(map[string]any)
	return ok && k&kindObject != 0
}

func isString(v any) bool { _, ok := v.(string); return ok }
func isNumber(v any) bool { _, ok := asNumber(v); return ok }

func all(list []any, is func(any) bool) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return !is(v) })
}

// function is one entry of the table. A variadic function takes its last parameter once or more often.
type function struct {
	name     string
	params   []kind
	variadic bool
	regex    bool // the first argument is a regular expression
	run      func(c *call) (any, error)
}

func (f *function) param(i int) kind { return f.params[min(i, len(f.params)-1)] }

// reference is the value of &expression.
type reference struct{ node *node }

// call is one call of a function with checked arguments.
type call struct {
	*machine
	node *node
	args []any
}

func (m *machine) call(n *node, v any) (any, error) {
	args, err := m.evalEach(n.kids, v)
	if err != nil {
		return nil, err
	}
	c := &call{machine: m, node: n, args: args}
	for i, arg := range args {
		if want := n.fn.param(i); !want.takes(arg) {
			return nil, c.fail("argument #%d is not of type %s", i+1, want)
		}
	}
	return n.fn.run(c)
}

// fail makes the error of this call. It never holds argument values: they can be secrets of a manifest.
func (c *call) fail(format string, args ...any) error {
	return &FunctionError{Function: c.node.fn.name, Message: fmt.Sprintf(format, args...)}
}

func (c *call) str(i int) string         { s, _ := c.args[i].(string); return s }
func (c *call) num(i int) number         { n, _ := asNumber(c.args[i]); return n }
func (c *call) list(i int) []any         { l, _ := c.args[i].([]any); return l }
func (c *call) obj(i int) map[string]any { o, _ := c.args[i].(map[string]any); return o }
func (c *call) ref(i int) *node          { r, _ := c.args[i].(reference); return r.node }

// text is a string argument, or a number as it is written.
func (c *call) text(i int) string {
	if n, ok := asNumber(c.args[i]); ok {
		return formatNumber(n)
	}
	return c.str(i)
}

// made accounts for a string that is returned.
func (c *call) made(s string) (any, error) {
	if err := c.grow(len(s)); err != nil {
		return nil, err
	}
	return s, nil
}

// regexp is the first argument, compiled with the expression where it is a literal.
func (c *call) regexp() (*regexp.Regexp, error) {
	if c.node.pattern != nil {
		return c.node.pattern, nil
	}
	re, err := regexp.Compile(c.str(0))
	if err != nil {
		return nil, c.fail("argument #1 is not a regular expression")
	}
	return re, nil
}

// of runs a function of one string, and ofTwo one of two strings, whose results need no accounting.
func of(do func(s string) any) func(*call) (any, error) {
	return func(c *call) (any, error) { return do(c.str(0)), nil }
}

func ofTwo[T any](do func(s, t string) T) func(*call) (any, error) {
	return func(c *call) (any, error) { return do(c.str(0), c.str(1)), nil }
}

// functions is the table of all functions; it is never changed.
var functions = makeTable()

func makeTable() map[string]*function {
	table := map[string]*function{}
	for _, group := range [][]function{
		standardFunctions(), orderFunctions(), stringFunctions(), regexFunctions(), numberFunctions(),
		timeFunctions(), dataFunctions(), codecFunctions(),
	} {
		for i := range group {
			table[group[i].name] = &group[i]
		}
	}
	return table
}
