package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// templates fills in the templates of one ApplicationSet, in either of its two languages
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/GoTemplate/). It is not safe for
// concurrent use.
type templates struct {
	goTemplate bool
	options    []string
	limits     Limits
	steps      int // work done so far
	compiled   map[string]*compiled
}

type compiled struct {
	err     error
	tree    *template.Template
	reads   [][]string // the values it reads, by their keys
	whole   bool       // reads all values at once
	mutates bool       // changes values in place
}

func newTemplates(goTemplate bool, options []string, limits Limits) *templates {
	return &templates{goTemplate: goTemplate, options: options, limits: limits, compiled: map[string]*compiled{}}
}

// spend counts work; hostile templates end here.
func (t *templates) spend(n int) error {
	if t.steps += n; t.steps > t.limits.Steps {
		return errors.New("its templates take more work than the limit allows")
	}
	return nil
}

// render fills in every text of a value, and the keys of its maps. What depends on values that only the cluster
// has is marked as unknown and keeps its template.
func (t *templates) render(f *field, s set) (*field, error) {
	if f == nil {
		return nil, nil
	}
	if err := t.spend(1); err != nil {
		return nil, located(f, err)
	}
	switch {
	case f.fields != nil:
		out := &field{fields: make(map[string]*field, len(f.keys)), where: f.where}
		for _, k := range f.keys {
			v, err := t.render(f.fields[k], s)
			if err != nil {
				return nil, err
			}
			key, _, err := t.text(k, s)
			if err != nil {
				return nil, located(f.fields[k], err)
			}
			out.put(key, v)
		}
		return out, nil
	case f.list:
		out := &field{list: true, where: f.where}
		for _, item := range f.items {
			v, err := t.render(item, s)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, v)
		}
		return out, nil
	}
	text, ok := f.scalar.(string)
	if !ok || !strings.Contains(text, "{{") {
		return f, nil
	}
	filled, unknown, err := t.text(text, s)
	if err != nil {
		return nil, located(f, err)
	}
	return &field{scalar: filled, unknown: unknown, where: f.where}, nil
}

// has says whether a value is among those that are known.
func (s set) has(keys []string) bool {
	var at any = s.values
	for _, k := range keys {
		m, ok := at.(map[string]any)
		if !ok || !has(m, k) {
			return false
		}
		at = m[k]
	}
	_, isMap := at.(map[string]any)
	return !isMap // a map may have more keys than are known
}

// text fills in one text.
func (t *templates) text(text string, s set) (string, bool, error) {
	if !strings.Contains(text, "{{") {
		return text, false, nil
	}
	if !t.goTemplate {
		filled, err := t.fast(text, s)
		return filled, s.unknown && strings.Contains(filled, "{{"), err
	}
	c := t.compile(text)
	if c.err != nil {
		return "", false, c.err
	}
	if s.unknown {
		if c.whole || slices.ContainsFunc(c.reads, func(keys []string) bool { return !s.has(keys) }) {
			return text, true, nil
		}
	}
	filled, err := t.execute(c, s.values)
	return filled, false, err
}

var singleLineTag = regexp.MustCompile(`\{\{.*\}\}`)

// fast replaces {{name}}; a name without a value stays as it is.
func (t *templates) fast(text string, s set) (string, error) {
	if !singleLineTag.MatchString(text) {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{{")
		b.WriteString(before)
		if !ok {
			break
		}
		tag, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", errors.New("a template opens {{ and does not close it")
		}
		if value, ok := s.values[strings.TrimSpace(tag)].(string); ok && strings.TrimSpace(tag) != "" {
			b.WriteString(value)
		} else {
			b.WriteString("{{" + tag + "}}")
		}
		if text = after; b.Len() > t.limits.TextBytes {
			return "", errTooLong
		}
	}
	return b.String(), t.spend(1 + b.Len()/64)
}

var errTooLong = errors.New("a template's text is longer than the limit allows")

const maxTemplate = 64 << 10 // bytes of one template's source

// compile parses a Go template once. Functions that are not pure (dates, random numbers, the environment, the
// network) are not known here.
func (t *templates) compile(text string) *compiled {
	if c, ok := t.compiled[text]; ok {
		return c
	}
	c := &compiled{}
	t.compiled[text] = c
	if len(text) > maxTemplate {
		c.err = errors.New("a template is longer than 64 KiB")
		return c
	}
	probe := parse.New("template")
	probe.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := probe.Parse(text, "", "", trees); err != nil {
		c.err = errors.New("a template is not valid: " + cleanTemplateError(err))
		return c
	}
	if len(trees) > 1 {
		c.err = errors.New("a template defines another one, which Lintel does not evaluate")
		return c
	}
	if probe.Root == nil {
		probe.Root = &parse.ListNode{}
	}
	if c.err = c.inspect(probe.Root, 0); c.err != nil {
		return c
	}
	main := template.New("template").Funcs(t.functions())
	for _, option := range t.options {
		switch option {
		case "missingkey=error", "missingkey=zero", "missingkey=default", "missingkey=invalid":
			main = main.Option(option)
		default:
			c.err = errors.New("goTemplateOptions has an option that does not exist")
			return c
		}
	}
	if c.tree, c.err = main.Parse(text); c.err != nil {
		c.err = errors.New("a template is not valid: " + cleanTemplateError(c.err))
		return c
	}
	countLoops(c.tree.Root, stepNode())
	return c
}

// cleanTemplateError keeps the reason: the rest is the name that templates have here, and the position in it.
func cleanTemplateError(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return fmt.Sprintf("%.120s", text)
}

// inspect notes what a template reads and refuses what is not evaluated.
func (c *compiled) inspect(n parse.Node, depth int) error {
	if depth > 1000 {
		return errors.New("a template is nested too deeply")
	}
	var children []parse.Node
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			children = n.Nodes
		}
	case *parse.ActionNode:
		children = []parse.Node{n.Pipe}
	case *parse.PipeNode:
		if n != nil {
			for _, cmd := range n.Cmds {
				children = append(children, cmd)
			}
		}
	case *parse.CommandNode:
		children = n.Args
	case *parse.ChainNode:
		children = []parse.Node{n.Node}
	case *parse.IfNode:
		children = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.WithNode:
		children = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.RangeNode:
		children = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.TemplateNode:
		return errors.New("a template calls another one, which Lintel does not evaluate")
	case *parse.DotNode:
		c.whole = true
	case *parse.FieldNode:
		c.reads = append(c.reads, n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			if len(n.Ident) == 1 {
				c.whole = true
			} else {
				c.reads = append(c.reads, n.Ident[1:])
			}
		}
	case *parse.IdentifierNode:
		if _, ok := functionTable()[n.Ident]; !ok && !builtin(n.Ident) {
			return fmt.Errorf("the template function %.40q is not one that Lintel evaluates", n.Ident)
		}
		switch n.Ident {
		case "set", "unset", "merge", "mergeOverwrite":
			c.mutates = true
		}
	}
	for _, child := range children {
		if err := c.inspect(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// builtin lists the functions of text/template that are kept: they make nothing larger than what they are given.
func builtin(name string) bool {
	switch name {
	case "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "slice", "break", "continue":
		return true
	}
	return false
}

const stepName = "lintelStep"

// stepNode is {{lintelStep}}, which counts a turn of a loop.
func stepNode() parse.Node {
	t := template.Must(template.New("").Funcs(template.FuncMap{stepName: func() string { return "" }}).Parse("{{" + stepName + "}}"))
	return t.Root.Nodes[0]
}

// countLoops puts a step in front of every loop's body.
func countLoops(n parse.Node, step parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				countLoops(child, step)
			}
		}
	case *parse.IfNode:
		countLoops(n.List, step)
		countLoops(n.ElseList, step)
	case *parse.WithNode:
		countLoops(n.List, step)
		countLoops(n.ElseList, step)
	case *parse.RangeNode:
		countLoops(n.List, step)
		countLoops(n.ElseList, step)
		n.List.Nodes = append([]parse.Node{step}, n.List.Nodes...)
	}
}

// execute runs a template. Text that it prints is bounded as it is written.
func (t *templates) execute(c *compiled, values map[string]any) (filled string, err error) {
	if err := t.spend(10); err != nil {
		return "", err
	}
	if c.mutates {
		n, err := sizeOf(values, 0)
		if err != nil {
			return "", err
		}
		if err := t.spend(n); err != nil {
			return "", err
		}
		values, _ = copyValue(values).(map[string]any)
	}
	out := &boundedBuffer{limit: t.limits.TextBytes}
	if err := c.tree.Execute(out, values); err != nil {
		if errors.Is(err, errTooLong) {
			return "", errTooLong
		}
		return "", errors.New("a template fails: " + cleanTemplateError(err))
	}
	return out.String(), nil
}

type boundedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
