package origin

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// texts are source files, read on first use.
type texts struct {
	read  func(path string) ([]byte, error)
	known map[string]*text
}

func newTexts(read func(path string) ([]byte, error)) texts { return texts{read, map[string]*text{}} }

// text is a source file as lines and as parsed documents.
type text struct {
	lines    []string
	binary   bool
	parse    func() // fills the fields below; nil: it has
	docs     []*yaml.Node
	index    map[position]*yaml.Node // scalars
	blocks   []*yaml.Node            // literal block scalars
	embedded map[*yaml.Node]*text    // parsed scalars that contain YAML

	entries *entries // nil: not made yet
}

type position struct{ line, column int }

func (x *texts) text(path string) *text {
	if t, ok := x.known[path]; ok {
		return t
	}
	t := &text{}
	x.known[path] = t
	data, err := x.read(path)
	if err != nil {
		return t
	}
	t.binary = !utf8.Valid(data)
	t.lines = strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(data), byteOrderMark), "\r\n", "\n"), "\n")
	t.parse = func() {
		t.index = map[position]*yaml.Node{}
		t.docs, _ = doc.Parse(path, data, doc.Limits{})
		for _, d := range t.docs {
			t.add(d)
		}
	}
	return t
}

// documents returns the parsed documents of a text.
func (t *text) documents() []*yaml.Node {
	if t.parse != nil {
		t.parse()
		t.parse = nil
	}
	return t.docs
}

// add indexes every scalar by its position.
func (t *text) add(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		t.index[position{n.Line, n.Column}] = n
		if n.Style&yaml.LiteralStyle != 0 {
			t.blocks = append(t.blocks, n)
		}
	}
	for _, c := range n.Content {
		t.add(c)
	}
}

// scalar returns the scalar at a position of the file, nil where there is none. The position may be in a block scalar
// that contains YAML, like a patch in a kustomization.
func (t *text) scalar(at position) *yaml.Node {
	t.documents()
	if n := t.index[at]; n != nil {
		return n
	}
	for _, n := range t.blocks {
		if n.Line < at.line && at.line <= n.Line+strings.Count(n.Value, "\n")+1 {
			return t.inner(n).index[at]
		}
	}
	return nil
}

// at returns the place of a node of a file.
func (x *texts) at(path string, n *yaml.Node, how How, role string) Place {
	p := Place{Path: path, StartLine: n.Line, EndLine: n.Line}
	if n.Kind == yaml.ScalarNode {
		p = x.span(path, n.Line, n.Column, n)
	} else {
		x.flow(&p, n.Column)
	}
	p.How, p.Role = how, role
	return p
}

// flow adds columns to the place of a map or list in flow style that starts at a column and ends on the same line.
func (x *texts) flow(p *Place, column int) {
	lines := x.text(p.Path).lines
	if p.StartLine < 1 || p.StartLine > len(lines) || column < 1 {
		return
	}
	line := []rune(lines[p.StartLine-1])
	rest := string(line[min(column-1, len(line)):])
	_, end, ok := doc.NewOffsets(rest).Span(&yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Line: 1, Column: 1})
	if ok && (rest[0] == '{' || rest[0] == '[') {
		p.StartColumn, p.EndColumn = column, column+utf8.RuneCountInString(rest[:end])
	}
}

// span returns the place of a scalar, with columns if it is on one line.
func (x *texts) span(path string, line, column int, n *yaml.Node) Place {
	p := Place{Path: path, StartLine: line, EndLine: line}
	t := x.text(path)
	if line < 1 || line > len(t.lines) {
		return p
	}
	if below := blockLines(n); below > 0 {
		p.EndLine = min(len(t.lines), line+below)
	} else {
		p.StartColumn, p.EndColumn = doc.Columns([]rune(t.lines[line-1]), column, n)
	}
	return p
}

// blockLines returns the number of lines of a block scalar below its mark, 0 for other scalars.
func blockLines(n *yaml.Node) int {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return 0
	}
	return strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
}

// inner parses a scalar's content as YAML, with positions in the file. In folded scalars, and in those with escapes
// that change the positions, all nodes have the position of the scalar.
func (t *text) inner(n *yaml.Node) *text {
	if in, ok := t.embedded[n]; ok {
		return in
	}
	in := &text{index: map[position]*yaml.Node{}, lines: t.lines}
	if t.embedded == nil {
		t.embedded = map[*yaml.Node]*text{}
	}
	t.embedded[n] = in
	docs, err := doc.Parse("", []byte(n.Value), doc.Limits{})
	if err != nil {
		return in
	}
	move := t.mover(n)
	done := map[*yaml.Node]bool{}
	for _, d := range docs {
		relocate(d, move, done)
		in.add(d)
	}
	in.docs = docs
	return in
}

// Inside returns the place of a line in a literal block scalar, given the place of the scalar: the line of a part of its
// value, which begins at an offset. It returns the given place where the value has no such part.
func (f *File) Inside(whole Place, offset int, part string) Place {
	t, n := f.text(f.path).block(whole.StartLine)
	blank := len(part) - len(strings.TrimLeft(part, " \n"))
	part = strings.TrimRight(part[blank:], " \n")
	offset += blank
	if n == nil || part == "" || strings.Contains(part, "\n") || !strings.HasPrefix(n.Value[min(offset, len(n.Value)):], part) {
		return whole
	}
	before := n.Value[:offset]
	line, column := t.mover(n)(strings.Count(before, "\n")+1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1)
	whole.StartLine, whole.EndLine = line, line
	whole.StartColumn, whole.EndColumn = column, column+utf8.RuneCountInString(part)
	return whole
}

// block returns the literal block scalar whose mark is on a line, and the text that it is in: the file, or another such
// scalar.
func (t *text) block(line int) (*text, *yaml.Node) {
	t.documents()
	for _, n := range t.blocks {
		switch {
		case n.Line == line:
			return t, n
		case n.Line < line && line <= n.Line+blockLines(n):
			return t.inner(n).block(line)
		}
	}
	return t, nil
}

// mover returns the function that maps positions in a scalar's value to positions in the file.
func (t *text) mover(n *yaml.Node) func(line, column int) (int, int) {
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		indent := 0
		for i := n.Line; i < len(t.lines); i++ {
			if strings.TrimSpace(t.lines[i]) != "" {
				indent = len(t.lines[i]) - len(strings.TrimLeft(t.lines[i], " "))
				break
			}
		}
		return func(line, column int) (int, int) { return line + n.Line, column + indent }
	case n.Style&yaml.FoldedStyle == 0 && n.Line >= 1 && n.Line <= len(t.lines):
		if columns := flowColumns([]rune(t.lines[n.Line-1]), n); columns != nil {
			starts := []int{0}
			for i, r := range []rune(n.Value) {
				if r == '\n' {
					starts = append(starts, i+1)
				}
			}
			return func(line, column int) (int, int) {
				if line < 1 || line > len(starts) || starts[line-1]+column-1 >= len(columns) {
					return n.Line, n.Column
				}
				return n.Line, columns[starts[line-1]+column-1]
			}
		}
	}
	return func(int, int) (int, int) { return n.Line, n.Column }
}

// flowColumns returns the column of each character of a flow scalar's value, nil where the scalar is not on one line.
func flowColumns(line []rune, n *yaml.Node) []int {
	at := n.Column - 1
	if at < 0 || at >= len(line) {
		return nil
	}
	quote := rune(0)
	if line[at] == '"' || line[at] == '\'' {
		quote = line[at]
		at++
	}
	var columns []int
	for _, r := range n.Value {
		if at >= len(line) {
			return nil
		}
		columns = append(columns, at+1)
		switch {
		case quote == '"' && line[at] == '\\':
			if at+1 >= len(line) || !strings.ContainsRune(`nt"\/`, line[at+1]) {
				return nil
			}
			at += 2
		case quote == '\'' && r == '\'':
			at += 2
		case line[at] != r:
			return nil
		default:
			at++
		}
	}
	return columns
}

func relocate(n *yaml.Node, move func(line, column int) (int, int), done map[*yaml.Node]bool) {
	if done[n] {
		return
	}
	done[n] = true
	n.Line, n.Column = move(n.Line, n.Column)
	for _, c := range n.Content {
		relocate(c, move, done)
	}
}
