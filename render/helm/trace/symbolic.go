package trace

import (
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// event is a part of what a block would print: text, or something that is read of values.
type event struct {
	text  string
	reads []*node
	yaml  bool // a whole value is printed, by toYaml
	needs []*node
	// shift is how far the text is moved to the right, and of what is read the column where it begins; below 0 if that
	// is not known.
	shift int
}

// symbolicValue is a value that an expression would have, as far as it can be told without executing it.
type symbolicValue struct {
	v    value
	dict map[string]symbolicValue
	more []*node // what else it may come from
}

// symbolic evaluates parse trees of blocks that were not executed.
type symbolic struct {
	*exec
	set    *set
	events []event
	needs  []*node
	steps  int
	depth  int
	shift  int
}

const (
	maxSymbolicSteps = 20_000
	maxSymbolicDepth = 12
)

// evaluate returns what a skipped block would print if its conditions were true.
func (e *exec) evaluate(h *skippedBlock, template string) []event {
	d := &symbolic{exec: e, set: h.set}
	if h.moved || h.tmpl.name != template {
		d.shift = -1
	}
	vars := make([]symbolicVar, len(h.vars))
	for i, v := range h.vars {
		vars[i] = symbolicVar{v.name, symbolicValue{v: v.v}}
	}
	dot := symbolicValue{v: h.dot}
	switch n := h.node.(type) {
	case *parse.ActionNode:
		d.action(n, dot, &vars)
	case *parse.BranchNode:
		d.branch(n, h.with, dot, vars)
	}
	return d.events
}

type symbolicVar struct {
	name string
	v    symbolicValue
}

func (d *symbolic) exhausted() bool {
	d.steps++
	return d.steps > maxSymbolicSteps || d.depth > maxSymbolicDepth
}

func (d *symbolic) list(l *parse.ListNode, dot symbolicValue, vars []symbolicVar) {
	if l == nil {
		return
	}
	vars = slices.Clone(vars)
	for _, n := range l.Nodes {
		if d.exhausted() {
			return
		}
		switch n := n.(type) {
		case *parse.TextNode:
			d.events = append(d.events, event{text: string(n.Text), needs: slices.Clone(d.needs), shift: d.shift})
		case *parse.ActionNode:
			d.action(n, dot, &vars)
		case *parse.IfNode:
			d.branch(&n.BranchNode, false, dot, vars)
		case *parse.WithNode:
			d.branch(&n.BranchNode, true, dot, vars)
		case *parse.RangeNode:
			d.branch(&n.BranchNode, true, dot, vars)
		case *parse.TemplateNode:
			d.include(n.Name, d.pipe(n.Pipe, dot, vars))
		}
	}
}

// branch assumes that the condition holds; else branches are what is printed now.
func (d *symbolic) branch(n *parse.BranchNode, with bool, dot symbolicValue, vars []symbolicVar) {
	on := d.pipe(n.Pipe, dot, vars)
	mark := len(d.needs)
	d.needs = append(d.needs, d.sources(on)...)
	vars = slices.Clone(vars)
	inner := dot
	if n.NodeType == parse.NodeRange {
		over := on
		inner = d.look(over, "0")
		if concrete(over.v.rv).Kind() == reflect.Map {
			inner = symbolicValue{v: value{sh: over.v.sh}, more: d.sources(over)}
		}
		if k := len(n.Pipe.Decl); k > 0 {
			vars = append(vars, symbolicVar{n.Pipe.Decl[k-1].Ident[0], inner})
		}
	} else {
		if with {
			inner = on
		}
		for _, decl := range n.Pipe.Decl {
			vars = append(vars, symbolicVar{decl.Ident[0], on})
		}
	}
	d.list(n.List, inner, vars)
	d.needs = d.needs[:mark]
}

func (d *symbolic) action(n *parse.ActionNode, dot symbolicValue, vars *[]symbolicVar) {
	if len(n.Pipe.Decl) > 0 {
		v := d.pipe(n.Pipe, dot, *vars)
		for _, decl := range n.Pipe.Decl {
			*vars = append(*vars, symbolicVar{decl.Ident[0], v})
		}
		return
	}
	outer, by := d.shift, indentOf(n.Pipe)
	if d.shift >= 0 && by >= 0 {
		d.shift += by
	}
	if name, arg, ok := d.included(n.Pipe, dot, *vars); ok {
		d.include(name, arg)
		d.shift = outer
		return
	}
	v := d.pipe(n.Pipe, dot, *vars)
	text := n.Pipe.String()
	at := d.shift
	if by < 0 {
		at = -1
	}
	d.shift = outer
	d.events = append(d.events, event{reads: d.sources(v), needs: slices.Clone(d.needs), shift: at,
		yaml: strings.Contains(text, "oYaml") || strings.Contains(text, "tplvalues") || strings.Contains(text, "tpl ")})
}

// indentOf returns by how much a pipeline indents what it prints; below 0 if it does not.
func indentOf(p *parse.PipeNode) int {
	for _, c := range p.Cmds {
		if id, ok := c.Args[0].(*parse.IdentifierNode); ok && len(c.Args) > 1 && strings.HasSuffix(id.Ident, "indent") {
			if n, ok := c.Args[1].(*parse.NumberNode); ok {
				return int(n.Int64)
			}
		}
	}
	return -1
}

// included returns the template that a pipeline includes and what it gives it.
func (d *symbolic) included(p *parse.PipeNode, dot symbolicValue, vars []symbolicVar) (string, symbolicValue, bool) {
	c := p.Cmds[0]
	if len(c.Args) == 1 {
		if in, ok := c.Args[0].(*parse.PipeNode); ok {
			return d.included(in, dot, vars)
		}
	}
	id, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok || id.Ident != "include" || len(c.Args) != 3 {
		return "", symbolicValue{}, false
	}
	name, ok := c.Args[1].(*parse.StringNode)
	if !ok {
		return "", symbolicValue{}, false
	}
	return name.Text, d.arg(c.Args[2], dot, vars), true
}

func (d *symbolic) include(name string, dot symbolicValue) {
	t := d.set.lookup(name)
	if t == nil || t.root == nil || d.exhausted() {
		return
	}
	d.depth++
	before := len(d.events)
	d.list(t.root, dot, []symbolicVar{{"$", dot}})
	d.depth--
	// A helper that prints a value that it is given, like common.tplvalues.render.
	if v, ok := dot.dict["value"]; ok && len(d.sources(v)) > 0 {
		d.events = append(d.events[:before], event{reads: d.sources(v), needs: slices.Clone(d.needs), yaml: true,
			shift: d.shift})
	}
}

// sources returns the values that a symbolic value would be read of.
func (d *symbolic) sources(v symbolicValue) []*node {
	var m mixer
	if v.dict == nil {
		m.add(d.origin(v.v))
	}
	for _, n := range v.more {
		m.add(n)
	}
	if info := d.mapOf(v.v.rv); info != nil {
		for _, h := range info.feeds {
			m.add(h.feed)
		}
	}
	return slices.DeleteFunc(m.parts, func(n *node) bool { return n.kind != Value })
}

// look follows a field of something that may not be there.
func (d *symbolic) look(v symbolicValue, name string) symbolicValue {
	if f, ok := v.dict[name]; ok {
		return f
	}
	rv := concrete(v.v.rv)
	switch rv.Kind() {
	case reflect.Map:
		return symbolicValue{v: value{d.at(value{rv, v.v.sh}, name).rv, d.entry(value{rv, v.v.sh}, name).val}}
	case reflect.Slice:
		if rv.Len() > 0 && name == "0" {
			return symbolicValue{v: d.index(value{rv, v.v.sh}, 0)}
		}
	}
	return symbolicValue{v: value{sh: taint{org: v.v.sh.org.child(name)}}}
}

func (d *symbolic) fields(v symbolicValue, names []string) symbolicValue {
	for _, n := range names {
		v = d.look(v, n)
	}
	return v
}

func (d *symbolic) pipe(p *parse.PipeNode, dot symbolicValue, vars []symbolicVar) symbolicValue {
	if p == nil || d.exhausted() {
		return symbolicValue{}
	}
	var v symbolicValue
	for i, c := range p.Cmds {
		v = d.command(c, dot, vars, v, i > 0)
	}
	return v
}

func (d *symbolic) command(c *parse.CommandNode, dot symbolicValue, vars []symbolicVar, final symbolicValue,
	piped bool) symbolicValue {
	id, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok {
		return d.arg(c.Args[0], dot, vars)
	}
	var args []symbolicValue
	var words []string
	for _, a := range c.Args[1:] {
		args = append(args, d.arg(a, dot, vars))
		word := ""
		if s, ok := a.(*parse.StringNode); ok {
			word = s.Text
		}
		words = append(words, word)
	}
	if piped {
		args, words = append(args, final), append(words, "")
	}
	return d.apply(id.Ident, args, words)
}

func (d *symbolic) apply(name string, args []symbolicValue, words []string) symbolicValue {
	switch name {
	case "dict":
		out := symbolicValue{dict: map[string]symbolicValue{}}
		for i := 0; i+1 < len(args); i += 2 {
			if words[i] != "" {
				out.dict[words[i]] = args[i+1]
			}
		}
		return out
	case "index", "get":
		if len(args) == 0 {
			return symbolicValue{}
		}
		out := args[0]
		for _, w := range words[1:] {
			if w != "" {
				out = d.look(out, w)
			}
		}
		return out
	case "toYaml", "tpl", "nindent", "indent", "quote", "toString", "default", "deepCopy", "trim", "required", "int",
		"omit", "fromYaml", "toJson":
		return d.through(name, args)
	}
	var out symbolicValue
	for i := len(args) - 1; i >= 0; i-- {
		out.more = append(out.more, d.sources(args[i])...)
	}
	return out
}

// through returns the argument that a function passes on: most take it last, tpl and omit first.
func (d *symbolic) through(name string, args []symbolicValue) symbolicValue {
	if len(args) == 0 {
		return symbolicValue{}
	}
	if name == "tpl" || name == "omit" {
		return args[0]
	}
	last := args[len(args)-1]
	if name == "default" && len(args) > 1 {
		last.more = append(slices.Clone(last.more), d.sources(args[0])...)
	}
	return last
}

func (d *symbolic) arg(n parse.Node, dot symbolicValue, vars []symbolicVar) symbolicValue {
	if d.exhausted() {
		return symbolicValue{}
	}
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return d.fields(dot, n.Ident)
	case *parse.VariableNode:
		for i := len(vars) - 1; i >= 0; i-- {
			if vars[i].name == n.Ident[0] {
				return d.fields(vars[i].v, n.Ident[1:])
			}
		}
	case *parse.PipeNode:
		return d.pipe(n, dot, vars)
	case *parse.ChainNode:
		return d.fields(d.arg(n.Node, dot, vars), n.Field)
	case *parse.IdentifierNode:
		return d.apply(n.Ident, nil, nil)
	}
	return symbolicValue{}
}
