// Package jmespath evaluates Kyverno's dialect of JMESPath: the language of https://jmespath.org with
// Kyverno's own functions and its rule that an unknown key is an error
// (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/).
//
// Expressions are parsed once by github.com/jmespath-community/go-jmespath, compiled to an immutable
// program, and evaluated on JSON trees in the convention of Kubernetes (int64 and float64) without
// converting them. Evaluation is pure: time and the seed of random are inputs, nothing asks a network.
package jmespath

import (
	"context"
	"slices"
	"time"
)

// Limits of one expression and of one evaluation.
const (
	maxSource = 1 << 20 // bytes of an expression: variables put whole objects into literals
	maxDepth  = 1000    // nesting of an expression
	maxSteps  = 1 << 20 // nodes evaluated, elements compared or counted
	maxBytes  = 8 << 20 // text and elements that functions and projections make
)

// Env is what an evaluation may know besides its data.
type Env struct {
	Now  time.Time // what time_now returns
	Seed uint64    // what random starts from: equal seeds give equal text
	// Bindings are the values of $name in expressions of assertion trees.
	Bindings map[string]any
	// Absent returns the error of reading a field that a map lacks; nil for one that is just not there. Nil: all are.
	Absent func(of map[string]any, field string) error
}

// Expression is a compiled expression. It is immutable and safe for concurrent use.
type Expression struct {
	source string
	root   *node
	roots  []string
	builds bool // the result may be larger than the data: its size is checked
}

// Compile parses an expression of at most 1 MiB. The error is a *SyntaxError. Calls of functions that
// do not exist or have another number of arguments are found here, not at evaluation.
func Compile(source string) (*Expression, error) {
	return compileAs(source, kyverno)
}

// CompileAssertion parses an expression of an assertion tree: the community's dialect of JMESPath
// (https://kyverno.github.io/kyverno-json/latest/jp/), in which a missing key is null, $name is a binding, and
// there are arithmetic operators. Limits and errors are those of [Compile].
func CompileAssertion(source string) (*Expression, error) { return compileAs(source, assertions) }

// dialect is a variant of the language.
type dialect int

const (
	kyverno dialect = iota
	assertions
)

func compileAs(source string, d dialect) (*Expression, error) {
	root, err := compile(source, d)
	if err != nil {
		return nil, err
	}
	return &Expression{source: source, root: root, roots: findRoots(root), builds: root.builds()}, nil
}

// String is the source of the expression.
func (e *Expression) String() string { return e.source }

// Variables are the names of the bindings that an expression of an assertion tree reads, without their $.
func (e *Expression) Variables() []string {
	var out []string
	var visit func(*node)
	visit = func(n *node) {
		if n.op == opVariable {
			out = append(out, n.name)
		}
		for _, kid := range n.kids {
			visit(kid)
		}
	}
	visit(e.root)
	slices.Sort(out)
	return slices.Compact(out)
}

// Roots names the top-level fields that the expression can read, sorted and unique ("request", "images", the name of a
// context entry). "@" among them says that it reads the data as a whole. The caller must not change the slice.
func (e *Expression) Roots() []string { return e.roots }

// Search evaluates the expression on data, a tree of maps, slices, strings, bools, nil, and numbers as
// int64 or float64. The result can share parts with data and with the expression: it must not be changed.
//
// A key that does not exist is a *NotFoundError unless something catches it: ||, !, a comparison, a pipe,
// an argument, a projection or a multi-select see null instead, as in Kyverno. Whole numbers stay int64
// as far as the operation allows. Other errors are *FunctionError, *LimitError, the context's error, and
// *admission.NeedsClusterError of functions that would ask a network.
func (e *Expression) Search(ctx context.Context, data any, env Env) (any, error) {
	m := &machine{ctx: ctx, env: env}
	result, err := m.eval(e.root, data)
	if err != nil {
		return nil, err
	}
	if e.builds {
		// A result can name one part many times and so be far larger than the work it took.
		if err := m.measure(result, 0); err != nil {
			return nil, err
		}
	}
	return result, nil
}
