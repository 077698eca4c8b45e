package review

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// Lines converts the suggestions of findings to edits of the lines of one source file. It is not safe for concurrent
// use.
type Lines struct {
	text    string
	lines   []string
	editors map[int]*doc.Editor // by the number of lines before the document
	inner   map[int]*innerLines // by the first line of the text that contains them
	made    map[string]bool     // the edits that were tried, and whether each has the suggested effect
	read    int                 // number of lines that were read to try edits

	Encrypted bool // SOPS encrypted the file, and checks the plain values in it, too
}

const (
	maxEdited = 1 << 20 // maximum size in bytes of a file that gets suggestions
	maxRead   = 1 << 20 // maximum number of lines of one file that are read to try edits
)

// LinesOf reads a file. It returns nil for one that is too large or no YAML.
func LinesOf(data []byte) *Lines {
	if len(data) > maxEdited {
		return nil
	}
	text := strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n") + "\n"
	documents, err := doc.Parse("", []byte(text), doc.Limits{})
	if err != nil {
		return nil
	}
	return &Lines{text: text, lines: strings.Split(text, "\n"), editors: map[int]*doc.Editor{},
		inner: map[int]*innerLines{}, made: map[string]bool{}, Encrypted: slices.ContainsFunc(documents, doc.Encrypted)}
}

// Diff returns the lines to remove and to add for a suggestion. It returns nil and the reason unless the edited file
// certainly has the suggested content and no other change.
func (f *Lines) Diff(o *report.Origin, field string, s *report.Suggestion) (_ *report.Diff, why string) {
	if in, at := f.within(o); in != nil && in.Lines == nil {
		return nil, "it is in a template, or in a text that is no YAML: edit it by hand"
	} else if in != nil {
		d, why := in.Diff(at, field, s)
		return in.outside(d), why
	}
	p, why := f.plan(o, field, s)
	if p == nil {
		return nil, why
	}
	d := f.diff(p, p.change)
	if d == nil {
		why = doc.ErrUncertain.Error()
	}
	return d, why
}

// editor returns the editor of the document of a line, and the number of lines before the document.
func (f *Lines) editor(line int) (*doc.Editor, int) {
	text, before := doc.DocumentAt([]byte(f.text), line)
	if f.editors[before] == nil {
		f.editors[before] = doc.NewEditor(text)
	}
	return f.editors[before], before
}

// Begins reports whether a document with an object of a kind begins on a line.
func (f *Lines) Begins(line int, kind string) bool {
	editor, before := f.editor(line)
	for i := range editor.Len() {
		if n := editor.Document(i).Node; n.Line == line-before && doc.Text(n, "kind") == kind {
			return true
		}
	}
	return false
}

// plan is an edit of a document that writes a suggestion.
type plan struct {
	place
	before int // lines above the document
	change *doc.Edit
	// Of an added value: the map that gets it, and its key there.
	in    doc.Spot
	key   string
	value any
	// Of removed elements: the list, and their indexes.
	list    string
	indexes []int
}

const severalLines = "it is written on several lines, or without a value"

// plan returns the edit for a suggestion, or why there is none.
func (f *Lines) plan(o *report.Origin, field string, s *report.Suggestion) (_ *plan, why string) {
	if !f.has(o) || o.EndColumn-1 > len([]rune(f.lines[o.StartLine-1])) {
		return nil, severalLines
	}
	var value any
	below, ok := jsonpointer.Below(s.Field, field)
	if !ok || !s.Remove && yaml.Unmarshal([]byte(s.YAML), &value) != nil {
		return nil, "the value belongs to another place"
	}
	editor, before := f.editor(o.StartLine)
	p := &plan{place: place{editor, o.StartLine - before, o.StartColumn, o.EndColumn - o.StartColumn}, before: before}
	switch missing := o.Missing + below; {
	case s.Remove && missing == "":
		p.remove()
	case s.Remove:
	case missing != "":
		p.insert(missing, value, wholeValues(o))
	case len(o.Set) > 0 && p.fill(jsonpointer.Join(o.Set...), value):
	case len(o.Set) > 0:
		p.change = p.overwrite(value)
	case s.Was == "" && p.fill(s.Field, value):
	default:
		if p.change = p.replace(s.Was, value); p.change == nil {
			p.change = p.literal(s, value)
		}
	}
	switch {
	case p.change != nil && p.change.Unsafe == "":
		return p, ""
	case p.change != nil:
		return nil, p.change.Unsafe
	case o.StartColumn == 0 && !wholeValues(o):
		return nil, severalLines
	case s.Remove:
		return nil, "only a value on a line of its own, or of a list, is removed"
	}
	return nil, "it has what the value is made of, and not the value"
}

func (f *Lines) diff(p *plan, edit *doc.Edit) *report.Diff {
	d := &report.Diff{}
	d.Line, d.Removed, d.Added = edit.Lines()
	if d.Line += p.before; len(d.Removed) == 0 && d.Line > 1 {
		d.Above = f.lines[d.Line-2]
	}
	key := fmt.Sprint(d.Line, len(d.Removed), d.Added) // an edit that several findings suggest is tried once
	if _, tried := f.made[key]; !tried {
		if f.read += strings.Count(p.editor.Text, "\n"); f.read <= maxRead {
			_, err := p.editor.Apply(edit)
			f.made[key] = err == nil
		}
	}
	if !f.made[key] {
		return nil
	}
	return d
}

// place is the position of a value or of its key in a document.
type place struct {
	editor       *doc.Editor
	line, column int
	length       int
}

func (p place) edit(s doc.Spot) *doc.Edit { return p.editor.Edit(p.editor.Document(s.Document)) }

// set returns the edit that writes a value at a pointer of the document of a spot.
func (p place) set(s doc.Spot, pointer string, value any) *doc.Edit {
	edit := p.edit(s)
	edit.Set(pointer, value)
	return edit
}

func (p place) is(n *yaml.Node) bool { return p.column > 0 && p.editor.Begins(n, p.line, p.column) }

func (p place) scalar() (doc.Spot, bool) {
	for _, s := range p.editor.At(p.line, p.column) {
		if n := s.Node; n.Kind == yaml.ScalarNode && p.is(n) && s.In != nil && p.length > 0 &&
			n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			return s, true
		}
	}
	return doc.Spot{}, false
}

// replace writes another value in the place of a scalar. A string stays a string, because the template that prints it
// may depend on that.
func (p place) replace(was string, value any) *doc.Edit {
	s, ok := p.scalar()
	var old, have any
	if ok && was == "" {
		if v := doc.Value(s.Node, true); v == false || v == int64(0) { // the API server drops it
			return p.set(s, s.Pointer, value)
		}
	}
	if !ok || was == "" || yaml.Unmarshal([]byte(was), &old) != nil || s.Node.Decode(&have) != nil {
		return nil
	}
	if text, ok := have.(string); ok && text == was {
		old, value = text, fmt.Sprint(value)
	}
	// Clients of Kubernetes read YAML 1.1, in which "yes" is true.
	if !reflect.DeepEqual(have, old) && doc.Value(s.Node, true) != old {
		return nil // the line contains a part of the value, or a value from which it is made
	}
	return p.set(s, s.Pointer, value)
}

// literal writes another value of a key in the literal of a generator: "key=value".
func (p place) literal(suggested *report.Suggestion, value any) *doc.Edit {
	s, ok := p.scalar()
	var was any
	if !ok || yaml.Unmarshal([]byte(suggested.Was), &was) != nil {
		return nil
	}
	key, text, _ := strings.Cut(s.Node.Value, "=")
	if text != was || suggested.Field != jsonpointer.Join("data", key) {
		return nil
	}
	return p.set(s, s.Pointer, key+"="+fmt.Sprint(value))
}

// overwrite writes another value in the place of a chart's value, whatever it is. A string stays a string.
func (p place) overwrite(value any) *doc.Edit {
	s, ok := p.scalar()
	if !ok {
		return nil
	}
	if s.Node.ShortTag() == "!!str" && s.Node.Value != "" {
		switch value.(type) {
		case map[string]any, []any:
			return nil
		}
		value = fmt.Sprint(value)
	}
	return p.set(s, s.Pointer, value)
}

// fill writes a value at a key that has no value or an empty map. The place is that of the key or of its value, or the
// whole line if that has only one such key. It returns false if there is no such key.
func (p *plan) fill(field string, value any) bool {
	var keys []doc.Spot
	for _, s := range p.editor.At(p.line, p.column) {
		empty := s.Node.Kind == yaml.MappingNode && len(s.Node.Content) == 0 || s.Node.ShortTag() == "!!null"
		if s.Key != nil && empty && strings.HasSuffix(field, jsonpointer.Join(s.Key.Value)) &&
			(len(keys) == 0 || keys[0].Pointer != s.Pointer) {
			keys = append(keys, s)
		}
	}
	if len(keys) != 1 {
		return false
	}
	s := keys[0]
	p.change = p.edit(s)
	fields, isMap := value.(map[string]any)
	switch {
	case len(fields) == 1: // other suggestions may add other fields
		for key, value := range fields {
			p.in, p.key, p.value = s, key, value
		}
		p.put()
	case !isMap || s.Node.Kind == yaml.ScalarNode && (s.Node.Value != "" || doc.IsFlow(s.In)):
		p.change.Set(s.Pointer, value)
	default:
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			p.change.Insert(s.Pointer+jsonpointer.Join(key), fields[key])
		}
	}
	return true
}

// remove removes a line that contains only a scalar with its key, or one element of a list.
func (p *plan) remove() {
	s, ok := p.scalar()
	if !ok || doc.IsFlow(s.In) || len(s.In.Content) < 2 {
		return
	}
	p.in = s
	at := strings.LastIndexByte(s.Pointer, '/')
	if s.Key == nil {
		if i, err := strconv.Atoi(s.Pointer[at+1:]); err == nil {
			p.list, p.indexes = s.Pointer[:at], []int{i}
			p.take()
		}
	} else if s.Key.Line == s.Node.Line && len(s.In.Content) > 2 {
		p.change = p.edit(s)
		p.change.Remove(s.Pointer, false)
	}
}

func (p *plan) take() {
	p.change = p.edit(p.in)
	p.change.RemoveItems(p.list, p.indexes...)
}

// generators matches the entries of generators in a kustomization.
var generators = regexp.MustCompile(`^/(configMap|secret)Generator/[0-9]+$`)

// insert writes a value at a missing pointer below the value at a place; with whole, also in the place of a scalar.
func (p *plan) insert(missing string, value any, whole bool) {
	in, ok := p.holder()
	if !ok && whole {
		var above string
		in, above, ok = p.values()
		missing = above + missing
	}
	if below := strings.TrimPrefix(missing, "/metadata"); generators.MatchString(in.Pointer) &&
		(strings.HasPrefix(below, "/labels") || strings.HasPrefix(below, "/annotations")) {
		missing = "/options" + below
	}
	list := slices.Collect(jsonpointer.Tokens(missing))
	for i := len(list) - 1; i > 0; i-- {
		if _, err := strconv.Atoi(list[i]); err != nil {
			value = map[string]any{list[i]: value}
		} else if list[i] == "0" {
			value = []any{value}
		} else {
			return
		}
	}
	if _, err := strconv.Atoi(list[0]); err == nil || !ok {
		return
	}
	if _, there := doc.Field(in.Node, list[0]); there != nil {
		if there.Kind == yaml.ScalarNode && len(list) == 1 {
			p.change = p.set(in, in.Pointer+jsonpointer.Join(list[0]), value)
		}
		return
	}
	p.in, p.key, p.value = in, list[0], value
	p.put()
}

func (p *plan) put() {
	p.change = p.edit(p.in)
	p.change.Insert(p.in.Pointer+jsonpointer.Join(p.key), p.value)
}

// holder returns the map whose key is at a place, or that begins there. An entry of a generator may be on any line that it begins on.
func (p place) holder() (doc.Spot, bool) {
	spots := p.editor.At(p.line, p.column)
	for _, s := range spots {
		if p.is(s.Key) && (p.length == len([]rune(s.Key.Value)) || s.Key.Style != 0) && s.Node.Kind != yaml.SequenceNode &&
			(s.Node.Kind != yaml.ScalarNode || s.Node.ShortTag() == "!!null") {
			return s, true
		}
	}
	for _, s := range spots {
		if s.Node.Kind == yaml.MappingNode && (p.is(s.Node) || p.column == 0 && generators.MatchString(s.Pointer)) {
			return s, true
		}
	}
	return doc.Spot{}, false
}

// wholeValues reports whether a place is the values of a chart as a whole, where a value is to be added: the values,
// what names them, or an object that deploys the chart without values.
func wholeValues(o *report.Origin) bool {
	return len(o.Set) > 0 && strings.HasPrefix(o.Missing, jsonpointer.Join(o.Set...))
}

// values returns the map into which a value is written, and the keys that it lacks above the value. The map is a values
// file, or a part of the object that deploys the chart.
func (p place) values() (in doc.Spot, above string, ok bool) {
	if p.editor.Len() != 1 {
		return doc.Spot{}, "", false
	}
	in = p.editor.Document(0)
	_, charts := doc.Field(in.Node, "helmCharts")
	switch kind := doc.Text(in.Node, "kind"); {
	case kind == "HelmRelease":
		in, above = below(in, "spec"), "/values"
	case kind == "Application", kind == "ApplicationSet":
		spec := below(in, "spec")
		if kind == "ApplicationSet" {
			spec = below(below(spec, "template"), "spec")
		}
		if in = p.element(below(spec, "sources")); in.Node == nil {
			in = below(spec, "source")
		}
		helm := below(in, "helm")
		if below(helm, "values").Node != nil {
			return doc.Spot{}, "", false // the added field would have no effect
		}
		if above = "/helm/valuesObject"; helm.Node != nil {
			in, above = helm, "/valuesObject"
		}
	case charts != nil:
		in, above = p.element(below(in, "helmCharts")), "/valuesInline"
	case kind != "" || p.line != 1:
		return doc.Spot{}, "", false
	}
	return in, above, in.Node != nil && in.Node.Kind == yaml.MappingNode
}

// below returns a field of a map; its node is nil if the field does not exist.
func below(s doc.Spot, name string) doc.Spot {
	s.Pointer += jsonpointer.Join(name)
	if s.Node != nil {
		_, s.Node = doc.Field(s.Node, name)
	}
	return s
}

// element returns the element of a list that contains the place; its node is nil if none does.
func (p place) element(list doc.Spot) (in doc.Spot) {
	if list.Node == nil {
		return list
	}
	for i, n := range list.Node.Content {
		if n.Line <= p.line {
			in = doc.Spot{Document: list.Document, Pointer: list.Pointer + jsonpointer.Join(strconv.Itoa(i)), Node: n}
		}
	}
	return in
}
