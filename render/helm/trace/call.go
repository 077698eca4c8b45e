package trace

import (
	"reflect"
	"slices"
	"strconv"
	"text/template/parse"
)

// call is a call of a function, as its handler sees it.
type call struct {
	*frame
	name string
	args []value
	out  reflect.Value
}

// call calls a function by its name.
func (f *frame) call(dot value, id *parse.IdentifierNode, nodes []parse.Node, piped *value) value {
	fn := f.funcs[id.Ident]
	if fn.special {
		return f.andOr(dot, id.Ident == "or", nodes, piped)
	}
	c := &call{frame: f, name: id.Ident}
	spelled := c.arguments(dot, nodes, piped)
	if fn.native != nil {
		return fn.native(f, c.args)
	}
	return c.result(c.name+spelled, fn)
}

// result has text/template evaluate the call.
func (c *call) result(spelled string, fn function) value {
	if c.assuming && fn.kept {
		return value{sh: c.mixed()}
	}
	if fn.before != nil {
		fn.taint = fn.before(c)
	}
	var err error
	c.out, err = c.real(spelled, c.args)
	switch {
	case err == nil && fn.taint != nil:
		if s, ok := asString(c.out); ok {
			c.grow(len(s))
		}
		return value{c.out, fn.taint(c)}
	case err != nil && !c.assuming:
		c.fail("%w", err)
	case err != nil && c.name == "index":
		return value{sh: indexed(c)}
	}
	whole := c.mixed()
	if list := concrete(c.out); list.Kind() == reflect.Slice && c.sliceOf(list) == nil {
		c.grow(pieceCost * list.Len())
		c.setSlice(list, &sliceInfo{org: whole.org, elems: slices.Repeat([]taint{whole}, list.Len())})
	}
	return value{c.out, whole}
}

// arguments evaluates the arguments of a call. It returns their text for text/template, which converts them to the
// parameter types. Numbers are passed as written, since their type depends on the parameter.
func (c *call) arguments(dot value, nodes []parse.Node, piped *value) (spelled string) {
	for _, n := range nodes {
		c.args = append(c.args, c.evaluate(dot, n, nil, nil))
		if number, ok := n.(*parse.NumberNode); ok {
			spelled += " " + number.Text
		} else {
			spelled += " (arg " + strconv.Itoa(len(c.args)-1) + ")"
		}
	}
	if piped != nil {
		c.args = append(c.args, *piped)
		spelled += " (arg " + strconv.Itoa(len(c.args)-1) + ")"
	}
	return spelled
}

// real has text/template evaluate a call.
func (f *frame) real(call string, args []value) (reflect.Value, error) {
	b := &bridge{args: args}
	err := f.across("{{take ("+call+")}}", b)
	return b.out, err
}

// andOr returns the first value that decides, or the last.
func (f *frame) andOr(dot value, or bool, nodes []parse.Node, piped *value) (v value) {
	if f.assuming {
		c := &call{frame: f}
		c.arguments(dot, nodes, piped)
		return value{c.args[len(c.args)-1].rv, c.mixed()}
	}
	var c *cond
	role := Condition
	if or {
		role = Fallback
	}
	for i, n := range nodes {
		v = f.evaluate(dot, n, nil, nil)
		if truth(v.rv) == or || i == len(nodes)-1 && piped == nil {
			v.sh.cond = join(v.sh.cond, c)
			return v
		}
		c = join(c, v.sh.conds()).under(f.origin(v), role)
	}
	v = *piped
	v.sh.cond = join(v.sh.cond, c)
	return v
}

// mixed returns the origin of a result that may come from any argument. The piped argument comes first.
func (c *call) mixed() taint {
	var m mixer
	var k *cond
	for i := len(c.args) - 1; i >= 0; i-- {
		c.collect(&m, c.args[i], 0)
		k = join(k, c.args[i].sh.conds())
	}
	return taint{org: m.node(), cond: k, derived: true}
}
