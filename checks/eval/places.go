package eval

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// placing finds where the fields of an object are written. The document is parsed again when the first place is needed,
// since the fast parser keeps no lines.
type placing struct {
	at    *placed
	doc   policy.Document
	state int // 0: not parsed, 1: parsed, 2: not found
}

// of returns the places of fields; nil if they cannot be found.
func (p *placing) of(fields []string) []report.EvaluationPlace {
	if p.state == 0 {
		p.state = 2
		if doc, ok := p.at.document(); ok {
			p.doc, p.state = doc, 1
		}
	}
	if p.state == 2 {
		return nil
	}
	out := make([]report.EvaluationPlace, len(fields))
	for i, field := range fields {
		out[i] = p.place(field)
	}
	return out
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
