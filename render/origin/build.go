package origin

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// Build answers the places of one root's resources. What it needs of the sources it reads at the first
// question and keeps. It is not safe for concurrent use.
type Build struct {
	files    *FileSet // nil: a plain file, whose nodes have their own lines
	plain    string   // path of the plain file
	root     *Layer
	rendered []*yaml.Node
	manifest map[string]bool // files that are listed as resources
	read     func(path string) ([]byte, error)
	texts    map[string]*text
	items    map[string][]*item // what the simulation made, by the rendered name
	owners   map[*yaml.Node]*item
}

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

// NewBuild answers the origins of a kustomization's build. The files are those that were handed to kustomize, the
// rendered nodes what it answered, and read answers a file of the tree.
func NewBuild(files *FileSet, root *Layer, rendered []*yaml.Node, read func(path string) ([]byte, error)) *Build {
	b := &Build{files: files, root: root, rendered: rendered, read: read, texts: map[string]*text{}, manifest: map[string]bool{}}
	b.addManifests(root)
	return b
}

func (b *Build) addManifests(l *Layer) {
	for _, part := range l.Resources {
		if part.Layer != nil {
			b.addManifests(part.Layer)
		} else {
			b.manifest[part.Path] = true
		}
	}
	for _, c := range l.Components {
		b.addManifests(c)
	}
}

// owner answers what the steps made a rendered resource of, nil if they do not know it.
func (b *Build) owner(resource *yaml.Node) *item {
	if b.owners == nil {
		s := &simulation{b: b, defaults: defaultSpecs()}
		custom := specs{}
		items := s.layer(b.root, nil, custom)
		s.metadata(items)
		nodes := make([]*yaml.Node, len(b.rendered))
		for i, n := range b.rendered {
			nodes[i] = content(n)
		}
		b.owners = s.resolve(items, nodes)
		s.resolveVars(items, union(s.defaults["varReference"], custom["varReference"]))
		b.items = map[string][]*item{}
		for _, i := range items {
			name := i.id().name
			b.items[name] = append(b.items[name], i)
		}
	}
	return b.owners[resource]
}

// NewPlainBuild answers the origins of a manifest file that is deployed as it is.
func NewPlainBuild(path string, data []byte) *Build {
	return &Build{plain: path, texts: map[string]*text{}, read: func(string) ([]byte, error) { return data, nil }}
}

func (b *Build) text(path string) *text {
	if t, ok := b.texts[path]; ok {
		return t
	}
	t := &text{index: map[position]indexed{}}
	b.texts[path] = t
	data, err := b.read(path)
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

// add indexes every node by where it stands; of nodes at the same place (a map and its first key) the scalar
// counts.
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

// parsed answers the documents of a manifest file, lists taken apart.
func (b *Build) parsed(path string) []*yaml.Node {
	var nodes []*yaml.Node
	for _, d := range b.text(path).docs {
		if strings.HasSuffix(source.Text(d, "kind"), "List") {
			if items := source.Items(d, "items"); len(items) > 0 {
				nodes = append(nodes, items...)
				continue
			}
		}
		nodes = append(nodes, d)
	}
	return nodes
}

// position answers where a rendered node stands in its file, if it came from one.
func (b *Build) position(n *yaml.Node) (path string, line, column int, ok bool) {
	if b.files == nil {
		return b.plain, n.Line, n.Column, n.Line > 0
	}
	return b.files.Position(n.Line, n.Column)
}

// sameScalar answers the place of a rendered scalar whose source still says the same. A node that kustomize
// changed in place keeps the line of what it was.
func (b *Build) sameScalar(n *yaml.Node) (Place, bool) {
	path, line, column, ok := b.position(n)
	if !ok {
		return Place{}, false
	}
	found, ok := b.source(path, line, column)
	if !ok || found.Value != n.Value {
		return Place{}, false
	}
	return b.span(path, line, column, found), true
}

// source finds the scalar at a position of a file. Inside a kustomization it may be a line of a patch
// in a block scalar, which is parsed for itself.
func (b *Build) source(path string, line, column int) (*yaml.Node, bool) {
	t := b.text(path)
	if found, ok := t.index[position{line, column}]; ok && found.value.Kind == yaml.ScalarNode {
		return found.value, true
	}
	if line < 1 || line > len(t.lines) {
		return nil, false
	}
	if inner := t.block(line); inner != nil {
		if found, ok := inner.index[position{line, column}]; ok && found.value.Kind == yaml.ScalarNode {
			return found.value, true
		}
	}
	return nil, false
}

// block answers the index of the YAML inside the block scalar that a line lies in.
func (t *text) block(line int) *text {
	for _, n := range t.blocks {
		if n.Line < line && line <= n.Line+strings.Count(n.Value, "\n")+1 {
			return t.inner(n)
		}
	}
	return nil
}

// span is the place of a source scalar, with its columns where it stands on one line.
func (b *Build) span(path string, line, column int, n *yaml.Node) Place {
	p := Place{Path: path, StartLine: line, EndLine: line}
	t := b.text(path)
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

// flowEnd answers the column behind a map or list in flow style that starts at a column and ends on the same line, 0
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
