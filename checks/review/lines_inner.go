package review

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
)

// innerLines is YAML in a block scalar, for example values of a chart in an Application or a ConfigMap.
type innerLines struct {
	*Lines
	around *Lines
	above  int // number of lines of the file before the text
	indent int

	template bool // its places are whole lines
}

// has reports whether a place is in the file: one line or a part of it, or whole values of a chart.
func (f *Lines) has(o *report.Origin) bool {
	return f != nil && o != nil && o.StartLine >= 1 && o.StartLine <= len(f.lines) &&
		(wholeValues(o) || o.StartLine == o.EndLine)
}

// within returns the block scalar that contains a place, and the place in it; nil if no block scalar does.
func (f *Lines) within(o *report.Origin) (*innerLines, *report.Origin) {
	if !f.has(o) {
		return nil, nil
	}
	editor, before := f.editor(o.StartLine)
	if o.StartColumn > 0 && len(editor.At(o.StartLine-before, o.StartColumn)) > 0 {
		return nil, nil
	}
	for i := range editor.Len() {
		if n := textAt(editor, editor.Document(i).Node, o.StartLine-before); n != nil {
			in, at := f.innerOf(n, before), *o
			if at.StartLine = max(1, o.StartLine-in.above); o.StartColumn > 0 {
				at.StartColumn, at.EndColumn = o.StartColumn-in.indent, o.EndColumn-in.indent
			}
			at.EndLine = at.StartLine
			in.narrow(&at)
			return in, &at
		}
	}
	return nil, nil
}

// narrow sets the columns of a place in a template, which is a whole line, to those of the only value of the line.
func (in *innerLines) narrow(o *report.Origin) {
	if !in.template || o.StartColumn > 0 || o.Missing != "" || wholeValues(o) {
		return
	}
	editor, before := in.editor(o.StartLine)
	found := map[string]*yaml.Node{}
	for _, s := range editor.At(o.StartLine-before, 0) {
		if n := s.Node; s.Key != nil && n.Kind == yaml.ScalarNode && n.Value != "" && n.Line == o.StartLine-before {
			found[s.Pointer] = n
		}
	}
	if len(found) == 1 {
		for _, n := range found {
			o.StartColumn, o.EndColumn = n.Column, n.Column+1
		}
	}
}

// textAt returns the literal block scalar at or below n that contains a line; nil if there is none.
func textAt(e *doc.Editor, n *yaml.Node, line int) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Style&yaml.LiteralStyle != 0 && n.Line <= line {
		if _, end, ok := e.Span(n); ok && line <= 1+strings.Count(e.Text[:end], "\n") {
			return n
		}
	}
	for _, c := range n.Content {
		if found := textAt(e, c, line); found != nil {
			return found
		}
	}
	return nil
}

func (f *Lines) innerOf(n *yaml.Node, before int) *innerLines {
	above := before + n.Line
	if f.inner[above] != nil {
		return f.inner[above]
	}
	in := &innerLines{around: f, above: above}
	f.inner[above] = in
	count := strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
	rows := append([]string(nil), f.lines[above:min(above+count, len(f.lines))]...)
	for i, row := range rows {
		if trimmed := strings.TrimLeft(row, " "); in.indent == 0 && trimmed != "" {
			in.indent = len(row) - len(trimmed)
		}
		rows[i] = row[min(in.indent, len(row)):]
	}
	if in.Lines = LinesOf([]byte(strings.Join(rows, "\n"))); in.Lines == nil { // it may be a template: leave its statements out
		for i, row := range rows {
			if row = strings.TrimSpace(row); strings.HasPrefix(row, "{{") && strings.HasSuffix(row, "}}") {
				rows[i] = "#" + row
			}
		}
		in.Lines = LinesOf([]byte(strings.Join(rows, "\n")))
		in.template = in.Lines != nil
	}
	return in
}

// outside converts an edit of the inner text to an edit of the file.
func (in *innerLines) outside(d *report.Diff) *report.Diff {
	if d == nil {
		return nil
	}
	d.Line += in.above
	if len(d.Removed) == 0 {
		d.Above = in.around.lines[d.Line-2]
	}
	for _, rows := range [][]string{d.Removed, d.Added} {
		for i, row := range rows {
			if row != "" {
				rows[i] = strings.Repeat(" ", in.indent) + row
			}
		}
	}
	return d
}
