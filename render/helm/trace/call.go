package trace

import (
	"reflect"
	"strconv"
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
func (f *frame) call(dot value, id *parse.IdentifierNode, nodes []parse.Node, piped *value) value {
	fn, ok := f.funcs[id.Ident]
	switch {
	case !ok:
		f.fail("%q is not a defined function", id.Ident)
	case fn.special:
		return f.andOr(dot, id.Ident == "or", nodes, piped)
	}
	c := &call{frame: f, name: id.Ident}
	spelled := c.arguments(dot, nodes, piped)
	if fn.native != nil {
		return fn.native(f, c.args)
	}
	if fn.before != nil {
		fn.taint = fn.before(c)
	}
	c.out = f.real(c.name+spelled, c.args)
	if s, ok := asString(c.out); ok {
		f.grow(len(s))
	}
	return value{c.out, fn.taint(c)}
}

// arguments evaluates the arguments of a call. It returns how they are spelled for text/template, which fits them to what
// the function takes: literals, whose type depends on that, as they are.
func (c *call) arguments(dot value, nodes []parse.Node, piped *value) (spelled string) {
	add := func(v value) {
		spelled += " (arg " + strconv.Itoa(len(c.args)) + ")"
		c.args = append(c.args, v)
	}
	for _, n := range nodes {
		switch n.(type) {
		case *parse.NilNode, *parse.BoolNode, *parse.NumberNode, *parse.StringNode:
			spelled += " " + n.String()
			c.args = append(c.args, c.evaluate(dot, n, nil, nil))
		default:
			add(c.evaluate(dot, n, nil, nil))
		}
	}
	if piped != nil {
		add(*piped)
	}
	return spelled
}

// real has text/template evaluate a call.
func (f *frame) real(call string, args []value) reflect.Value {
	b := &bridge{args: args}
	f.across("{{take ("+call+")}}", b)
	return b.out
}

// andOr returns the first value that decides, or the last.
func (f *frame) andOr(dot value, or bool, nodes []parse.Node, piped *value) (v value) {
	var c *cond
	for i, n := range nodes {
		v = f.evaluate(dot, n, nil, nil)
		if truth(v.rv) == or || i == len(nodes)-1 && piped == nil {
			v.sh.cond = join(v.sh.cond, c)
			return v
		}
		c = join(c, v.sh.conds()).under(f.origin(v), or)
	}
	v = *piped
	v.sh.cond = join(v.sh.cond, c)
	return v
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
