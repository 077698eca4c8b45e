package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
)

// templates fills in the templates of one ApplicationSet, in either of the two template languages
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/GoTemplate/). It is not safe for concurrent
// use.
type templates struct {
	goTemplate bool
	options    []string
	limits     Limits
	steps      int             // work done so far
	open       map[string]bool // the own values of clusters generators that the cluster fills in; "": there may be others
	compiled   env.Memo[string, *compiled]
}

type compiled struct {
	err     error
	tree    *template.Template
	reads   [][]string // keys of the values that it reads
	whole   bool       // it reads all values at once
	mutates bool       // it changes values in place
	calls   []string   // the functions that it calls
}

func newTemplates(goTemplate bool, options []string, limits Limits) *templates {
	return &templates{goTemplate: goTemplate, options: options, limits: limits, open: map[string]bool{}}
}

// render fills in every text of a value, and the keys of its maps. A text that depends on values which only the cluster
// has is marked as unknown, and keeps its template.
func (t *templates) render(f *field, s set) (*field, error) {
	if f == nil || f.Unknown {
		return f, nil
	}
	if err := t.spend(1); err != nil {
		return nil, located(f, err)
	}
	switch {
	case f.Fields != nil:
		out := &field{Fields: make(map[string]*field, len(f.Keys)), Where: f.Where}
		for _, k := range f.Keys {
			v, err := t.render(f.Fields[k], s)
			if err != nil {
				return nil, err
			}
			key, unknown, err := t.text(k, s)
			if err != nil {
				return nil, located(f.Fields[k], err)
			}
			out.Unknown = out.Unknown || unknown
			out.put(key, v)
		}
		return out, nil
	case f.List:
		out := &field{List: true, Where: f.Where}
		for _, item := range f.Items {
			v, err := t.render(item, s)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, v)
		}
		return out, nil
	}
	text, ok := f.Scalar.(string)
	if !ok || !strings.Contains(text, "{{") {
		return f, nil
	}
	filled, unknown, err := t.text(text, s)
	if err != nil {
		return nil, located(f, err)
	}
	out := &field{Scalar: filled, Unknown: unknown, Where: f.Where}
	if out.Where.EndLine > out.Where.Line {
		out.Lines = t.lines(strings.Split(text, "\n"), strings.Split(filled, "\n"), s)
	}
	if at, ok := s.at[t.printed(text)]; ok {
		out.Value = &at
	} else if t.serializes(text) {
		out.Below = placesIn(s.at, t.printed(text))
	}
	return out, nil
}

// printsOne matches a text that only prints one value, or also the name of an image or a parameter before it.
var printsOne = regexp.MustCompile(`^([^{}\s]*[:=])?\{\{([^{}]*)\}\}$`)

// printed returns the name of the only value that a text prints; empty where it prints others, or more than that value.
func (t *templates) printed(text string) string {
	match := printsOne.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	if !t.goTemplate {
		return strings.TrimSpace(match[2])
	}
	if c := t.compile(text); c.err == nil && !c.whole && len(c.reads) == 1 {
		return strings.Join(c.reads[0], ".")
	}
	return ""
}

// serializes reports whether a text prints one value as it is, as JSON or YAML.
func (t *templates) serializes(text string) bool {
	return t.goTemplate && t.printed(text) != "" && !slices.ContainsFunc(t.compile(text).calls, func(call string) bool {
		return !slices.Contains([]string{"toJson", "toPrettyJson", "toRawJson", "toYaml"}, strings.Replace(call, "mustTo", "to", 1))
	})
}

// printed is a line that a template prints.
type printed struct {
	Of     int       // the line of the template, from 1; 0 where it is not known
	Column int       // where the printed value begins, from 1
	Value  *Position // where that value is written; nil: unknown, or there is none
}

// printsRest matches a line that prints one value after its key or the mark of a list's element, perhaps in quotes.
var printsRest = regexp.MustCompile(`^(\s*(?:- +)*(?:[^\s:#{}]+: +)?["']?)(\{\{[^{}]*\}\})["']?\s*$`)

// maxLines limits the lines of a template that are matched to what it prints.
const maxLines = 2000

// lines returns where the lines are from that a template prints: each is the next line of the template that says the same, or
// that prints a value after the same key.
func (t *templates) lines(template, filled []string, s set) []printed {
	if len(template) > maxLines || len(filled) > maxLines {
		return nil
	}
	list, next := make([]printed, len(filled)), 0
	for i, line := range filled {
		for k := next; k < len(template) && strings.TrimSpace(line) != ""; k++ {
			name, match := "", printsRest.FindStringSubmatch(template[k])
			if match != nil {
				name = t.printed(match[2])
			}
			if match != nil && (name != "" || strings.TrimSpace(match[1]) != "") && strings.HasPrefix(line, match[1]) {
				list[i].Column = len(match[1])
				if at, ok := s.at[name]; ok {
					list[i].Value = &at
				}
			} else if template[k] != line {
				continue
			}
			list[i].Of, next = k+1, k+1
			break
		}
	}
	return list
}

// line returns the place of a position in a text, counted from 1: in a block that a template prints, the place of the value or
// the line of the template. ok is false for other texts.
func (f *field) line(line, column int) (at Position, ok bool) {
	switch {
	case line < 1 || line > len(f.Lines):
		return f.Where, len(f.Lines) > 0
	case f.Lines[line-1].Value != nil && column >= f.Lines[line-1].Column:
		return *f.Lines[line-1].Value, true
	case f.Lines[line-1].Of > 0:
		return Position{Path: f.Where.Path, Line: f.Where.Line + f.Lines[line-1].Of}, true
	}
	return f.Where, true
}

// has reports whether a value is known.
func (s set) has(keys []string) bool {
	found, steps := doc.Look(s.values, keys)
	_, isMap := found.(map[string]any)
	return steps == len(keys) && !isMap // the cluster may add keys to a map
}

// text fills in one text.
func (t *templates) text(text string, s set) (string, bool, error) {
	if !strings.Contains(text, "{{") {
		return text, false, nil
	}
	if !t.goTemplate {
		filled, err := t.fast(text, s)
		return filled, s.needs != nil && t.waits(filled), err
	}
	c := t.compile(text)
	if c.err != nil {
		return "", false, c.err
	}
	if s.needs != nil {
		if c.whole || slices.ContainsFunc(c.reads, func(keys []string) bool { return !s.has(keys) }) {
			return text, true, nil
		}
	}
	filled, err := t.execute(c, s.values)
	return filled, false, err
}

// waits reports whether a text that was filled in still has names whose values the cluster has. Nothing fills in
// {{values.NAME}} where no generator has a value of this name.
func (t *templates) waits(filled string) bool {
	for _, part := range strings.Split(filled, "{{")[1:] {
		tag, _, _ := strings.Cut(part, "}}")
		if name := strings.TrimSpace(tag); t.open[""] || t.open[name] || !strings.HasPrefix(name, "values.") {
			return true
		}
	}
	return false
}

var singleLineTag = regexp.MustCompile(`\{\{.*\}\}`)

// fast replaces {{name}} in templates that are not Go templates. A name without a value is kept.
func (t *templates) fast(text string, s set) (string, error) {
	if !strings.Contains(text, "{{") || !singleLineTag.MatchString(text) {
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

const maxTemplate = 64 << 10 // bytes of one template's source

// compile parses a Go template once. It refuses functions whose result is not always the same (dates, random numbers).
func (t *templates) compile(text string) *compiled {
	return t.compiled.Get(text, func() *compiled {
		c := &compiled{}
		c.err = c.parse(text, t)
		return c
	})
}

func (c *compiled) parse(text string, t *templates) error {
	if len(text) > maxTemplate {
		return unknown("a template is longer than 64 KiB")
	}
	probe := parse.New("template")
	probe.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := probe.Parse(text, "", "", trees); err != nil {
		return errors.New("a template is not valid: " + cleanTemplateError(err))
	}
	if len(trees) > 1 {
		return unknown("a template defines another one, which Lintel does not evaluate")
	}
	if err := c.inspect(probe.Root, 0); err != nil {
		return err
	}
	main := template.New("template").Funcs(t.bounded(c.calls))
	for _, option := range t.options {
		switch option {
		case "missingkey=error", "missingkey=zero", "missingkey=default", "missingkey=invalid":
			main = main.Option(option)
		default:
			return errors.New("goTemplateOptions has an option that does not exist")
		}
	}
	tree, err := main.Parse(text)
	if err != nil {
		return errors.New("a template is not valid: " + cleanTemplateError(err))
	}
	guard(tree.Root, newGuards())
	c.tree = tree
	return nil
}

// cleanTemplateError returns the reason of an error, without the internal name of the template and the position in it.
func cleanTemplateError(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return fmt.Sprintf("%.120s", text)
}

// inspect records what a template reads, and refuses what is not evaluated.
func (c *compiled) inspect(n parse.Node, depth int) error {
	if depth > 1000 {
		return unknown("a template is nested too deeply")
	}
	switch n := n.(type) {
	case *parse.TemplateNode:
		return unknown("a template calls another one, which Lintel does not evaluate")
	case *parse.DotNode:
		c.whole = true
	case *parse.FieldNode:
		c.reads = append(c.reads, n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			c.whole = c.whole || len(n.Ident) == 1
			c.reads = append(c.reads, n.Ident[1:])
		}
	case *parse.IdentifierNode:
		if err := checkFunction(n.Ident); err != nil {
			return err
		}
		c.calls, c.mutates = append(c.calls, n.Ident), c.mutates || mutator(n.Ident)
	}
	for _, child := range helm.Children(n) {
		if err := c.inspect(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// The functions that Lintel adds to templates. Templates themselves cannot call them: see checkFunction.
const (
	stepName = "lintelStep"
	sizeName = "lintelSize"
)

// guards are added to a template. {{lintelStep}} counts an iteration of a loop. ... | lintelSize refuses to print a
// value that has grown since a function checked it.
type guards struct {
	step parse.Node
	size *parse.CommandNode
}

func newGuards() guards {
	nothing := template.FuncMap{stepName: func() string { return "" }, sizeName: func() string { return "" }}
	t := template.Must(template.New("").Funcs(nothing).Parse("{{" + stepName + "}}{{" + sizeName + "}}"))
	return guards{t.Root.Nodes[0], t.Root.Nodes[1].(*parse.ActionNode).Pipe.Cmds[0]}
}

// guard adds a step at the start of every loop's body, and a size check to every printed value.
func guard(n parse.Node, g guards) {
	for _, child := range helm.Children(n) {
		guard(child, g)
	}
	switch n := n.(type) {
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, g.size)
		}
	case *parse.RangeNode:
		n.List.Nodes = append([]parse.Node{g.step}, n.List.Nodes...)
	}
}

// execute runs a template. It stops when the printed text exceeds the limit.
func (t *templates) execute(c *compiled, values map[string]any) (filled string, err error) {
	if err := t.spend(10); err != nil {
		return "", err
	}
	if c.mutates {
		if err := t.spendValue(reflect.ValueOf(values)); err != nil {
			return "", err
		}
		values, _ = doc.MapLeaves(values, itself).(map[string]any)
	}
	out := &boundedBuffer{limit: t.limits.TextBytes}
	if err := c.tree.Execute(out, values); err != nil {
		if limit := (*unknowable)(nil); errors.As(err, &limit) {
			return "", limit
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
