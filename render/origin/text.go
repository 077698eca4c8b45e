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
