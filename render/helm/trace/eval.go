package trace

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

// failure ends the execution of a file. Templates cannot catch errors, so that it unwinds to the file.
type failure struct{ err error }

func (f failure) Error() string { return f.err.Error() }

// Limits bound an execution; what exceeds them is not accepted.
type Limits struct {
	Steps int // nodes, commands and arguments evaluated; 0: 20 million
	Bytes int // written, in all templates together; 0: 256 MiB
	Depth int // of templates in templates; 0: 1,100, a little more than Helm allows for include
}

func (l Limits) filled() Limits {
	if l.Steps == 0 {
		l.Steps = 20_000_000
	}
	if l.Bytes == 0 {
		l.Bytes = 256 << 20
	}
	if l.Depth == 0 {
		l.Depth = 1100
	}
	return l
}

// exec is one execution of all templates of a chart.
type exec struct {
	*table
	ctx      context.Context
	limits   Limits
	steps    int
	bytes    int
	depth    int
	funcs    map[string]function
	calls    *template.Template            // with all functions
	bridges  map[string]*template.Template // by their actions
	bridge   *bridge                       // of the one that is executed
	included map[string]int
}

// function is what is known of a function of templates.
type function struct {
	native  func(f *frame, args []value) value // it is executed here
	taint   handler                            // where its results come from
	before  func(c *call) handler              // the same, of what the call changes
	special bool                               // and, or: arguments are evaluated as needed
}

// handler returns where the result of a call came from.
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

// flow is how a node ended.
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

// What a piece of text and a skipped block count beside their bytes: about what they take in memory.
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

// execute runs a template with its data and returns what it printed.
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
		if f.tmpl.src.file != nil {
			f.out.buf = append(f.out.buf, n.Text...)
			f.out.piece(segment{n: int32(len(n.Text)), off: int32(n.Pos), org: f.tmpl.src.file, cond: f.cond})
		} else {
			f.out.add(string(n.Text), f.tmpl.src.literal(int(n.Pos), len(n.Text)), f.cond)
		}
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
		f.invoke(dot, n)
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

// because returns the present conditions with one more: the value that decided.
func (f *frame) because(v value) *cond {
	return join(f.cond, v.sh.conds()).under(f.origin(v), false)
}

func (f *frame) branch(dot value, n *parse.BranchNode, with bool) flow {
	mark, outer := len(f.vars), f.cond
	v := f.pipeline(dot, n.Pipe)
	f.cond = f.because(v)
	var fl flow
	if truth(v.rv) {
		if with {
			fl = f.list(v, n.List)
		} else {
			fl = f.list(dot, n.List)
		}
	} else {
		f.skipped(dot, n, v, with)
		fl = f.list(dot, n.ElseList)
	}
	f.cond, f.vars = outer, f.vars[:mark]
	return fl
}

func (f *frame) invoke(dot value, n *parse.TemplateNode) {
	t := f.set.lookup(n.Name)
	if t == nil {
		f.fail("template %q not defined", n.Name)
	}
	data := value{}
	if n.Pipe != nil {
		data = f.pipeline(dot, n.Pipe)
	}
	f.execute(f.set, t, data, f.out, f.cond)
}

// setVar assigns to the innermost variable of a name. The value remembers under which conditions it was assigned.
func (f *frame) setVar(name string, v value) {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			v.sh.cond = join(v.sh.cond, f.cond)
			f.vars[i].v = v
			return
		}
	}
	f.fail("undefined variable: %s", name)
}

func (f *frame) variable(name string) value {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			return f.vars[i].v
		}
	}
	f.fail("undefined variable: %s", name)
	return value{}
}

// print writes what an action yields.
func (f *frame) print(dot value, n *parse.ActionNode, v value) {
	before := len(f.out.buf)
	f.grow(pieceCost)
	if v.rv.Kind() == reflect.String && v.rv.NumMethod() == 0 {
		s := v.rv.String()
		f.grow(len(s))
		f.out.add(s, v.sh, f.cond)
	} else {
		s, ok := sprint(v.rv)
		if !ok {
			f.fail("can't print %s of type %s", n, v.rv.Type())
		}
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
		f.printedNothing(dot, n, v)
	}
}

func blank(b []byte) bool {
	s := strings.TrimSpace(string(b))
	return s == "" || s == "{}" || s == "[]" || s == noValue || s == "null"
}

const noValue = "<no value>"

// pipeline evaluates a pipeline and declares or assigns its variables.
func (f *frame) pipeline(dot value, p *parse.PipeNode) value {
	v, has := value{}, false
	for _, c := range p.Cmds {
		v = f.command(dot, c, v, has)
		has = true
		if v.rv.Kind() == reflect.Interface && v.rv.NumMethod() == 0 {
			v.rv = v.rv.Elem()
		}
	}
	for _, d := range p.Decl {
		if p.IsAssign {
			f.setVar(d.Ident[0], v)
		} else {
			f.vars = append(f.vars, variable{d.Ident[0], v})
		}
	}
	return v
}

// command evaluates a command; final is the value before it in the pipeline, if there is one.
func (f *frame) command(dot value, c *parse.CommandNode, final value, piped bool) value {
	f.step()
	first := c.Args[0]
	switch n := first.(type) {
	case *parse.FieldNode:
		return f.fields(dot, dot, n.Ident, c.Args, final, piped)
	case *parse.ChainNode:
		return f.chain(dot, n, c.Args, final, piped)
	case *parse.IdentifierNode:
		return f.call(dot, n, c.Args, final, piped)
	case *parse.VariableNode:
		return f.variableNode(dot, n, c.Args, final, piped)
	}
	if len(c.Args) > 1 || piped {
		f.fail("can't give argument to non-function %s", first)
	}
	switch n := first.(type) {
	case *parse.PipeNode:
		return f.pipeline(dot, n)
	case *parse.DotNode:
		return dot
	case *parse.BoolNode, *parse.NumberNode, *parse.StringNode:
		return f.constant(n)
	}
	f.fail("can't evaluate command %q", first)
	return value{}
}

func (f *frame) chain(dot value, n *parse.ChainNode, args []parse.Node, final value, piped bool) value {
	if n.Node.Type() == parse.NodeNil {
		f.fail("indirection through explicit nil in %s", n)
	}
	return f.fields(dot, f.raw(dot, n.Node), n.Field, args, final, piped)
}

func (f *frame) variableNode(dot value, n *parse.VariableNode, args []parse.Node, final value, piped bool) value {
	v := f.variable(n.Ident[0])
	if len(n.Ident) == 1 {
		if len(args) > 1 || piped {
			f.fail("can't give argument to non-function %s", n)
		}
		return v
	}
	return f.fields(dot, v, n.Ident[1:], args, final, piped)
}

func (f *frame) fields(dot, on value, names []string, args []parse.Node, final value, piped bool) value {
	for _, n := range names[:len(names)-1] {
		on = f.field(dot, on, n, nil, value{}, false)
	}
	return f.field(dot, on, names[len(names)-1], args, final, piped)
}

// constant returns the value of a literal whose type nobody asks for.
func (f *frame) constant(n parse.Node) value {
	src := f.tmpl.src
	switch n := n.(type) {
	case *parse.BoolNode:
		org := src.origin(int(n.Pos), len(n.String()))
		return value{reflect.ValueOf(n.True), taint{org: org, cond: f.cond}}
	case *parse.StringNode:
		return value{reflect.ValueOf(n.Text), f.stringShade(n)}
	case *parse.NumberNode:
		sh := taint{org: src.origin(int(n.Pos), len(n.Text)), cond: f.cond}
		return value{f.ideal(n), sh}
	}
	f.fail("can't handle assignment of %s to empty interface argument", n)
	return value{}
}

// stringShade returns the taint of a literal, below its quotes where the literal has nothing to unquote.
func (f *frame) stringShade(n *parse.StringNode) taint {
	src := f.tmpl.src
	if len(n.Quoted) == len(n.Text)+2 {
		if len(n.Text) == 0 {
			return taint{org: src.origin(int(n.Pos), 2), cond: f.cond}
		}
		sh := src.literal(int(n.Pos)+1, len(n.Text))
		sh.cond = f.cond
		return sh
	}
	return taint{org: src.origin(int(n.Pos), len(n.Quoted)), cond: f.cond, derived: true}
}

// ideal returns a number as the type that its spelling tells.
func (f *frame) ideal(n *parse.NumberNode) reflect.Value {
	char := strings.HasPrefix(n.Text, "'")
	hex := len(n.Text) > 2 && n.Text[0] == '0' && (n.Text[1] == 'x' || n.Text[1] == 'X') &&
		!strings.ContainsAny(n.Text, "pP")
	switch {
	case n.IsComplex:
		return reflect.ValueOf(n.Complex128)
	case n.IsFloat && !hex && !char && strings.ContainsAny(n.Text, ".eEpP"):
		return reflect.ValueOf(n.Float64)
	case n.IsInt:
		return reflect.ValueOf(int(n.Int64))
	case n.IsUint:
		f.fail("%s overflows int", n.Text)
	}
	return reflect.Value{}
}
