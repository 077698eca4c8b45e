package trace

import "text/template/parse"

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
