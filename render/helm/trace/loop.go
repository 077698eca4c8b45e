package trace

import (
	"bytes"
	"reflect"
	"text/template/parse"
)

// What a range iterates over. Numbers have no second variable.
const (
	eachPair   = "{{range $k, $v := arg 0}}{{if each $k $v}}{{break}}{{end}}{{end}}"
	eachNumber = "{{range $v := arg 0}}{{if each $v $v}}{{break}}{{end}}{{end}}"
)

// loop executes a range.
func (f *frame) loop(dot value, r *parse.RangeNode) flow {
	mark, outer := len(f.vars), f.cond
	defer func() { f.cond, f.vars = outer, f.vars[:mark] }()
	over := f.pipeline(dot, r.Pipe)
	over.rv = deref(over.rv)
	f.cond = f.because(over)
	if f.assuming {
		k, v := f.assumed(over)
		f.bindLoop(r.Pipe, k, v)
		f.list(v, r.List)
		return next
	}
	top, before, ran := len(f.vars), len(f.out.buf), false
	action := eachPair
	if kind := over.rv.Kind(); kind >= reflect.Int && kind <= reflect.Uintptr && len(r.Pipe.Decl) < 2 {
		action = eachNumber
	}
	err := f.across(action, &bridge{args: []value{over}, each: func(key, elem reflect.Value) bool {
		ran = true
		f.step()
		k, v := f.round(over, key, elem)
		f.bindLoop(r.Pipe, k, v)
		ended := f.list(v, r.List)
		f.vars = f.vars[:top]
		return ended == breaks
	}})
	if err != nil {
		f.fail("%w", err)
	}
	if !ran {
		f.skip(dot, &r.BranchNode, nil)
		return f.list(dot, r.ElseList)
	}
	if bytes.ContainsRune(f.out.buf[before:], ':') {
		f.feed(f.out, over)
	}
	return next
}

// round returns the key and the element of one iteration with their origins.
func (f *frame) round(over value, key, elem reflect.Value) (k, v value) {
	k, v = value{key, taint{org: over.sh.org, cond: over.sh.cond}}, value{elem, over.sh}
	switch kind := over.rv.Kind(); {
	case kind == reflect.Slice:
		v.sh = f.elem(over, int(key.Int()))
	case kind == reflect.Map && key.Kind() == reflect.String:
		e := f.entry(over, key.String())
		k.sh, v.sh = e.key, e.val
	}
	return k, v
}

// bindLoop sets the variables of a range, if it has any, for one iteration.
func (f *frame) bindLoop(p *parse.PipeNode, key, elem value) {
	n := len(p.Decl)
	if n == 0 {
		return
	}
	if p.IsAssign {
		if n > 1 {
			f.assign(p.Decl[0].Ident[0], key)
		}
		f.assign(p.Decl[n-1].Ident[0], elem)
		return
	}
	f.vars[len(f.vars)-1].v = elem
	if n > 1 {
		f.vars[len(f.vars)-2].v = key
	}
}
