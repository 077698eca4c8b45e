package cel

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Limits for explaining one failure: how many parts of expressions are evaluated, the cost of one part, and the cost of
// all together.
const (
	maxSteps    = 4000
	partCost    = costLimit / 10
	explainCost = costLimit
)

// place is a field of the object, or of the old object if old is set.
type place struct {
	old     bool
	pointer string
}

func (p place) at(key string) place {
	return place{p.old, p.pointer + "/" + jsonpointer.Escape(key)}
}

// explainer finds the fields that made an expression false. It descends into the expression: to the side of && that is
// false, to the elements of all() that do not hold, into variables. Where it can go no deeper, the fields are those
// that the part reads.
type explainer struct {
	a     *activation
	steps int
	cost  uint64
}

// frame is an expression, with the variables of the comprehensions around the current part.
type frame struct {
	expr   *expression
	bound  map[string]any
	origin map[string]source
}

// source is where a value comes from. It is exact if the value is the one at the places, and not computed from them.
type source struct {
	places []place
	exact  bool
}

// fieldsOf returns the fields that made the expression false or fail, as pointers. The second result is true if they are
// in the old object. If nothing is known, it returns the whole object.
func fieldsOf(a *activation, e *expression) ([]string, bool) {
	x := &explainer{a: a}
	f := frame{expr: e}
	var found []place
	if got, err := x.truth(f, e.checked.Expr()); err != nil {
		found = x.blameError(f, e.checked.Expr())
	} else {
		found = x.blame(f, e.checked.Expr(), got)
	}
	old := a.state.request.Object == nil
	if len(found) > 0 {
		old = !slices.ContainsFunc(found, func(p place) bool { return !p.old })
	}
	var out []string
	for _, p := range found {
		if p.old == old {
			out = append(out, p.pointer)
		}
	}
	x.requireRest(e)
	if len(out) == 0 {
		return []string{""}, old
	}
	return jsonpointer.Distinct(out), old
}

var errTooLong = errors.New("too many steps")

// eval evaluates a part of an expression.
func (x *explainer) eval(f frame, e ast.Expr) (ref.Val, error) {
	if x.steps++; x.steps > maxSteps || x.cost > explainCost {
		return nil, errTooLong
	}
	p, ok := f.expr.parts.Load(e.ID())
	if !ok {
		all := f.expr.checked
		part := ast.NewCheckedAST(ast.NewAST(e, all.SourceInfo()), all.TypeMap(), all.ReferenceMap())
		options := append(programOptions(), cel.CostLimit(partCost))
		if f.expr.quick != nil {
			options = quickOptions(e)
		}
		planned, err := x.a.state.lang.planner(e).PlanProgram(part, options...)
		if err != nil {
			return nil, err
		}
		p, _ = f.expr.parts.LoadOrStore(e.ID(), planned)
	}
	program := p.(cel.Program) //nolint:forcetypeassert // only programs are stored
	a := &activation{ctx: x.a.ctx, state: x.a.state, bound: f.bound}
	if f.expr.quick != nil {
		out, err, done := a.quick(program)
		if !done {
			x.cost = explainCost + 1
			return nil, errTooLong
		}
		return out, err
	}
	out, cost, err := run(a, program)
	x.cost += cost
	return out, err
}

func (x *explainer) truth(f frame, e ast.Expr) (bool, error) {
	v, err := x.eval(f, e)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, errors.New("not a bool")
	}
	return bool(b), nil
}

// blame returns the places that cause the value of a part that can be evaluated.
func (x *explainer) blame(f frame, e ast.Expr, got bool) []place {
	switch e.Kind() {
	case ast.SelectKind:
		if inner, ok := x.variable(e); ok {
			return x.blame(inner, inner.expr.checked.Expr(), got)
		}
	case ast.ComprehensionKind:
		return x.blameComprehension(f, e, got)
	case ast.CallKind:
		return x.blameCall(f, e, got)
	}
	return x.require(f, e, got, x.reads(f, e).places)
}

func (x *explainer) blameCall(f frame, e ast.Expr, got bool) []place {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalNot:
		return x.blame(f, args[0], !got)
	case operators.LogicalAnd, operators.LogicalOr:
		isAnd := call.FunctionName() == operators.LogicalAnd
		var out [][]place
		for _, arg := range operands(call.FunctionName(), e) {
			v, err := x.truth(f, arg)
			switch {
			case err != nil:
				out = append(out, x.blameError(f, arg))
			case v == got:
				out = append(out, x.blame(f, arg, v))
			}
		}
		if isAnd || got {
			return deepest(slices.Concat(out...)) // each of them has to change
		}
		return x.oneOf(out)
	case operators.Conditional:
		if branch, ok := x.branch(f, args); ok {
			return x.blame(f, branch, got)
		}
	case operators.Equals, operators.NotEquals:
		for i, arg := range args {
			other := args[1-i]
			if arg.Kind() == ast.LiteralKind && arg.AsLiteral().Type() == types.BoolType {
				if v, err := x.truth(f, other); err == nil {
					return x.blame(f, other, v)
				}
			}
		}
	case operators.In:
		if left := x.reads(f, args[0]).places; len(left) > 0 {
			return x.require(f, e, got, left)
		}
		return x.require(f, e, got, x.entry(f, args[1], args[0]))
	case callHasIndex:
		return x.require(f, e, got, x.entry(f, args[0], args[1]))
	}
	return x.require(f, e, got, deepest(x.reads(f, e).places))
}

// branch returns the argument of ?: that the condition chooses.
func (x *explainer) branch(f frame, args []ast.Expr) (ast.Expr, bool) {
	chosen, err := x.truth(f, args[0])
	if chosen {
		return args[1], true
	}
	return args[2], err == nil
}

// operands returns the operands of a chain of the same operator.
func operands(operator string, e ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []ast.Expr{e}
	}
	var out []ast.Expr
	for _, arg := range e.AsCall().Args() {
		out = append(out, operands(operator, arg)...)
	}
	return out
}

// entry returns the place of an entry of a map, or of the list itself if it is one.
func (x *explainer) entry(f frame, container, key ast.Expr) []place {
	in := x.reads(f, container)
	k, err := x.eval(f, key)
	v, err2 := x.eval(f, container)
	if err != nil || err2 != nil || !in.exact {
		return in.places
	}
	if _, isMap := v.(traits.Mapper); !isMap {
		return in.places
	}
	return step(in.places, k)
}

func step(in []place, key ref.Val) []place {
	var name string
	switch k := key.(type) {
	case types.String:
		name = string(k)
	case types.Int:
		name = strconv.FormatInt(int64(k), 10)
	default:
		return in
	}
	out := make([]place, len(in))
	for i, p := range in {
		out[i] = p.at(name)
	}
	return out
}

// oneOf chooses a place if any of several would explain the value: existing fields first; if there are none, the only
// missing one; otherwise the place that contains all of the missing ones. A namespace that would do is no place to mend.
func (x *explainer) oneOf(ways [][]place) []place {
	var written, absent []place
	all := slices.Concat(ways...)
	if rest := slices.DeleteFunc(slices.Clone(all), func(p place) bool { return p.pointer == "/metadata/namespace" }); len(rest) > 0 {
		all = rest
	}
	for _, p := range all {
		if _, ok := x.a.state.lookup(p); ok {
			written = append(written, p)
		} else {
			absent = append(absent, p)
		}
	}
	if len(written) > 0 {
		return deepest(written)
	}
	if len(absent) < 2 {
		return absent
	}
	common := absent[0]
	for _, p := range absent[1:] {
		for p.pointer != common.pointer && !strings.HasPrefix(p.pointer, common.pointer+"/") {
			common.pointer = common.pointer[:strings.LastIndexByte(common.pointer, '/')]
		}
	}
	return []place{common}
}

// lookup reads the value at a place.
func (s *evaluation) lookup(p place) (any, bool) {
	v := s.object
	if p.old {
		v = s.oldObject
	}
	if p.pointer == "" {
		return v, v != nil
	}
	return jsonpointer.Lookup(v, p.pointer)
}

// blameError finds the innermost part that cannot be evaluated: mostly a missing field.
func (x *explainer) blameError(f frame, e ast.Expr) []place {
	out := x.broken(f, e)
	if asksSomething(e) {
		x.require(f, e, false, out)
	}
	return out
}

func (x *explainer) broken(f frame, e ast.Expr) []place {
	if inner, ok := x.variable(e); ok {
		return x.blameError(inner, inner.expr.checked.Expr())
	}
	if e.Kind() == ast.ComprehensionKind {
		c := e.AsComprehension()
		if inner, ok := x.binding(f, c); ok {
			return x.blameError(inner, c.Result())
		}
		body := bodyOf(c)
		if _, err := x.eval(f, c.IterRange()); err == nil && body.predicate != nil {
			for _, el := range x.elements(f, c) {
				if _, err := x.eval(el, body.predicate); err != nil {
					return x.blameError(el, body.predicate)
				}
			}
		}
	}
	for _, child := range children(e) {
		if _, err := x.eval(f, child); err != nil && !errors.Is(err, errTooLong) {
			return x.blameError(f, child)
		}
	}
	return deepest(x.reads(f, e).places)
}

func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		if op := e.AsSelect().Operand(); op.Kind() != ast.IdentKind {
			return []ast.Expr{op}
		}
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			return append([]ast.Expr{c.Target()}, c.Args()...)
		}
		return c.Args()
	case ast.ComprehensionKind:
		return []ast.Expr{e.AsComprehension().IterRange()}
	case ast.ListKind:
		return e.AsList().Elements()
	}
	return nil
}

// variable is the frame of a variable of the policy, where the part is a use of one.
func (x *explainer) variable(e ast.Expr) (frame, bool) {
	name, ok := variableName(e)
	if !ok {
		return frame{}, false
	}
	for _, v := range x.a.state.variables {
		if v.name == name {
			return frame{expr: v.expr}, true
		}
	}
	return frame{}, false
}

// deepest drops places that contain another one: has(a) && a.b == 1 is about a.b.
func deepest(in []place) []place {
	var out []place
	for i, p := range in {
		keep := true
		for j, q := range in {
			if p.old == q.old && (strings.HasPrefix(q.pointer, p.pointer+"/") || p == q && j < i) {
				keep = false
				break
			}
		}
		if keep {
			out = append(out, p)
		}
	}
	return out
}

// with adds a variable of a comprehension.
func (f frame) with(name string, value any, from source) frame {
	out := frame{expr: f.expr, bound: maps.Clone(f.bound), origin: maps.Clone(f.origin)}
	if out.bound == nil {
		out.bound, out.origin = map[string]any{}, map[string]source{}
	}
	out.bound[name], out.origin[name] = value, from
	return out
}
