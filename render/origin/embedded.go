package origin

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

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
