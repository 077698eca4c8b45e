package helm

import (
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

// sets caches the parsed templates of a chart, for each set of enabled subcharts.
type sets struct {
	mu   sync.Mutex
	kept map[string]parsed
}

// parsed are the templates of a chart and its enabled subcharts.
type parsed struct {
	set  *template.Template
	asks asks
}

// keptSets is how many sets of subcharts are cached for one chart.
const keptSets = 8

func (s *sets) parsed(in *Input) (*template.Template, error) {
	var key strings.Builder
	for _, t := range in.Templates {
		key.WriteString(t.Name)
		key.WriteByte(0)
	}
	s.mu.Lock()
	known, ok := s.kept[key.String()]
	s.mu.Unlock()
	if ok {
		in.run.asks.add(known.asks)
		return known.set, nil
	}
	var all asks
	set := template.New("gotpl").Option("missingkey=zero").Funcs(in.Funcs)
	for _, t := range in.Templates {
		_, asked, err := parseInto(set.New(t.Name), t.Text)
		if err != nil {
			return nil, in.unparsed(t.Name, err)
		}
		all.add(asked)
	}
	set.Funcs(stubs(in.Funcs)) // replace the functions, so that the cache does not keep the first run alive
	in.run.asks.add(all)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) < keptSets {
		s.kept[key.String()] = parsed{set, all}
	}
	return set, nil
}

func stubs(of template.FuncMap) template.FuncMap {
	out := template.FuncMap{}
	for name := range of {
		out[name] = func() string { return "" }
	}
	return out
}

// deepestTree is the maximum nesting of actions and parentheses in one template.
const deepestTree = 400

// parseInto parses a template. It returns what the template may ask for. The action template becomes a call of include,
// which is counted.
func parseInto(t *template.Template, text string) (_ *template.Template, asked asks, _ error) {
	if len(text) > 8<<20 {
		return nil, asked, halted("has a template that is too large")
	}
	before := map[*parse.Tree]bool{}
	for _, have := range t.Templates() {
		before[have.Tree] = true
	}
	t, err := t.Parse(text)
	if err != nil {
		return nil, asked, err
	}
	for _, have := range t.Templates() {
		if have.Tree != nil && !before[have.Tree] {
			if err := asked.bound(have.Tree.Root, false, 0); err != nil {
				return nil, asked, err
			}
		}
	}
	return t, asked, nil
}

// bound refuses trees that are too deep for the stack, replaces the action template, and records what the template may
// ask for.
func (a *asks) bound(n parse.Node, condition bool, depth int) error {
	if depth > deepestTree {
		return halted("has a template that is nested too deep")
	}
	tests := false // whether it is decided by its pipe
	switch n := n.(type) {
	case *parse.ListNode:
		for i, part := range Children(n) {
			if call, ok := part.(*parse.TemplateNode); ok {
				n.Nodes[i] = included(call)
			}
		}
	case *parse.IfNode, *parse.WithNode:
		tests = true
	case *parse.ChainNode:
		a.fields(n.Field, condition)
	case *parse.FieldNode:
		a.fields(n.Ident, condition)
	case *parse.VariableNode:
		a.fields(n.Ident[1:], condition)
	case *parse.StringNode:
		a.text(n.Text, condition)
	}
	for _, part := range Children(n) {
		_, isPipe := part.(*parse.PipeNode)
		if err := a.bound(part, condition || tests && isPipe, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Children lists the child nodes of a node of a template.
func Children(n parse.Node) (list []parse.Node) {
	branch := func(b parse.BranchNode) []parse.Node { return []parse.Node{b.Pipe, b.List, b.ElseList} }
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			return n.Nodes
		}
	case *parse.ActionNode:
		return []parse.Node{n.Pipe}
	case *parse.PipeNode:
		if n != nil {
			for _, cmd := range n.Cmds {
				list = append(list, cmd)
			}
		}
	case *parse.CommandNode:
		return n.Args
	case *parse.ChainNode:
		return []parse.Node{n.Node}
	case *parse.IfNode:
		return branch(n.BranchNode)
	case *parse.WithNode:
		return branch(n.BranchNode)
	case *parse.RangeNode:
		return branch(n.BranchNode)
	}
	return list
}

// included returns the call of include that prints the same as an action template.
func included(call *parse.TemplateNode) *parse.ActionNode {
	var dot parse.Node = &parse.NilNode{NodeType: parse.NodeNil, Pos: call.Pos}
	if call.Pipe != nil {
		dot = call.Pipe
	}
	name := &parse.StringNode{NodeType: parse.NodeString, Pos: call.Pos, Quoted: strconv.Quote(call.Name), Text: call.Name}
	function := parse.NewIdentifier("include").SetPos(call.Pos)
	command := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: call.Pos, Args: []parse.Node{function, name, dot}}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: call.Pos, Line: call.Line, Cmds: []*parse.CommandNode{command}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: call.Pos, Line: call.Line, Pipe: pipe}
}
