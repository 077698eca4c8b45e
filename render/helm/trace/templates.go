package trace

import (
	"reflect"
	"regexp"
	"strings"
	"text/template/parse"
)

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
