// Package assert evaluates assertion trees, the form of rules that Kyverno adopted from kyverno-json
// (https://kyverno.github.io/kyverno-json/latest/policies/asserts/): a tree of the shape of the object whose keys
// may be expressions that project what is below them, and whose leaves are compared.
//
// Compiled trees are immutable and safe for concurrent use; evaluation changes nothing and asks nobody.
package assert

import (
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Limits of a tree and of its evaluation.
const (
	maxDepth    = 100
	maxElements = 100_000 // that all iterations go over
)

// Tree is a compiled assertion tree.
type Tree struct {
	root  node
	names []string
}

// Names are the bindings that the tree reads and does not make itself: the context entries of the rule.
func (t *Tree) Names() []string { return slices.Clone(t.names) }

// node is a part of a tree: a mapping, a list, or a leaf.
type node interface {
	check(c *checker, path path, v value, b bindings, depth int) error
}

// mapping projects a value by each of its entries; they are in the order of their keys.
type mapping []entry

type entry struct {
	key string // as it is written
	projection
	below node
}

type list []node

type leaf struct {
	value any
	expr  *jmespath.Expression // what the value is compared with, instead
}

// projection is a parsed key: ~index.(expression)->name in full.
type projection struct {
	each  bool
	index string
	name  string // the plain key
	expr  *jmespath.Expression
	binds string
}

// The forms of a key, as the documentation has them.
var (
	eachPattern    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^~(\w*)\.(.*)$`) })
	bindPattern    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?)\s*->\s*(\w+)$`) })
	escapedPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\\(.+)\\$`) })
	exprPattern    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\((?:(\w+);)?(.+)\)$`) })
)

// Compile compiles a tree, given as JSON. The error is a *jsonpointer.Error.
func Compile(tree any) (*Tree, error) {
	c := &compiler{}
	root, err := c.node(tree, "", 0)
	if err != nil {
		return nil, err
	}
	slices.Sort(c.reads)
	return &Tree{root: root, names: slices.Compact(c.reads)}, nil
}

// compiler collects the bindings that expressions read.
type compiler struct{ reads []string }

func (c *compiler) node(v any, at string, depth int) (node, error) {
	if depth > maxDepth {
		return nil, jsonpointer.Errorf(at, "the tree is nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(mapping, 0, len(v))
		for _, key := range sortedKeys(v) {
			pointer := at + "/" + jsonpointer.Escape(key)
			p, err := c.projection(key, pointer)
			if err != nil {
				return nil, err
			}
			below, err := c.node(v[key], pointer, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, entry{key, p, below})
		}
		return out, nil
	case []any:
		out := make(list, 0, len(v))
		for i, e := range v {
			below, err := c.node(e, at+"/"+strconv.Itoa(i), depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, below)
		}
		return out, nil
	case string:
		p, err := c.projection(v, at)
		switch {
		case err != nil:
			return nil, err
		case p.each:
			return nil, jsonpointer.Errorf(at, "a value cannot iterate over elements: ~ is for keys")
		case p.binds != "":
			return nil, jsonpointer.Errorf(at, "a value cannot be bound: -> is for keys")
		}
		return leaf{value: p.name, expr: p.expr}, nil
	}
	return leaf{value: v}, nil
}

func (c *compiler) projection(key, at string) (projection, error) {
	var p projection
	if m := eachPattern().FindStringSubmatch(key); m != nil {
		p.each, p.index, key = true, m[1], m[2]
	}
	if m := bindPattern().FindStringSubmatch(key); m != nil {
		key, p.binds = m[1], m[2]
	}
	if m := escapedPattern().FindStringSubmatch(key); m != nil {
		p.name = m[1]
		return p, nil
	}
	m := exprPattern().FindStringSubmatch(key)
	if m == nil {
		p.name = key
		return p, nil
	}
	if m[1] != "" && m[1] != "jp" {
		return p, jsonpointer.Errorf(at, "expressions of %q cannot be used here: use JMESPath", m[1])
	}
	expr, err := jmespath.CompileAssertion(m[2])
	if err != nil {
		return p, jsonpointer.Errorf(at, "not a JMESPath expression: %s", err)
	}
	c.reads = append(c.reads, expr.Variables()...)
	p.expr = expr
	return p, nil
}
