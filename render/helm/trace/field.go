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
		return f.method(dot, value{ptr, on.sh}, name, args, final, piped)
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
