package cel

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
)

// reads describes which fields a part of an expression reads. Of a chain of fields it is the last one.
func (x *explainer) reads(f frame, e ast.Expr) source {
	if x.steps++; x.steps > maxSteps {
		return source{}
	}
	if inner, ok := x.variable(e); ok {
		return x.reads(inner, inner.expr.checked.Expr())
	}
	switch e.Kind() {
	case ast.IdentKind:
		switch name := identName(e); name {
		case identObject:
			return source{[]place{{}}, true}
		case identOldObject:
			return source{[]place{{old: true}}, true}
		case identNamespace:
			return source{places: []place{{pointer: "/metadata/namespace"}}}
		default:
			return f.origin[name]
		}
	case ast.SelectKind:
		return x.readsSelect(f, e.AsSelect())
	case ast.CallKind:
		return x.readsCall(f, e.AsCall())
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		if inner, ok := x.binding(f, c); ok {
			return x.reads(inner, c.Result())
		}
		if body := bodyOf(c); body.kind == mapping {
			var out []place
			for _, el := range x.elements(f, c) {
				out = append(out, x.reads(el, body.result).places...)
			}
			if len(out) > 0 {
				return source{places: out}
			}
		}
		return source{places: x.reads(f, c.IterRange()).places}
	case ast.ListKind:
		return x.union(f, e.AsList().Elements())
	case ast.MapKind:
		var values []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			values = append(values, entry.AsMapEntry().Value())
		}
		return x.union(f, values)
	}
	return source{}
}

func (x *explainer) readsSelect(f frame, s ast.SelectExpr) source {
	if isIdent(s.Operand(), identRequest) {
		switch s.FieldName() {
		case identObject:
			return source{[]place{{}}, true}
		case identOldObject:
			return source{[]place{{old: true}}, true}
		case "namespace", "name":
			return source{places: []place{{old: x.a.state.request.Object == nil, pointer: "/metadata/" + s.FieldName()}}}
		}
		return source{}
	}
	in := x.reads(f, s.Operand())
	if !in.exact {
		return in
	}
	return source{step(in.places, types.String(s.FieldName())), !s.IsTestOnly()}
}

func (x *explainer) readsCall(f frame, c ast.CallExpr) source {
	args := c.Args()
	switch c.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		in := x.reads(f, args[0])
		key, err := x.eval(f, args[1])
		if !in.exact || err != nil {
			return in
		}
		return source{step(in.places, key), true}
	case "orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn":
		if c.IsMemberFunction() {
			in := x.reads(f, c.Target())
			if len(in.places) == 0 && len(args) == 1 {
				return x.reads(f, args[0])
			}
			return in
		}
		return x.reads(f, args[0])
	case "hasValue":
		if c.IsMemberFunction() {
			return source{places: x.reads(f, c.Target()).places}
		}
	case operators.Conditional:
		if branch, ok := x.branch(f, args); ok {
			return x.reads(f, branch)
		}
	}
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	return x.union(f, args)
}

func (x *explainer) union(f frame, parts []ast.Expr) source {
	var out []place
	for _, p := range parts {
		out = append(out, x.reads(f, p).places...)
	}
	return source{places: deepest(out)}
}

// The macros that comprehensions come from.
type macro int

const (
	unknownMacro macro = iota
	every
	some
	filtering
	mapping
)

// shape is what a macro expanded: the predicate of all, exists and filter, the result of map (whose
// predicate, where it has one, filters).
type shape struct {
	kind              macro
	predicate, result ast.Expr
}

// bodyOf recognizes the expansions of the macros
// (https://github.com/google/cel-spec/blob/master/doc/langdef.md#macros).
func bodyOf(c ast.ComprehensionExpr) shape {
	step := c.LoopStep()
	if step.Kind() != ast.CallKind {
		return shape{}
	}
	call := step.AsCall()
	args := call.Args()
	isAccu := func(e ast.Expr) bool { return isIdent(e, c.AccuVar()) }
	appended := func(e ast.Expr) ast.Expr { // of accu + [e]
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Add || !isAccu(e.AsCall().Args()[0]) {
			return nil
		}
		list := e.AsCall().Args()[1]
		if list.Kind() != ast.ListKind || len(list.AsList().Elements()) != 1 {
			return nil
		}
		return list.AsList().Elements()[0]
	}
	switch call.FunctionName() {
	case operators.LogicalAnd:
		if isAccu(args[0]) {
			return shape{kind: every, predicate: args[1]}
		}
	case operators.LogicalOr:
		if isAccu(args[0]) {
			return shape{kind: some, predicate: args[1]}
		}
	case operators.Add:
		if e := appended(step); e != nil {
			return shape{kind: mapping, result: e}
		}
	case operators.Conditional:
		if e := appended(args[1]); e != nil && isAccu(args[2]) {
			if isIdent(e, c.IterVar()) {
				return shape{kind: filtering, predicate: args[0], result: e}
			}
			return shape{kind: mapping, predicate: args[0], result: e}
		}
		return shape{predicate: args[0]}
	}
	return shape{}
}

// binding is the frame of the body of cel.bind(name, value, body), which is a comprehension over nothing
// (https://pkg.go.dev/github.com/google/cel-go/ext#Bindings); the macros of optional values make them, too.
func (x *explainer) binding(f frame, c ast.ComprehensionExpr) (frame, bool) {
	if r := c.IterRange(); r.Kind() != ast.ListKind || r.AsList().Size() != 0 {
		return frame{}, false
	}
	v, err := x.eval(f, c.AccuInit())
	if err != nil {
		return frame{}, false
	}
	return f.with(c.AccuVar(), v, x.reads(f, c.AccuInit())), true
}

// blameComprehension explains all, exists and what is built of them.
func (x *explainer) blameComprehension(f frame, e ast.Expr, got bool) []place {
	c := e.AsComprehension()
	if inner, ok := x.binding(f, c); ok {
		return x.blame(inner, c.Result(), got)
	}
	body := bodyOf(c)
	over := func() []place { return x.require(f, e, got, x.reads(f, c.IterRange()).places) }
	// An all() that holds and an exists() that does not are about the list as a whole.
	if body.kind != every && body.kind != some || (body.kind == some) != got {
		return over()
	}
	var out []place
	for _, el := range x.elements(f, c) {
		v, err := x.truth(el, body.predicate)
		var why []place
		switch {
		case err != nil && body.kind == every:
			why = x.blameError(el, body.predicate)
		case err == nil && v == got:
			why = x.blame(el, body.predicate, v)
		default:
			continue
		}
		if len(why) == 0 {
			why = el.origin[c.IterVar()].places
		}
		out = append(out, why...)
	}
	if len(out) == 0 {
		return over()
	}
	return out
}

// elements are the frames of the iterations of a comprehension.
func (x *explainer) elements(f frame, c ast.ComprehensionExpr) []frame {
	v, err := x.eval(f, c.IterRange())
	if err != nil {
		return nil
	}
	var out []frame
	switch r := v.(type) {
	case traits.Lister:
		for i, from := range x.parts(f, c.IterRange(), r) {
			next, name := f, c.IterVar()
			if c.HasIterVar2() {
				next, name = f.with(name, types.Int(i), source{}), c.IterVar2()
			}
			out = append(out, next.with(name, r.Get(types.Int(i)), from))
		}
	case traits.Mapper:
		in := x.reads(f, c.IterRange())
		for it := r.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			o := source{}
			if in.exact {
				o.places = step(in.places, key)
			}
			next := f.with(c.IterVar(), key, o)
			if c.HasIterVar2() {
				next = next.with(c.IterVar2(), r.Get(key), source{o.places, in.exact})
			}
			out = append(out, next)
		}
	}
	return out
}

// parts describes where each element of a list comes from, with an empty source where that is not known.
func (x *explainer) parts(f frame, e ast.Expr, value traits.Lister) []source {
	n, _ := value.Size().(types.Int)
	out := make([]source, n)
	copy(out, x.origins(f, e, value))
	return out
}

// origins describes where each element of a list comes from, nil where that is not known.
func (x *explainer) origins(f frame, e ast.Expr, value traits.Lister) []source {
	if x.steps++; x.steps > maxSteps {
		return nil
	}
	if inner, ok := x.variable(e); ok {
		return x.origins(inner, inner.expr.checked.Expr(), value)
	}
	if in := x.reads(f, e); in.exact && len(in.places) > 0 {
		n, _ := value.Size().(types.Int)
		out := make([]source, n)
		for i := range n {
			out[i] = source{step(in.places, i), true}
		}
		return out
	}
	switch e.Kind() {
	case ast.ListKind:
		var out []source
		for _, item := range e.AsList().Elements() {
			out = append(out, x.reads(f, item))
		}
		return out
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		if inner, ok := x.binding(f, c); ok {
			return x.origins(inner, c.Result(), value)
		}
		body := bodyOf(c)
		if body.kind != mapping && body.kind != filtering {
			return nil
		}
		var out []source
		for _, el := range x.elements(f, c) {
			if body.predicate != nil {
				if ok, err := x.truth(el, body.predicate); err != nil || !ok {
					continue
				}
			}
			out = append(out, x.reads(el, body.result))
		}
		return out
	case ast.CallKind:
		return x.originsCall(f, e.AsCall())
	}
	return nil
}

func (x *explainer) originsCall(f frame, c ast.CallExpr) []source {
	part := func(e ast.Expr) []source {
		v, err := x.eval(f, e)
		if err != nil {
			return nil
		}
		if o, ok := v.(*types.Optional); ok {
			if !o.HasValue() {
				return nil
			}
			v = o.GetValue()
		}
		if list, ok := v.(traits.Lister); ok {
			return x.parts(f, e, list)
		}
		return nil
	}
	args := c.Args()
	switch c.FunctionName() {
	case operators.Add:
		return append(part(args[0]), part(args[1])...)
	case "orValue", "or":
		if out := part(c.Target()); out != nil {
			return out
		}
		return part(args[0])
	case operators.Conditional:
		if branch, ok := x.branch(f, args); ok {
			return part(branch)
		}
	}
	return nil
}
