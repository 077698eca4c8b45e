package trace

import (
	"fmt"
	"reflect"
	"text/template/parse"
)

// call is a call of a function, for those who tell where its result came from.
type call struct {
	*frame
	name string
	args []value
	out  reflect.Value
}

// call calls a function by its name.
func (f *frame) call(dot value, id *parse.IdentifierNode, args []parse.Node, final value, piped bool) value {
	fn, ok := f.funcs[id.Ident]
	if !ok {
		f.fail("%q is not a defined function", id.Ident)
	}
	f.node = id
	if len(args) > 0 {
		args = args[1:]
	}
	switch {
	case fn.special:
		return f.andOr(dot, id.Ident == "or", args, final, piped)
	case fn.fn.IsValid():
		argv := f.arguments(dot, fn.fn.Type(), id.Ident, args, final, piped)
		if fn.native != nil {
			return fn.native(f, argv)
		}
		return f.invokeFunc(id.Ident, fn.fn, fn.taint, argv)
	}
	c := &call{frame: f, name: id.Ident}
	for _, a := range args {
		c.args = append(c.args, f.raw(dot, a))
	}
	if piped {
		c.args = append(c.args, final)
	}
	c.out = f.builtin(c.name, c.args)
	return value{c.out, fn.taint(c)}
}

// andOr returns the first value that decides, or the last.
func (f *frame) andOr(dot value, or bool, args []parse.Node, final value, piped bool) value {
	if len(args) == 0 && !piped {
		f.fail("wrong number of args for and or or: want at least 1 got 0")
	}
	var c *cond
	var v value
	for i, a := range args {
		v = f.raw(dot, a)
		t := truth(v.rv)
		if t == or || i == len(args)-1 && !piped {
			v.sh.cond = join(v.sh.cond, c)
			return v
		}
		c = join(c, v.sh.conds()).under(f.origin(v), or)
	}
	v = final
	v.sh.cond = join(v.sh.cond, c)
	return v
}

// arguments evaluates the arguments of a call for the types of its parameters.
func (f *frame) arguments(dot value, typ reflect.Type, name string, args []parse.Node, final value,
	piped bool) []value {
	n, fixed := len(args), typ.NumIn()
	if piped {
		n++
	}
	if typ.IsVariadic() {
		fixed--
		if n < fixed {
			f.fail("wrong number of args for %s: want at least %d got %d", name, fixed, len(args))
		}
	} else if n != fixed {
		f.fail("wrong number of args for %s: want %d got %d", name, fixed, n)
	}
	param := func(i int) reflect.Type {
		if i < fixed {
			return typ.In(i)
		}
		return typ.In(fixed).Elem()
	}
	argv := make([]value, n)
	for i, a := range args {
		argv[i] = f.argument(dot, a, param(i))
	}
	if piped {
		argv[n-1] = f.fit(final, param(n-1))
	}
	return argv
}

// invokeFunc calls a function for real and asks its handler where the result came from.
func (f *frame) invokeFunc(name string, fn reflect.Value, h handler, args []value) value {
	c := &call{frame: f, name: name, args: args}
	var after func() taint
	switch name {
	case "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite":
		after = c.merging()
	}
	c.out = f.invokeReal(name, fn, args)
	var sh taint
	switch {
	case after != nil:
		sh = after()
	case h != nil:
		sh = h(c)
	default:
		sh = c.mixed()
	}
	if concrete(c.out).Kind() == reflect.String {
		f.grow(concrete(c.out).Len())
	}
	return value{c.out, sh}
}

// invokeReal calls a function; its error and its panic end the execution, as they do in text/template.
func (f *frame) invokeReal(name string, fn reflect.Value, args []value) (out reflect.Value) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = a.rv
	}
	defer func() {
		if r := recover(); r != nil {
			if fl, ok := r.(failure); ok {
				panic(fl)
			}
			panic(failure{fmt.Errorf("%s: error calling %s: %v", f.tmpl.name, name, r)})
		}
	}()
	res := fn.Call(in)
	if len(res) == 2 && !res[1].IsNil() {
		f.fail("error calling %s: %w", name, res[1].Interface().(error))
	}
	if res[0].Type() == reflectValue {
		return res[0].Interface().(reflect.Value)
	}
	return res[0]
}

// mixed is the origin of a result that may be of anything that went in: what was piped first.
func (c *call) mixed() taint {
	var m mixer
	var k *cond
	for i := len(c.args) - 1; i >= 0; i-- {
		c.collect(&m, c.args[i], 0)
		k = join(k, c.args[i].sh.conds())
	}
	return taint{org: m.node(), cond: k, derived: true}
}

// method calls a method of a value of the chart's scope: files, capabilities, values.
func (f *frame) method(dot, on value, m reflect.Value, name string, args []parse.Node, final value, piped bool) value {
	if len(args) > 0 {
		args = args[1:]
	}
	argv := f.arguments(dot, m.Type(), name, args, final, piped)
	if n := m.Type().NumOut(); n == 0 || n > 2 {
		f.fail("method %s returns %d values", name, n)
	}
	out := f.invokeReal(name, m, argv)
	c := &call{frame: f, name: name, args: append([]value{on}, argv...), out: out}
	if isFiles(on.rv) {
		return value{out, c.file(on.rv)}
	}
	return value{out, c.mixed()}
}
