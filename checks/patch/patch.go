// Package patch puts what a finding suggests into the lines of a source file: at its place, with its indentation.
//
// It knows no rules and no rendering. It is given the place that a field is written at and the value to write, and
// returns nothing where it is not sure that this is what the lines would say.
package patch

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// maxBytes is the size of the files that are read.
const maxBytes = 1 << 20

// File is a source file, read once for all suggestions in it.
type File struct {
	lines  []string
	at     map[position][]spot
	counts map[string]int // see count
	read   int            // lines that were read again
}

type position struct{ line, column int }

// spot is a node that begins at a position: the value of a key there, or what is there itself.
type spot struct {
	key  *yaml.Node // nil for an element of a list, or a document
	node *yaml.Node
	in   *yaml.Node // the mapping or list around it, nil for a document
}

// Read reads a file; nil for one that is too large or no YAML.
func Read(data []byte) *File {
	if len(data) > maxBytes {
		return nil
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	documents, ok := parse(text)
	if !ok {
		return nil
	}
	f := &File{lines: strings.Split(text, "\n"), at: map[position][]spot{}, counts: map[string]int{}}
	for _, d := range documents {
		f.index(d, nil)
	}
	return f
}

func parse(text string) (list []*yaml.Node, ok bool) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var d yaml.Node
		err := decoder.Decode(&d)
		switch {
		case err != nil && err.Error() == "EOF":
			return list, true
		case err != nil:
			return nil, false
		case len(d.Content) > 0:
			list = append(list, d.Content[0])
		}
	}
}

func (f *File) index(n, in *yaml.Node) {
	f.add(n, spot{node: n, in: in})
	for i, c := range n.Content {
		switch n.Kind {
		case yaml.MappingNode:
			if i%2 == 1 {
				f.add(n.Content[i-1], spot{key: n.Content[i-1], node: c, in: n})
				f.index(c, n)
			}
		case yaml.SequenceNode:
			f.index(c, n)
		}
	}
}

func (f *File) add(at *yaml.Node, s spot) {
	p := position{at.Line, at.Column}
	f.at[p] = append(f.at[p], s)
}

// Diff returns the lines to take out and to put in, nil where they are not known.
func (f *File) Diff(o *report.Origin, field string, s *report.Suggestion) *report.Diff {
	if f == nil || o == nil || o.StartLine < 1 || o.StartLine > len(f.lines) || o.StartColumn < 1 ||
		o.StartLine != o.EndLine {
		return nil
	}
	var value any
	if !s.Remove && yaml.Unmarshal([]byte(s.YAML), &value) != nil {
		return nil
	}
	below, ok := jsonpointer.Below(s.Field, field)
	switch {
	case !ok:
		return nil
	case s.Remove && o.Missing == "" && below == "":
		return f.remove(o)
	case s.Remove:
		return nil
	case o.Missing != "" || below != "":
		return f.insert(o, o.Missing+below, value)
	}
	return f.replace(o, s.Was, value)
}

// replace writes another value in the place of a scalar.
func (f *File) replace(o *report.Origin, was string, value any) *report.Diff {
	s, ok := f.scalar(o)
	var old any
	if !ok || was == "" || yaml.Unmarshal([]byte(was), &old) != nil {
		return nil
	}
	var have any
	if s.node.Decode(&have) != nil || !reflect.DeepEqual(have, old) {
		return nil // the line holds a part of the value, or what it is made of
	}
	text, ok := flow(value)
	if !ok {
		return nil
	}
	line := []rune(f.lines[o.StartLine-1])
	next := string(line[:o.StartColumn-1]) + text + string(line[o.EndColumn-1:])
	return f.checked(&report.Diff{Line: o.StartLine, Removed: []string{string(line)}, Added: []string{next}})
}

// scalar is the scalar that a place is.
func (f *File) scalar(o *report.Origin) (spot, bool) {
	for _, s := range f.at[position{o.StartLine, o.StartColumn}] {
		n := s.node
		if n.Kind == yaml.ScalarNode && n.Line == o.StartLine && n.Column == o.StartColumn && n.Anchor == "" &&
			n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && o.EndColumn > o.StartColumn &&
			o.EndColumn-1 <= len([]rune(f.lines[o.StartLine-1])) {
			return s, true
		}
	}
	return spot{}, false
}

// remove takes a line out that holds nothing but a scalar with its key, or an element of a list.
func (f *File) remove(o *report.Origin) *report.Diff {
	s, ok := f.scalar(o)
	if !ok || s.in == nil || s.in.Style&yaml.FlowStyle != 0 {
		return nil
	}
	line := []rune(f.lines[o.StartLine-1])
	before, behind := strings.TrimSpace(string(line[:o.StartColumn-1])), strings.TrimSpace(string(line[o.EndColumn-1:]))
	if behind != "" && !strings.HasPrefix(behind, "#") {
		return nil
	}
	switch s.in.Kind {
	case yaml.SequenceNode:
		if before != "-" || len(s.in.Content) < 2 {
			return nil
		}
	case yaml.MappingNode:
		if strings.HasPrefix(before, "- ") || !strings.HasSuffix(before, ":") || len(s.in.Content) < 4 {
			return nil
		}
	}
	return f.checked(&report.Diff{Line: o.StartLine, Removed: []string{string(line)}})
}

// insert writes a value below what a place is, at a pointer that does not exist there.
func (f *File) insert(o *report.Origin, missing string, value any) *report.Diff {
	var key string
	content := value
	var tokens []string
	for t := range jsonpointer.Tokens(missing) {
		tokens = append(tokens, t)
	}
	for i := len(tokens) - 1; i >= 0; i-- {
		if _, err := strconv.Atoi(tokens[i]); err == nil {
			if i == 0 || tokens[i] != "0" {
				return nil
			}
			content = []any{content}
			continue
		}
		if key = tokens[i]; i > 0 {
			content = map[string]any{key: content}
		}
	}
	holder, ok := f.holder(o)
	if !ok {
		return nil
	}
	m := holder.node
	switch {
	case m.Kind == yaml.ScalarNode && m.ShortTag() == "!!null" && m.Value == "" && holder.key != nil:
		return f.added(o.StartLine+1, holder.key.Column+1, key, content)
	case m.Kind != yaml.MappingNode || m.Anchor != "":
		return nil
	case m.Style&yaml.FlowStyle != 0:
		return f.insertFlow(m, key, content)
	}
	last, n := m.Content[len(m.Content)-1], len(m.Content)
	first := m.Content[0]
	switch {
	case last.Kind == yaml.ScalarNode && last.Line == m.Content[n-2].Line && f.ends(last):
		return f.added(last.Line+1, first.Column-1, key, content)
	case holder.key != nil && first.Line > holder.key.Line:
		return f.added(holder.key.Line+1, first.Column-1, key, content)
	case n > 2 && m.Content[2].Line > first.Line:
		return f.added(m.Content[2].Line, first.Column-1, key, content)
	}
	return nil
}

// ends reports whether a scalar ends on the line it begins on.
func (f *File) ends(n *yaml.Node) bool {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return false
	}
	return strings.Contains(f.lines[n.Line-1], n.Value) || n.Value == "" && n.Style == 0
}

// holder is the mapping that a place names by its key, or begins.
func (f *File) holder(o *report.Origin) (spot, bool) {
	list := f.at[position{o.StartLine, o.StartColumn}]
	for _, s := range list {
		if s.key != nil && o.EndColumn-o.StartColumn == len([]rune(s.key.Value)) && s.node.Kind != yaml.SequenceNode &&
			(s.node.Kind != yaml.ScalarNode || s.node.ShortTag() == "!!null") {
			return s, true
		}
	}
	for _, s := range list {
		if s.key == nil && s.node.Kind == yaml.MappingNode {
			return s, true
		}
	}
	return spot{}, false
}

// added is a key with its value, before a line.
func (f *File) added(line, indent int, key string, value any) *report.Diff {
	text, ok := Text(map[string]any{key: value})
	if !ok {
		return nil
	}
	var rows []string
	for _, row := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		rows = append(rows, strings.Repeat(" ", indent)+row)
	}
	d := &report.Diff{Line: line, Added: rows}
	if line > 1 {
		d.Above = f.lines[line-2]
	}
	return f.checked(d)
}

// insertFlow writes a key into {a: b}.
func (f *File) insertFlow(m *yaml.Node, key string, value any) *report.Diff {
	text, ok := flow(map[string]any{key: value})
	if !ok {
		return nil
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	line := f.lines[m.Line-1]
	runes := []rune(line)
	rest := string(runes[m.Column-1:])
	at := strings.IndexByte(rest, '}')
	if at < 0 || strings.ContainsAny(rest[1:at], "{\"'#") {
		return nil // nested, or text that could hold a brace
	}
	if len(m.Content) > 0 {
		text = ", " + text
	}
	next := string(runes[:m.Column-1]) + strings.TrimRight(rest[:at], " ") + text + rest[at:]
	return f.checked(&report.Diff{Line: m.Line, Removed: []string{line}, Added: []string{next}})
}

// checked is a difference after which the file still is YAML with as many documents.
func (f *File) checked(d *report.Diff) *report.Diff {
	if d.Line > len(f.lines)+1 {
		return nil
	}
	from, to := f.document(d.Line - 1)
	old := f.lines[from:to]
	rows := slices.Concat(old[:d.Line-1-from], d.Added, old[d.Line-1-from+len(d.Removed):])
	if before, after := f.count(from, old), f.count(from, rows); after < 0 || before != after {
		return nil
	}
	for _, row := range append(append([]string{d.Above}, d.Removed...), d.Added...) {
		if len(row) > maxLine {
			return nil
		}
	}
	return d
}

// count returns how many documents some lines are that begin at a line of the file; -1 where they are no YAML, or too
// much was read already. What several findings suggest is read once.
func (f *File) count(from int, lines []string) int {
	text := strings.Join(lines, "\n")
	key := strconv.Itoa(from) + "\n" + text
	if n, ok := f.counts[key]; ok {
		return n
	}
	n := -1
	if f.read += len(lines); f.read <= maxRead {
		if documents, ok := parse(text); ok {
			n = len(documents)
		}
	}
	if len(text) < maxKept {
		f.counts[key] = n
	}
	return n
}

// maxKept is the size of the texts that are kept.
const maxKept = 16 << 10

// document returns the lines of the document around a line, from 0; the line behind the last is the last one's.
func (f *File) document(line int) (from, to int) {
	for from = min(line, len(f.lines)-1); from > 0 && !marks(f.lines[from]); from-- {
	}
	if from == line && from > 0 && marks(f.lines[from]) { // what is added there stands behind the document before
		for from--; from > 0 && !marks(f.lines[from]); from-- {
		}
		return from, line
	}
	for to = from + 1; to < len(f.lines) && !marks(f.lines[to]); to++ {
	}
	return from, max(to, min(line, len(f.lines)))
}

func marks(line string) bool { return strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...") }

// maxRead is how many lines of one file are read again to look whether they still are YAML.
const maxRead = 1 << 20

// maxLine is how long a line may be that is shown.
const maxLine = 300

// Text is a value as YAML in block style.
func Text(value any) (string, bool) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(value) != nil || e.Close() != nil {
		return "", false
	}
	return b.String(), true
}

// flow is a value as YAML on one line.
func flow(value any) (string, bool) {
	var n yaml.Node
	if n.Encode(value) != nil {
		return "", false
	}
	inline(&n)
	text, ok := Text(&n)
	text = strings.TrimSuffix(text, "\n")
	return text, ok && !strings.Contains(text, "\n")
}

func inline(n *yaml.Node) {
	n.Style |= yaml.FlowStyle
	for _, c := range n.Content {
		if c.Kind == yaml.MappingNode || c.Kind == yaml.SequenceNode {
			inline(c)
		}
	}
	if n.Kind == yaml.ScalarNode {
		n.Style &^= yaml.FlowStyle
	}
}
