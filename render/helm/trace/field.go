package trace

import (
	"reflect"
	"text/template/parse"
)

// field returns a field, a map's entry, or what a method returns.
func (f *frame) field(dot, on value, name string, args []parse.Node, final value, piped bool) value {
	if !on.rv.IsValid() {
		return value{sh: taint{org: on.sh.org.child(name), cond: on.sh.cond}}
	}
	rv, null := deref(on.rv)
	if rv.Kind() == reflect.Interface && null {
		f.fail("nil pointer evaluating %s.%s", on.rv.Type(), name)
	}
	ptr := rv
	if ptr.Kind() != reflect.Interface && ptr.Kind() != reflect.Pointer && ptr.CanAddr() {
		ptr = ptr.Addr()
	}
	if m := ptr.MethodByName(name); m.IsValid() {
		return f.method(dot, value{rv, on.sh}, m, name, args, final, piped)
	}
	extra := len(args) > 1 || piped
	switch rv.Kind() {
	case reflect.Struct:
		sf, ok := rv.Type().FieldByName(name)
		if !ok {
			break
		}
		fv, err := rv.FieldByIndexErr(sf.Index)
		if !sf.IsExported() || err != nil || extra {
			f.fail("can't take field %s of %s", name, rv.Type())
		}
		return value{fv, taint{org: on.sh.org.child(name), cond: on.sh.cond}}
	case reflect.Map:
		key := reflect.ValueOf(name)
		if !key.Type().AssignableTo(rv.Type().Key()) {
			break
		}
		if extra {
			f.fail("%s is not a method but has arguments", name)
		}
		v := rv.MapIndex(key)
		if !v.IsValid() {
			v = reflect.Zero(rv.Type().Elem())
		}
		return value{v, f.entry(value{rv, on.sh}, name).val}
	}
	f.fail("can't evaluate field %s in type %s", name, rv.Type())
	return value{}
}

// raw evaluates an argument whose type nobody asks for, nil included.
func (f *frame) raw(dot value, n parse.Node) value {
	f.step()
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.NilNode:
		return value{}
	case *parse.FieldNode:
		return f.fields(dot, dot, n.Ident, nil, value{}, false)
	case *parse.VariableNode:
		return f.variableNode(dot, n, nil, value{}, false)
	case *parse.PipeNode:
		return f.pipeline(dot, n)
	case *parse.IdentifierNode:
		return f.call(dot, n, nil, value{}, false)
	case *parse.ChainNode:
		return f.chain(dot, n, nil, value{}, false)
	}
	return f.constant(n)
}

var reflectValue = reflect.TypeFor[reflect.Value]()

// argument evaluates an argument for a parameter of a type.
func (f *frame) argument(dot value, n parse.Node, typ reflect.Type) value {
	switch n := n.(type) {
	case *parse.NilNode:
		if !nillable(typ) {
			f.fail("cannot assign nil to %s", typ)
		}
		return value{rv: reflect.Zero(typ)}
	case *parse.BoolNode, *parse.NumberNode, *parse.StringNode:
		f.step()
		return f.literal(n, typ)
	}
	return f.fit(f.raw(dot, n), typ)
}

// literal returns a literal as a parameter's type; text/template never converts between the kinds of literals.
func (f *frame) literal(n parse.Node, typ reflect.Type) value {
	k := typ.Kind()
	if k == reflect.Interface && typ.NumMethod() == 0 {
		return f.constant(n)
	}
	out := reflect.New(typ).Elem()
	var sh taint
	ok := false
	switch n := n.(type) {
	case *parse.BoolNode:
		if ok = k == reflect.Bool; ok {
			out.SetBool(n.True)
			sh.org = f.tmpl.src.origin(int(n.Pos), len(n.String()))
		}
	case *parse.StringNode:
		if ok = k == reflect.String; ok {
			out.SetString(n.Text)
			sh = f.stringShade(n)
		}
	case *parse.NumberNode:
		sh.org = f.tmpl.src.origin(int(n.Pos), len(n.Text))
		switch {
		case out.CanInt():
			if ok = n.IsInt; ok {
				out.SetInt(n.Int64)
			}
		case out.CanUint():
			if ok = n.IsUint; ok {
				out.SetUint(n.Uint64)
			}
		case out.CanFloat():
			if ok = n.IsFloat; ok {
				out.SetFloat(n.Float64)
			}
		}
	}
	if !ok {
		f.fail("can't handle %s for arg of type %s", n, typ)
	}
	return value{out, sh}
}

func nillable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	}
	return t == reflectValue
}

// fit makes a value one that can be given to a parameter of a type.
func (f *frame) fit(v value, typ reflect.Type) value {
	rv := v.rv
	if !rv.IsValid() {
		if !nillable(typ) {
			f.fail("invalid value; expected %s", typ)
		}
		return value{reflect.Zero(typ), v.sh}
	}
	if rv.Type().AssignableTo(typ) {
		return v
	}
	if rv.Kind() == reflect.Interface && !rv.IsNil() {
		rv = rv.Elem()
		if rv.Type().AssignableTo(typ) {
			return value{rv, v.sh}
		}
	}
	switch {
	case rv.Kind() == reflect.Pointer && !rv.IsNil() && rv.Type().Elem().AssignableTo(typ):
		return value{rv.Elem(), v.sh}
	case rv.CanAddr() && reflect.PointerTo(rv.Type()).AssignableTo(typ):
		return value{rv.Addr(), v.sh}
	}
	f.fail("wrong type for value; expected %s; got %s", typ, rv.Type())
	return value{}
}
