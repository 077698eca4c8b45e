package origin

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// texts are source files, read at the first question.
type texts struct {
	read  func(path string) ([]byte, error)
	known map[string]*text
}

func newTexts(read func(path string) ([]byte, error)) texts { return texts{read, map[string]*text{}} }

// text is a source file as lines and as parsed documents.
type text struct {
	lines  []string
	binary bool
	docs   []*yaml.Node
	index  map[position]indexed
	blocks []*yaml.Node         // literal block scalars
	inlay  map[*yaml.Node]*text // scalars that hold YAML, parsed
}

type position struct{ line, column int }

type indexed struct{ key, value *yaml.Node }

func (x *texts) text(path string) *text {
	if t, ok := x.known[path]; ok {
		return t
	}
	t := &text{index: map[position]indexed{}}
	x.known[path] = t
	data, err := x.read(path)
	if err != nil {
		return t
	}
	t.binary = !utf8.Valid(data)
	t.lines = strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(data), byteOrderMark), "\r\n", "\n"), "\n")
	t.docs, _ = source.Parse(path, data, source.Limits{})
	for _, d := range t.docs {
		t.add(nil, d)
	}
	return t
}

// add indexes every node by where it stands; of nodes at the same place (a map and its first key) the scalar counts.
func (t *text) add(key, n *yaml.Node) {
	at := position{n.Line, n.Column}
	if n.Kind == yaml.ScalarNode && n.Style&yaml.LiteralStyle != 0 {
		t.blocks = append(t.blocks, n)
	}
	if n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode {
		t.index[at] = indexed{key, n}
	} else if _, ok := t.index[at]; !ok {
		t.index[at] = indexed{key, n}
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			t.index[position{n.Content[i].Line, n.Content[i].Column}] = indexed{n.Content[i], n.Content[i]}
			t.add(n.Content[i], n.Content[i+1])
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			t.add(nil, c)
		}
	}
}

// block returns the index of the YAML inside the block scalar that a line lies in.
func (t *text) block(line int) *text {
	for _, n := range t.blocks {
		if n.Line < line && line <= n.Line+strings.Count(n.Value, "\n")+1 {
			return t.inner(n)
		}
	}
	return nil
}

// at is the place of a node that stands in its file as it is.
func (x *texts) at(path string, n *yaml.Node, how How, role string) Place {
	line, column := n.Line, n.Column
	scalar := n
	if n.Kind != yaml.ScalarNode {
		p := Place{Path: path, StartLine: line, EndLine: line, How: how, Role: role}
		x.flow(&p, column)
		return p
	}
	p := x.span(path, line, column, scalar)
	p.How, p.Role = how, role
	return p
}

// flow gives the place of a map or list in flow style its columns.
func (x *texts) flow(p *Place, column int) {
	if lines := x.text(p.Path).lines; p.StartLine >= 1 && p.StartLine <= len(lines) {
		if end := flowEnd([]rune(lines[p.StartLine-1]), column); end > 0 {
			p.StartColumn, p.EndColumn = column, end
		}
	}
}

// span is the place of a source scalar, with its columns where it stands on one line.
func (x *texts) span(path string, line, column int, n *yaml.Node) Place {
	p := Place{Path: path, StartLine: line, EndLine: line}
	t := x.text(path)
	if line < 1 || line > len(t.lines) {
		return p
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		p.EndLine = max(line, lastLine(n))
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		p.EndLine = min(len(t.lines), line+strings.Count(strings.TrimRight(n.Value, "\n"), "\n")+1)
	default:
		p.StartColumn, p.EndColumn = columns([]rune(t.lines[line-1]), column, n)
		if p.EndColumn == 0 { // a flow scalar over several lines
			p.StartColumn = 0
		}
	}
	return p
}

// columns finds the end of a flow scalar that starts at a column.
func columns(line []rune, column int, n *yaml.Node) (int, int) {
	start := column - 1
	if start < 0 || start >= len(line) {
		return 0, 0
	}
	switch {
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && (line[start] == '"' || line[start] == '\''):
		quote := line[start]
		for i := start + 1; i < len(line); i++ {
			switch {
			case line[i] == '\\' && quote == '"':
				i++
			case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
				i++
			case line[i] == quote:
				return column, i + 2
			}
		}
		return 0, 0
	case strings.HasPrefix(string(line[start:]), n.Value):
		return column, column + len([]rune(n.Value))
	default: // a tag or an anchor stands before the value
		if i := strings.Index(string(line[start:]), n.Value); i > 0 && n.Value != "" {
			at := column + len([]rune(string(line[start:])[:i]))
			return at, at + len([]rune(n.Value))
		}
		return 0, 0
	}
}

// flowEnd returns the column behind a map or list in flow style that starts at a column and ends on the same line, 0
// for others.
func flowEnd(line []rune, column int) int {
	depth, quote := 0, rune(0)
	for i := column - 1; i >= 0 && i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.ContainsRune(" {[,:", line[max(i-1, 0)]):
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 2
			}
		}
		if depth == 0 {
			return 0
		}
	}
	return 0
}

// lastLine is the highest line of a node's content, aliases not followed.
func lastLine(n *yaml.Node) int {
	line := n.Line
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line += strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
	}
	for _, c := range n.Content {
		line = max(line, lastLine(c))
	}
	return line
}
