package trace

import (
	"bytes"
	"reflect"
	"text/template/parse"
)

// loop executes a range: over numbers, lists, and maps in the order of their keys. Iterators no chart is given.
func (f *frame) loop(dot value, r *parse.RangeNode) flow {
	mark, outer := len(f.vars), f.cond
	defer func() { f.cond, f.vars = outer, f.vars[:mark] }()
	over := f.pipeline(dot, r.Pipe)
	over.rv, _ = deref(over.rv)
	f.cond = f.because(over)
	top := len(f.vars)
	ran, stop := false, false
	before := len(f.out.buf)
	one := func(key, elem value) bool {
		ran = true
		f.step()
		f.bindLoop(r.Pipe, key, elem)
		fl := f.list(elem, r.List)
		f.vars = f.vars[:top]
		stop = fl == breaks
		return !stop
	}
	f.iterate(r, over, one)
	if !ran {
		f.skipped(dot, &r.BranchNode, over, true)
		return f.list(dot, r.ElseList)
	}
	if bytes.ContainsRune(f.out.buf[before:], ':') {
		f.feed(f.out, over)
	}
	return next
}

// bindLoop gives the variables of a range, if it has some, the values of one round.
func (f *frame) bindLoop(p *parse.PipeNode, key, elem value) {
	n := len(p.Decl)
	if n == 0 {
		return
	}
	last, first := elem, key
	if p.IsAssign {
		if n > 1 {
			f.setVar(p.Decl[0].Ident[0], first)
			f.setVar(p.Decl[1].Ident[0], last)
		} else {
			f.setVar(p.Decl[0].Ident[0], last)
		}
		return
	}
	f.vars[len(f.vars)-1].v = last
	if n > 1 {
		f.vars[len(f.vars)-2].v = first
	}
}

func (f *frame) iterate(r *parse.RangeNode, over value, one func(key, elem value) bool) {
	rv := over.rv
	switch k := rv.Kind(); {
	case k == reflect.Invalid:
	case k >= reflect.Int && k <= reflect.Uintptr:
		if len(r.Pipe.Decl) > 1 {
			f.fail("can't use %v to iterate over more than one variable", rv)
		}
		for v := range rv.Seq() {
			if !one(value{}, value{v, over.sh}) {
				return
			}
		}
	case k == reflect.Slice || k == reflect.Array:
		for i := range rv.Len() {
			at := value{reflect.ValueOf(i), taint{org: over.sh.org, cond: over.sh.cond}}
			if !one(at, f.index(over, i)) {
				return
			}
		}
	case k == reflect.Map:
		if rv.Len() == 0 {
			return
		}
		keys, ok := orderedKeys(rv)
		if !ok {
			f.fail("range over a map with keys of several types")
		}
		// The pairs are taken before the first round, which may change the map.
		vals := make([]reflect.Value, len(keys))
		for i, key := range keys {
			vals[i] = rv.MapIndex(key)
		}
		for i, key := range keys {
			k, v := value{key, over.sh}, value{vals[i], over.sh}
			if key.Kind() == reflect.String {
				e := f.entry(over, key.String())
				k.sh, v.sh = e.key, e.val
			}
			if !one(k, v) {
				return
			}
		}
	case k == reflect.Interface || k == reflect.Pointer:
		f.fail("range can't iterate over %v", rv)
	default:
		f.fail("range over %s is not supported", rv.Type())
	}
}
