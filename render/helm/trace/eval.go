package trace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

// failure ends the execution of a file. Templates cannot catch errors, so it unwinds the whole file.
type failure struct{ err error }

func (f failure) Error() string { return f.err.Error() }

// Limits limit an execution. Output beyond them is not accepted.
type Limits struct {
	Steps int // evaluated nodes, commands and arguments; 0: 20 million
	Bytes int // written in all templates together; 0: 256 MiB
	Depth int // of nested templates; 0: 1,100, a little more than Helm allows for include
}

func (l Limits) filled() Limits {
	return Limits{cmp.Or(l.Steps, 20_000_000), cmp.Or(l.Bytes, 256<<20), cmp.Or(l.Depth, 1100)}
}

// exec is one execution of all templates of a chart.
type exec struct {
	*table
	ctx      context.Context
	limits   Limits
	steps    int
	bytes    int
	depth    int
	calls    *template.Template            // has all functions
	bridges  map[string]*template.Template // by their actions
	numbers  map[string]reflect.Value      // by their text
	bridge   *bridge                       // of the current call
	included map[string]int
	funcs    map[string]function
}

// handler returns the taint of a call's result.
type handler func(c *call) taint

// frame is the execution of one template.
type frame struct {
	*exec
	set  *set
	tmpl *tmpl
	out  *text
	vars []variable
	cond *cond
}

type variable struct {
	name string
	v    value
}

// flow says how a node ended.
type flow int

const (
	next flow = iota
	breaks
	continues
)

func (f *frame) fail(format string, args ...any) {
	panic(failure{fmt.Errorf("%s: %w", f.tmpl.name, fmt.Errorf(format, args...))})
}

func (f *frame) step() {
	f.steps++
	if f.steps > f.limits.Steps {
		f.fail("more than %d steps", f.limits.Steps)
	}
	if f.steps%1024 == 0 && f.ctx.Err() != nil {
		panic(failure{f.ctx.Err()})
	}
}

// Costs of a segment and of a skipped block besides their bytes: about their size in memory.
const (
	pieceCost   = 32
	skippedCost = 256
)

func (f *frame) grow(n int) {
	f.bytes += n
	if f.bytes > f.limits.Bytes {
		f.fail("more than %d bytes", f.limits.Bytes)
	}
}

// execute runs a template with its data and appends its output to out.
func (e *exec) execute(s *set, t *tmpl, data value, out *text, c *cond) {
	f := &frame{exec: e, set: s, tmpl: t, out: out, cond: c, vars: make([]variable, 1, 8)}
	f.vars[0] = variable{"$", data}
	e.depth++
	if e.depth > e.limits.Depth {
		f.fail("templates are nested more than %d deep", e.limits.Depth)
	}
	if t.root == nil {
		f.fail("incomplete or empty template")
	}
	f.list(data, t.root)
	e.depth--
}

func (f *frame) list(dot value, l *parse.ListNode) flow {
	if l == nil {
		return next
	}
	for _, n := range l.Nodes {
		if fl := f.walk(dot, n); fl != next {
			return fl
		}
	}
	return next
}

func (f *frame) walk(dot value, n parse.Node) flow {
	f.step()
	switch n := n.(type) {
	case *parse.TextNode:
		f.grow(len(n.Text) + pieceCost)
		f.out.add(string(n.Text), f.tmpl.src.literal(int(n.Pos), len(n.Text)), f.cond)
	case *parse.ActionNode:
		v := f.pipeline(dot, n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			f.print(dot, n, v)
		}
	case *parse.IfNode:
		return f.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return f.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return f.loop(dot, n)
	case *parse.ListNode:
		return f.list(dot, n)
	case *parse.TemplateNode:
		v := include(f, []value{{rv: reflect.ValueOf(n.Name)}, f.pipeline(dot, n.Pipe)})
		f.out.add(v.rv.String(), v.sh, f.cond)
	case *parse.BreakNode:
		return breaks
	case *parse.ContinueNode:
		return continues
	case *parse.CommentNode:
	default:
		f.fail("unknown node %s", n)
	}
	return next
}

// because returns the current conditions and one more: the value that decided.
func (f *frame) because(v value) *cond {
	if f.assuming {
		return f.cond.under(f.origin(v), assumed)
	}
	return join(f.cond, v.sh.conds()).under(f.origin(v), Condition)
}

func (f *frame) branch(dot value, n *parse.BranchNode, with bool) flow {
	mark, outer := len(f.vars), f.cond
	v := f.pipeline(dot, n.Pipe)
	f.cond = f.because(v)
	var fl flow
	if truth(v.rv) || f.assuming {
		if with {
			fl = f.list(v, n.List)
		} else {
			fl = f.list(dot, n.List)
		}
	} else {
		f.skip(dot, n, nil)
		fl = f.list(dot, n.ElseList)
	}
	f.cond, f.vars = outer, f.vars[:mark]
	return fl
}

// variable returns the innermost variable with a name. The parser has checked that there is one.
func (f *frame) variable(name string) *value {
	i := len(f.vars) - 1
	for f.vars[i].name != name {
		i--
	}
	return &f.vars[i].v
}

// assign assigns to a variable. The value keeps the conditions of the assignment.
func (f *frame) assign(name string, v value) {
	v.sh.cond = join(v.sh.cond, f.cond)
	*f.variable(name) = v
}

// print writes the result of an action.
func (f *frame) print(dot value, n *parse.ActionNode, v value) {
	before := len(f.out.buf)
	f.grow(pieceCost)
	if v.rv.Kind() == reflect.String && v.rv.NumMethod() == 0 {
		s := v.rv.String()
		f.grow(len(s))
		f.out.add(s, v.sh, f.cond)
	} else {
		s := sprint(v.rv)
		f.grow(len(s))
		if v.rv.IsValid() {
			org := f.origin(v)
			derived := v.sh.derived || org != nil && org.kind == 0
			f.out.add(s, taint{org: org, cond: v.sh.conds(), derived: derived}, f.cond)
		} else {
			f.out.add(s, taint{org: v.sh.org, cond: v.sh.cond, derived: true}, f.cond)
		}
	}
	if s := f.out.buf[before:]; len(s) < 64 && blank(s) {
		f.skip(dot, n, f.origin(v))
	}
}

func blank(b []byte) bool {
	s := strings.TrimSpace(string(b))
	return s == "" || s == "{}" || s == "[]" || s == noValue || s == "null"
}

const noValue = "<no value>"

// pipeline evaluates a pipeline and declares or assigns its variables.
func (f *frame) pipeline(dot value, p *parse.PipeNode) (v value) {
	if p == nil {
		return v
	}
	var piped *value
	for _, c := range p.Cmds {
		v = f.evaluate(dot, c.Args[0], c.Args[1:], piped)
		if v.rv.Kind() == reflect.Interface && v.rv.NumMethod() == 0 {
			v.rv = v.rv.Elem()
		}
		piped = &v
	}
	for _, d := range p.Decl {
		if p.IsAssign {
			f.assign(d.Ident[0], v)
		} else {
			f.vars = append(f.vars, variable{d.Ident[0], v})
		}
	}
	return v
}

// evaluate evaluates a command: its first word, its arguments and, if there is one, the piped value.
func (f *frame) evaluate(dot value, n parse.Node, args []parse.Node, piped *value) value {
	f.step()
	switch n := n.(type) {
	case *parse.FieldNode:
		return f.fields(dot, dot, n.Ident, args, piped)
	case *parse.VariableNode:
		return f.fields(dot, *f.variable(n.Ident[0]), n.Ident[1:], args, piped)
	case *parse.ChainNode:
		return f.fields(dot, f.evaluate(dot, n.Node, nil, nil), n.Field, args, piped)
	case *parse.IdentifierNode:
		return f.call(dot, n, args, piped)
	case *parse.PipeNode:
		return f.pipeline(dot, n)
	case *parse.DotNode:
		return dot
	case *parse.BoolNode:
		return value{reflect.ValueOf(n.True), f.literal(n, n.String())}
	case *parse.NumberNode:
		number, known := f.numbers[n.Text]
		if !known {
			number, _ = f.real(n.Text, nil)
			f.numbers[n.Text] = number
		}
		return value{number, f.literal(n, n.Text)}
	case *parse.StringNode:
		sh := f.literal(n, n.Quoted)
		switch {
		case len(n.Quoted) != len(n.Text)+2: // it contains an escape sequence
			sh.derived = true
		case n.Text != "":
			sh = f.tmpl.src.literal(int(n.Pos)+1, len(n.Text))
			sh.cond = f.cond
		}
		return value{reflect.ValueOf(n.Text), sh}
	}
	return value{} // nil
}

// literal returns the taint of a literal whose bytes are not copied.
func (f *frame) literal(n parse.Node, spelled string) taint {
	return taint{org: f.tmpl.src.origin(int(n.Position()), len(spelled)), cond: f.cond}
}

func (f *frame) fields(dot, on value, names []string, args []parse.Node, piped *value) value {
	for i, name := range names {
		if i < len(names)-1 {
			on = f.field(dot, on, name, nil, nil)
		} else {
			on = f.field(dot, on, name, args, piped)
		}
	}
	return on
}

// field returns a field, the entry of a map, or the result of a method.
func (f *frame) field(dot, on value, name string, args []parse.Node, piped *value) value {
	sh := taint{org: on.sh.org.child(name), cond: on.sh.cond}
	rv := deref(on.rv)
	if !rv.IsValid() {
		return value{sh: sh}
	}
	if kind := rv.Kind(); f.assuming && kind != reflect.Map && kind != reflect.Struct {
		return value{sh: sh}
	}
	called := rv
	if called.CanAddr() {
		called = called.Addr()
	}
	switch {
	case called.MethodByName(name).IsValid():
		c := &call{frame: f, name: name, args: []value{{called, on.sh}}}
		spelled := c.arguments(dot, args, piped)
		return c.result("(arg 0)."+name+spelled, function{taint: method})
	case rv.Kind() == reflect.Map:
		v := rv.MapIndex(reflect.ValueOf(name))
		if !v.IsValid() {
			v = reflect.Zero(rv.Type().Elem())
		}
		return value{v, f.entry(value{rv, on.sh}, name).val}
	}
	return value{rv.FieldByName(name), sh}
}

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
