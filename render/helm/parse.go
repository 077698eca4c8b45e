package helm

import (
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

// sets keeps the parsed templates of a chart, for each set of subcharts that values turn on.
type sets struct {
	mu   sync.Mutex
	kept map[string]parsed
}

// parsed are the templates of some charts.
type parsed struct {
	set   *template.Template
	lists bool // see listsVersions
	asks  bool // see Output.Phased
}

func newSets() *sets { return &sets{kept: map[string]parsed{}} }

// Sets of subcharts that are kept for one chart.
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
		in.run.listed, in.run.phased = in.run.listed || known.lists, in.run.phased || known.asks
		return known.set, nil
	}
	lists, asks := false, false
	set := template.New("gotpl").Option("missingkey=zero").Funcs(in.Funcs).Funcs(placeholders)
	for _, t := range in.Templates {
		lists, asks = lists || listsVersions(t.Text), asks || asksPhase(t.Text)
		if _, err := parseInto(set.New(t.Name), t.Text); err != nil {
			return nil, in.unparsed(t.Name, err)
		}
	}
	set.Funcs(stubs(in.Funcs)) // the run that was first is not to be kept
	in.run.listed, in.run.phased = in.run.listed || lists, in.run.phased || asks
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) < keptSets {
		s.kept[key.String()] = parsed{set, lists, asks}
	}
	return set, nil
}

var placeholders = template.FuncMap{
	"include": func(string, any) (string, error) { return "", nil },
	"tpl":     func(string, any) (string, error) { return "", nil },
}

func stubs(of template.FuncMap) template.FuncMap {
	out := template.FuncMap{}
	for name := range of {
		out[name] = func() string { return "" }
	}
	return out
}

// Nesting of actions and parentheses in one template.
const deepestTree = 400

// parseInto parses a template. Calls by the action template become calls of include, which are counted.
func parseInto(t *template.Template, text string) (*template.Template, error) {
	if len(text) > 8<<20 {
		return nil, halted("has a template that is too large")
	}
	before := map[*parse.Tree]bool{}
	for _, have := range t.Templates() {
		before[have.Tree] = true
	}
	t, err := t.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, have := range t.Templates() {
		if have.Tree != nil && !before[have.Tree] {
			if err := bound(have.Tree.Root, 0); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// bound refuses trees that are too deep for the stack, and replaces the action template.
func bound(n parse.Node, depth int) error {
	if depth > deepestTree {
		return halted("has a template that is nested too deep")
	}
	var parts []parse.Node
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for i, part := range n.Nodes {
			if call, ok := part.(*parse.TemplateNode); ok {
				n.Nodes[i] = included(call)
			}
		}
		parts = n.Nodes
	case *parse.ActionNode:
		parts = append(parts, n.Pipe)
	case *parse.IfNode:
		parts = append(parts, n.Pipe, n.List, n.ElseList)
	case *parse.RangeNode:
		parts = append(parts, n.Pipe, n.List, n.ElseList)
	case *parse.WithNode:
		parts = append(parts, n.Pipe, n.List, n.ElseList)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			parts = append(parts, c)
		}
	case *parse.CommandNode:
		parts = n.Args
	case *parse.ChainNode:
		parts = append(parts, n.Node)
	}
	for _, part := range parts {
		if err := bound(part, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// included returns the call of include that prints what an action template prints.
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
