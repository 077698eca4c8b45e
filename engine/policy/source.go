package policy

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits on what is read. They are far above any real policy (an object of the Kubernetes API server is at
// most 1.5 MiB in etcd) and low enough that no file can cost more than milliseconds.
const (
	// MaxBytes is the largest file that is read.
	MaxBytes = 4 << 20
	// MaxDepth is how deep mappings and lists may nest.
	MaxDepth = 100
	// MaxNodes is how many values a document may have once its aliases are written out.
	MaxNodes = 200_000
)

// Source is a file that may hold policies or exceptions. Path is what problems name; nothing is read from it.
type Source struct {
	Path string
	Data []byte
	// Line turns a line of the data into one of the file at Path, where the data was rendered from it and from
	// others. Nil: the data is the file.
	Line func(line int) int
}

// Problem is one thing that is wrong with a file, where it is, and what to do about it. Lines and columns
// count from 1; zero means that the file as a whole is meant. A problem that is no Warning keeps the policy
// or exception it is in from being used.
type Problem struct {
	Path    string
	Line    int
	Column  int
	Warning bool
	Message string
}

// String is the problem as compilers write one: path:line:column: message.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	b.WriteString(": ")
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// HasErrors reports whether one of the problems is more than a warning.
func HasErrors(problems []Problem) bool {
	for _, p := range problems {
		if !p.Warning {
			return true
		}
	}
	return false
}

// Document is one object of a file. Node is its mapping; lines in it are those of the file.
type Document struct {
	Path       string
	Node       *yaml.Node
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	Line       int
}

// Group is the API group of the document, empty for the core group.
func (d Document) Group() string {
	if group, _, ok := strings.Cut(d.APIVersion, "/"); ok {
		return group
	}
	return ""
}

// Version is the API version without its group.
func (d Document) Version() string {
	if _, version, ok := strings.Cut(d.APIVersion, "/"); ok {
		return version
	}
	return d.APIVersion
}

// Documents splits a file into its objects. JSON is YAML, too; objects whose kind ends in "List" are
// replaced by their items. A document that is empty, or a mapping without a kind, is left out without a
// word, since files of a repository hold all sorts of YAML. What cannot be read, or would cost too much
// to read, is a problem; the other documents of the file are still returned.
func Documents(src Source) ([]Document, []Problem) {
	refuse := func(line int, format string, args ...any) []Problem {
		return []Problem{{Path: src.Path, Line: line, Message: fmt.Sprintf(format, args...)}}
	}
	data := bytes.TrimPrefix(src.Data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > MaxBytes:
		return nil, refuse(0, "the file is larger than %d MiB: split it", MaxBytes>>20)
	case bytes.IndexByte(data, 0) >= 0:
		i := bytes.IndexByte(data, 0)
		return nil, refuse(1+bytes.Count(data[:i], []byte("\n")), "the file holds a NUL byte, so it is not text: save it as UTF-8")
	case !utf8.Valid(data):
		return nil, refuse(invalidLine(data), "the file is not valid UTF-8: save it as UTF-8")
	}
	var docs []Document
	var problems []Problem
	for _, c := range chunks(data) {
		var root yaml.Node
		if err := yaml.Unmarshal(c.text, &root); err != nil {
			line, message := syntaxError(err)
			last := bytes.Count(bytes.TrimRight(c.text, "\n"), []byte("\n")) + 1 // the parser may mean the end of the file
			problems = append(problems, refuse(min(max(line, 1), last)+c.line, "not valid YAML: %s", message)...)
			continue
		}
		if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
			continue
		}
		body := root.Content[0]
		if p := inspect(src.Path, body); p != nil {
			p.Line += c.line
			problems = append(problems, *p)
			continue
		}
		shift(&root, c.line)
		if src.Line != nil {
			place(&root, src.Line, map[*yaml.Node]bool{})
		}
		docs = appendObjects(docs, src.Path, body, 0)
	}
	return docs, problems
}

// appendObjects adds the object that a node is, or, when it is a list, the objects in it.
func appendObjects(docs []Document, path string, node *yaml.Node, depth int) []Document {
	node = follow(node)
	if node.Kind != yaml.MappingNode || depth > 3 {
		return docs
	}
	d := Document{Path: path, Node: node, Line: node.Line}
	d.APIVersion = text(field(node, "apiVersion"))
	d.Kind = text(field(node, "kind"))
	if d.Kind == "" {
		return docs
	}
	if items := field(node, "items"); strings.HasSuffix(d.Kind, "List") && items != nil && follow(items).Kind == yaml.SequenceNode {
		for _, item := range follow(items).Content {
			docs = appendObjects(docs, path, item, depth+1)
		}
		return docs
	}
	if meta := field(node, "metadata"); meta != nil {
		d.Name, d.Namespace = text(field(meta, "name")), text(field(meta, "namespace"))
	}
	return append(docs, d)
}

// text is the value of a string scalar, empty for anything else.
func text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	s, _ := scalar(follow(n)).(string)
	return s
}

type chunk struct {
	text []byte
	line int // lines of the file before it
}

// chunks cuts a stream at its document markers, so that a broken document does not hide the problems of the
// next one. A line that starts with "---" is a marker even inside a block or quoted scalar
// (https://yaml.org/spec/1.2.2/#912-document-markers).
func chunks(data []byte) []chunk {
	var out []chunk
	start, startLine, line := 0, 0, 0
	content := false   // whether the chunk has more than comments and directives
	directive := false // whether it begins with a directive, which is for the document behind its marker
	for at := 0; at < len(data); line++ {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			end = len(data)
		} else {
			end += at + 1
		}
		l := data[at:end]
		switch {
		case isMarker(l, "---"):
			if content {
				out = append(out, chunk{data[start:at], startLine})
			}
			if content || !directive {
				// What came before was a document of its own, if an empty one: a chunk has only one.
				start, startLine = at, line
			}
			directive = false
			t := bytes.TrimSpace(l[3:])
			content = len(t) > 0 && t[0] != '#'
		case isMarker(l, "..."):
			if content {
				out = append(out, chunk{data[start:at], startLine})
			}
			start, startLine, content, directive = end, line+1, false, false
		case !content:
			t := bytes.TrimSpace(l)
			directive = directive || l[0] == '%'
			content = len(t) > 0 && t[0] != '#' && l[0] != '%'
		}
		at = end
	}
	if content {
		out = append(out, chunk{data[start:], startLine})
	}
	return out
}

func isMarker(line []byte, marker string) bool {
	return bytes.HasPrefix(line, []byte(marker)) && (len(line) == 3 || strings.IndexByte(" \t\r\n", line[3]) >= 0)
}

// inspect refuses what cannot be written out as JSON of a sensible size: aliases that refer to themselves or
// multiply, deep nesting, values JSON has no form for, keys that occur twice.
func inspect(path string, root *yaml.Node) *Problem {
	count := 0
	active := map[*yaml.Node]bool{}
	at := func(n *yaml.Node, format string, args ...any) *Problem {
		return &Problem{Path: path, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)}
	}
	var walk func(n *yaml.Node, depth int) *Problem
	walk = func(n *yaml.Node, depth int) *Problem {
		if count++; count > MaxNodes {
			return at(n, "the document has more than %d values once its aliases are written out: use fewer aliases", MaxNodes)
		}
		if depth > MaxDepth {
			return at(n, "the document nests more than %d levels deep: flatten it", MaxDepth)
		}
		switch n.Kind {
		case yaml.AliasNode:
			if active[n.Alias] {
				return at(n, "the alias *%s refers to a value that contains it: write the value out", n.Value)
			}
			active[n.Alias] = true
			defer delete(active, n.Alias)
			return walk(n.Alias, depth+1)
		case yaml.MappingNode:
			seen := make(map[string]*yaml.Node, len(n.Content)/2)
			for i := 0; i+1 < len(n.Content); i += 2 {
				k := n.Content[i]
				if follow(k).Kind != yaml.ScalarNode {
					return at(k, "a key must be a string: JSON has no other keys (a variable in {{ }} that starts a value needs quotes)")
				}
				name := keyText(k)
				if first, twice := seen[name]; twice && !isMerge(k) && !sameScalar(first, n.Content[i+1]) {
					return at(k, "the key %q is written twice: keep one", name)
				}
				seen[name] = n.Content[i+1]
				if p := walk(n.Content[i+1], depth+1); p != nil {
					return p
				}
			}
		case yaml.SequenceNode:
			for _, c := range n.Content {
				if p := walk(c, depth+1); p != nil {
					return p
				}
			}
		case yaml.ScalarNode:
			if f, ok := scalar(n).(float64); ok && (f != f || f-f != 0) {
				return at(n, "%s is not a number that JSON can hold", n.Value)
			}
		}
		return nil
	}
	return walk(root, 0)
}

// sameScalar reports whether two values of one key are the same text, so that it does not matter which counts.
func sameScalar(a, b *yaml.Node) bool {
	a, b = follow(a), follow(b)
	return a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode && a.Tag == b.Tag && a.Value == b.Value
}

// shift adds the lines before the chunk to every position, so that they count from the start of the file.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}

// place gives the nodes of a rendered document the lines of its file; what column they have there is not known.
func place(n *yaml.Node, line func(int) int, done map[*yaml.Node]bool) {
	if n == nil || done[n] {
		return
	}
	done[n] = true
	n.Line, n.Column = line(n.Line), 1
	for _, c := range n.Content {
		place(c, line, done)
	}
}

func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// syntaxError takes the line out of a message of the YAML parser, which has no typed error for it.
func syntaxError(err error) (line int, message string) {
	s := err.Error()
	m := yamlLine.FindStringSubmatch(s)
	if len(m) == 2 {
		line, _ = strconv.Atoi(m[1])
		s = s[len(m[0]):]
	}
	return line, s
}
