// Package trace finds out where the bytes that a chart's templates printed came from.
//
// Helm renders. This package executes the same templates again, with its own evaluator, in which every value has origins: a
// path in the merged values, a key, an offset in a template or in a file of the chart, the release, the cluster's
// capabilities. Functions are really called with the real values; only origins are added. The output of the traced
// execution is accepted only if it is byte for byte Helm's. So a difference between the evaluators loses an explanation, but
// never gives a wrong one.
//
// A string has segments. Each has an origin, an offset in the origin, and the conditions under which it was printed. Other
// values have one origin, which may be an ordered mixture. Origins of maps and slices are in a table, by identity. A skipped
// block, or an action that printed nothing, leaves a segment of length zero with its parse tree. [Trace.Absent] uses these
// to find the values that would have printed a missing field.
package trace

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"

	"helm.sh/helm/v4/pkg/chart/common"

	"github.com/lintel-bot/lintel/render/helm"
)

// Trace knows where the bytes of a release's output came from. Its methods must not be called concurrently, because
// they complete origins on demand.
type Trace struct {
	files   map[string]*traced
	sources map[string]string // texts of templates, by name
	scopes  scopeTree
	exec    *exec
	input   *helm.Input
	steps   int // of Run
}

// traced is the output of one template.
type traced struct {
	out      string
	segments []segment
	err      error
}

// errDiffers says that the traced execution of a file ended, but its output is not accepted.
var errDiffers = errors.New("the traced execution printed other bytes than Helm")

// Run executes the templates of a release again, and compares their output with out, which Helm printed for the same
// options. It fails only if nothing could be executed. A single file that fails is not accepted: see Accepted.
func Run(ctx context.Context, c *helm.Chart, o helm.Options, out *helm.Output) (*Trace, error) {
	in, err := c.Input(o)
	if err != nil {
		return nil, fmt.Errorf("preparing the traced execution: %w", err)
	}
	return run(ctx, in, out.Files, Limits{})
}

// run is Run with prepared input.
func run(ctx context.Context, in *helm.Input, want map[string]string, l Limits) (t *Trace, err error) {
	defer func() {
		if r := recover(); r != nil {
			t, err = nil, fmt.Errorf("traced execution: %v", r)
		}
	}()
	e := &exec{table: newTable(), ctx: ctx, limits: l.filled(), included: map[string]int{},
		bridges: map[string]*template.Template{}, numbers: map[string]reflect.Value{}}
	e.funcs, e.calls = functions(), template.New("").Option("missingkey=zero").Funcs(in.Funcs).Funcs(e.bridging())
	e.seedScopes(in)
	values, _ := helm.AsMap(in.Top["Values"])
	t = &Trace{files: map[string]*traced{}, sources: map[string]string{}, exec: e, scopes: newScopes(in.Chart, values),
		input: in}
	trees, err := in.Trees()
	if err != nil {
		return nil, fmt.Errorf("preparing the traced execution: %w", err)
	}
	templates := newSet(trees)
	for _, f := range in.Templates {
		t.sources[f.Name] = f.Text
	}
	for _, f := range in.Templates {
		if f.Partial {
			continue
		}
		in.Begin(f.Name)
		text, ok := want[f.Name]
		t.files[f.Name] = e.file(templates, f, text)
		if !ok {
			t.files[f.Name].err = errors.New("nothing was printed of it by Helm")
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	t.steps = e.steps
	return t, nil
}

// file executes one file.
func (e *exec) file(templates *set, f helm.Template, want string) (out *traced) {
	defer func() {
		if r := recover(); r != nil {
			fl, ok := r.(failure)
			if !ok {
				fl.err = fmt.Errorf("%s: %v", f.Name, r)
			}
			out = &traced{err: fl.err}
			clear(e.included)
			e.depth = 0
		}
	}()
	f.Dot["Template"] = common.Values{"Name": f.Name, "BasePath": f.Base}
	e.seed(f.Dot["Template"], &node{kind: Template})
	txt := &text{}
	e.execute(templates, templates.lookup(f.Name), value{rv: reflect.ValueOf(f.Dot)}, txt, nil)
	v := withoutNoValue(string(txt.buf), txt.taint())
	out = &traced{out: v.rv.String(), segments: v.sh.segments}
	if out.out != want {
		out.err = errDiffers
	}
	return out
}

// Steps returns how many nodes, commands and arguments were evaluated. It only depends on the chart and the options,
// and not on the machine.
func (t *Trace) Steps() int { return t.steps }

// Apart reports whether every template certainly prints the same when it runs alone: none changes values that others
// see.
func (t *Trace) Apart() bool {
	for _, f := range t.files {
		if f.err != nil {
			return false
		}
	}
	return !t.exec.changed
}

// Accepted reports whether the traced output of a template is Helm's.
func (t *Trace) Accepted(template string) bool { return t.Why(template) == nil }

// Why returns why a template's output is not accepted, nil if it is.
func (t *Trace) Why(template string) error {
	if f := t.files[template]; f != nil {
		return f.err
	}
	return fmt.Errorf("there is no output of a template %q", template)
}

// Text returns the text of a template.
func (t *Trace) Text(template string) string { return t.sources[template] }

// Source returns the file of a template: see helm.Input.Source.
func (t *Trace) Source(template string) (*helm.Chart, string) { return t.input.Source(template) }

// SourceOf returns the file of one of the templates of a chart, given the chart's full name ("chart/charts/sub").
func (t *Trace) SourceOf(chart string) (*helm.Chart, string) {
	for _, f := range t.input.Templates {
		if f.Base == chart+"/templates" {
			return t.Source(f.Name)
		}
	}
	return nil, ""
}

// source is the text that a template was parsed from: a file, or the argument of tpl.
type source struct {
	file     *node     // of a file
	segments []segment // of a string
}

// literal returns the taint of n bytes at an offset of the source.
func (s *source) literal(pos, n int) taint {
	if s.file == nil {
		return taint{segments: cut(s.segments, pos, pos+n)}
	}
	return taint{segments: []segment{{n: int32(n), off: int32(pos), org: s.file}}}
}

// origin returns the origin of a literal whose bytes are not copied.
func (s *source) origin(pos, n int) *node {
	if s.file == nil {
		return taint{segments: cut(s.segments, pos, pos+n)}.mix()
	}
	return &node{kind: Text, chart: s.file.chart, off: pos, length: n}
}

// tmpl is a parsed template: the body of a file or of a define.
type tmpl struct {
	name string
	root *parse.ListNode
	src  *source
}

// set is the visible templates: those of the chart and, inside tpl, those that its argument defines.
type set struct {
	up    *set
	named map[string]*tmpl
}

// newSet returns the templates of a chart from their parse trees.
func newSet(trees map[string]*parse.Tree) *set {
	s := &set{named: make(map[string]*tmpl, len(trees))}
	sources := map[string]*source{}
	for name, tree := range trees {
		src := sources[tree.ParseName]
		if src == nil {
			src = &source{file: &node{kind: Text, chart: tree.ParseName}}
			sources[tree.ParseName] = src
		}
		s.named[name] = &tmpl{name, tree.Root, src}
	}
	return s
}

func (s *set) lookup(name string) *tmpl {
	for ; s != nil; s = s.up {
		if t := s.named[name]; t != nil {
			return t
		}
	}
	return nil
}

// add parses a text, adds the templates that it defines, and returns the text's own template.
func (s *set) add(name, body string, src *source) (*tmpl, error) {
	trees := map[string]*parse.Tree{}
	parser := parse.New(name)
	parser.Mode = parse.SkipFuncCheck
	if _, err := parser.Parse(body, "", "", trees); err != nil {
		return nil, err
	}
	var own *tmpl
	for n, tree := range trees {
		t := &tmpl{n, tree.Root, src}
		if n == name {
			own = t
		}
		// An empty template never replaces an existing one.
		if s.lookup(n) == nil || !parse.IsEmptyTree(tree.Root) {
			s.named[n] = t
		}
	}
	return own, nil
}

// maxIncludes is how often Helm allows a template to include itself.
const maxIncludes = 1000

// include executes a template by its name and returns what it printed.
func include(f *frame, args []value) value {
	name, _ := asString(args[0].rv)
	if f.included[name] > maxIncludes+1 {
		f.fail("rendering template has a nested reference name: %s", name)
	}
	t := f.set.lookup(name)
	if t == nil {
		f.fail("no template %q", name)
	}
	f.included[name]++
	data := value{concrete(args[1].rv), args[1].sh}
	out := &text{}
	c := f.cond
	if org := f.dynamic(args[0]); org != nil {
		c = join(c, args[0].sh.conds()).under(org, Condition)
	}
	f.execute(f.set, t, data, out, c)
	f.included[name]--
	return value{reflect.ValueOf(string(out.buf)), out.taint()}
}

// tpl executes a string as a template that sees all others. The origin of its literal text is that of the string.
func tpl(f *frame, args []value) value {
	body, _ := asString(args[0].rv)
	data := value{concrete(args[1].rv), args[1].sh}
	if !strings.Contains(body, "{{") {
		return withoutNoValue(body, args[0].sh)
	}
	src := &source{segments: args[0].sh.of(len(body))}
	if args[0].sh.cond != nil {
		segments := make([]segment, len(src.segments))
		for i, g := range src.segments {
			g.cond = join(g.cond, args[0].sh.cond)
			segments[i] = g
		}
		src.segments = segments
	}
	inner := &set{up: f.set, named: map[string]*tmpl{}}
	own, err := inner.add(rootName, body, src)
	if err != nil {
		f.fail("cannot parse template %q: %w", body, err)
	}
	out := &text{}
	f.execute(inner, own, data, out, join(f.cond, args[0].sh.conds()))
	return withoutNoValue(string(out.buf), out.taint())
}

// rootName is Helm's name for the root of all templates.
const rootName = "gotpl"

// withoutNoValue removes what text/template prints for missing values, as Helm does in tpl and in files.
func withoutNoValue(s string, sh taint) value {
	if !strings.Contains(s, noValue) {
		return value{reflect.ValueOf(s), sh}
	}
	out := &text{}
	out.rewrite(s, sh, nothing.FindAllStringIndex(s, -1), func([]int) (string, taint) { return "", taint{} })
	rest := out.taint()
	rest.cond = sh.cond
	if rest.segments == nil {
		rest.org = sh.mix()
	}
	return value{reflect.ValueOf(string(out.buf)), rest}
}

var nothing = regexp.MustCompile(noValue)
