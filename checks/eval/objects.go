package eval

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// Objects are parsed by one of two parsers. A small one for the style that tools print (kustomize, helm, kubectl: block
// style, one scalar per line) is many times faster than a YAML parser. It detects everything that it does not support,
// and leaves such a document to the YAML parser, so that both give the same result.

// objects yields the objects of a file in order, with their places. It replaces objects whose kind ends in "List" by
// their items, and skips documents without a kind. An unreadable document is yielded as a problem, and the rest of the
// file is still read. Callers may change the objects.
func objects(src rules.File) iter.Seq2[placed, *policy.Problem] {
	return func(yield func(placed, *policy.Problem) bool) {
		if len(src.Data) > rules.MaxBytes {
			p := rules.TooLarge(src.Path)
			yield(placed{}, &p)
			return
		}
		if !cuttable(src.Data) {
			(&part{text: string(src.Data)}).parse(src, yield)
			return
		}
		line := 0
		for text := string(src.Data); text != ""; {
			p := &part{line: line}
			p.text, text = cut(text)
			if o, ok := quick(p.text); ok {
				if o != nil && !p.expand(o, 0, yield) {
					return
				}
			} else if !p.parse(rules.File{Path: src.Path, Data: []byte(p.text)}, yield) {
				return
			}
			line += strings.Count(p.text, "\n")
		}
	}
}

// allObjects collects the objects and the problems of files.
func allObjects(sources ...rules.File) (list []admission.Object, problems []policy.Problem) {
	for _, s := range sources {
		for o, p := range objects(s) {
			if p != nil {
				problems = append(problems, *p)
			} else {
				list = append(list, o.Object)
			}
		}
	}
	return list, problems
}

// parse reads the part with the YAML parser.
func (p *part) parse(src rules.File, yield func(placed, *policy.Problem) bool) bool {
	docs, problems := src.Documents()
	p.docs = docs
	for i := range problems {
		if problems[i].Line > 0 {
			problems[i].Line += p.line
		}
		if !yield(placed{}, &problems[i]) {
			return false
		}
	}
	for _, d := range docs {
		if o, ok := d.Value().(map[string]any); ok && !p.yield(o, yield) {
			return false
		}
	}
	return true
}

// yield yields the next object of the part.
func (p *part) yield(o admission.Object, yield func(placed, *policy.Problem) bool) bool {
	p.objects++
	return yield(placed{o, p, p.objects - 1}, nil)
}

// cuttable reports whether a file can be split at its document markers without parsing: it is text without directives
// and document ends.
func cuttable(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 && !bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) &&
		!bytes.HasPrefix(data, []byte("%")) && !bytes.Contains(data, []byte("\n%")) &&
		!bytes.HasPrefix(data, []byte("...")) && !bytes.Contains(data, []byte("\n..."))
}

// cut splits off the first document. A line that begins with "---" begins the next one, even in a scalar
// (https://yaml.org/spec/1.2.2/#912-document-markers).
func cut(text string) (first, rest string) {
	for at := 0; ; {
		i := strings.Index(text[at:], "\n---")
		if i < 0 {
			return text, ""
		}
		at += i + 1
		if at+3 == len(text) || strings.IndexByte(" \t\r\n", text[at+3]) >= 0 {
			return text[:at], text[at:]
		}
	}
}

// expand yields an object, or the items when it is a list.
func (p *part) expand(o admission.Object, depth int, yield func(placed, *policy.Problem) bool) bool {
	kind, _ := o["kind"].(string)
	if kind == "" || depth > 3 {
		return true
	}
	items, ok := o["items"].([]any)
	if !ok || !strings.HasSuffix(kind, "List") {
		return p.yield(o, yield)
	}
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && !p.expand(m, depth+1, yield) {
			return false
		}
	}
	return true
}

// namespacesOf finds the Namespaces in files. It does not parse documents that do not contain the kind, and reports no
// errors: reading all of the files does.
func namespacesOf(sources []rules.File) (out []admission.Object) {
	const kind = "Namespace"
	for _, src := range sources {
		if !bytes.Contains(src.Data, []byte(kind)) || len(src.Data) > rules.MaxBytes {
			continue
		}
		if cuttable(src.Data) {
			var b strings.Builder
			for text := string(src.Data); text != ""; {
				var first string
				if first, text = cut(text); strings.Contains(first, kind) {
					b.WriteString(first)
				}
			}
			src.Data = []byte(b.String())
		}
		for o := range objects(src) {
			if o.Object["kind"] == kind && o.Object["apiVersion"] == "v1" {
				out = append(out, o.Object)
			}
		}
	}
	return out
}

// placed is an object with the part of its file that contains it.
type placed struct {
	Object admission.Object
	part   *part
	index  int // of the object in the part
}

// part is a document of a file, or the whole file if it cannot be split. If the fast parser read it, it is parsed again
// when a place is needed, once for all of its objects, since a list can have thousands. It is not safe for concurrent
// use.
type part struct {
	text    string
	line    int // number of lines of the file before it
	objects int // number of yielded objects

	docs []policy.Document
	rows [][]rune
}

// lines are those of the part. A manifest on one line has a single long one.
func (p *part) lines() [][]rune {
	if p.rows == nil {
		for row := range strings.SplitSeq(p.text, "\n") {
			p.rows = append(p.rows, []rune(strings.TrimSuffix(row, "\r")))
		}
	}
	return p.rows
}

// document returns the object with its lines, counted from the beginning of the part; false if it is not found.
func (p *placed) document() (policy.Document, bool) {
	if p.part.docs == nil { // the fast parser keeps no lines
		p.part.docs, _ = rules.File{Data: []byte(p.part.text)}.Documents() // errors were reported before
	}
	if p.index >= len(p.part.docs) {
		return policy.Document{}, false
	}
	return p.part.docs[p.index], true
}

// placing finds where the fields of an object are written.
type placing struct {
	at  *placed
	doc policy.Document // set by of
}

// of returns the places of fields; nil if they cannot be found.
func (p *placing) of(fields []string) []report.EvaluationPlace {
	var ok bool
	if p.doc, ok = p.at.document(); !ok {
		return nil
	}
	return report.Mapped(fields, p.place)
}

// place returns the place of one field: its value, or the key of a value of several lines, or the nearest parent of a
// missing field.
func (p *placing) place(field string) report.EvaluationPlace {
	out := report.EvaluationPlace{Field: field}
	key, value := p.doc.Node, p.doc.Node
	for token := range jsonpointer.Tokens(field) {
		k, v := child(value, token)
		if v == nil {
			out.Missing = true
			break
		}
		key, value = k, v
	}
	at, end := key, 0
	switch {
	case key == p.doc.Node: // for the whole object, its kind is more informative than its first line
		if k, v := child(value, "kind"); v != nil {
			at, end = k, k.Column+utf8.RuneCountInString(k.Value)
		}
	case value.Kind == yaml.ScalarNode && !out.Missing:
		if n := p.endOf(value); n > 0 {
			at, end = value, n
		}
	}
	if end == 0 && at.Kind == yaml.ScalarNode {
		end = p.endOf(at)
	}
	out.Line, out.Column, out.EndColumn = p.at.part.line+at.Line, at.Column, end
	return out
}

// child returns the key or list item for a token, and the value; nil if there is none.
func child(n *yaml.Node, token string) (key, value *yaml.Node) {
	if i, ok := jsonpointer.Index(token, len(n.Content)); ok && n.Kind == yaml.SequenceNode {
		return n.Content[i], n.Content[i]
	}
	return doc.Field(n, token)
}

// endOf returns the column after a scalar on one line; 0 for other nodes.
func (p *placing) endOf(n *yaml.Node) int {
	lines := p.at.part.lines()
	if n.Line < 1 || n.Line > len(lines) || n.Column < 1 || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return 0
	}
	row := lines[n.Line-1]
	if n.Column > len(row) {
		return 0
	}
	start, end := doc.Columns(row, n.Column, n)
	if start != n.Column || n.Value == "" && n.Style == 0 {
		return 0
	}
	return end
}

// unmeasured removes columns that reveal the length of a Secret's values.
func unmeasured(apiVersion string, places []report.EvaluationPlace) {
	for i := range places {
		if mask.InData(apiVersion, places[i].Field) {
			places[i].EndColumn = 0
		}
	}
}

// Limits of the shown lines around the places of results.
const (
	maxExcerpts = 20
	around      = 2
)

// excerpt stores the masked lines around the places of a result.
func (r *recorder) excerpt(path string, p *placing, places []report.EvaluationPlace) {
	if r.shown >= maxExcerpts || len(places) == 0 {
		return
	}
	r.shown++
	part := p.at.part
	if r.masked.of != part { // a list can hold thousands of objects
		r.masked.of, r.masked.rows = part, mask.Read(path, []byte(part.text), mask.Plain).Lines()
	}
	rows := r.masked.rows
	if r.Excerpts == nil {
		r.Excerpts = map[string]map[int]string{}
	}
	if r.Excerpts[path] == nil {
		r.Excerpts[path] = map[int]string{}
	}
	for _, place := range places[:min(len(places), maxExcerpts)] {
		at := place.Line - part.line
		for n := max(1, at-around); n <= min(len(rows), at+around); n++ {
			if row := strings.TrimSuffix(rows[n-1], "\r"); n < len(rows) || row != "" {
				r.Excerpts[path][part.line+n] = row
			}
		}
	}
}
