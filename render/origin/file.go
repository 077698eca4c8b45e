package origin

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// File knows the places of the resources of a manifest that is deployed without a build, so every node has its line. It
// is not safe for concurrent use.
type File struct {
	path string
	texts
}

// NewFile returns the origins of a manifest.
func NewFile(path string, data []byte) *File {
	return &File{path: path, texts: newTexts(func(string) ([]byte, error) { return data, nil })}
}

// Field returns the place of the field at a pointer into a resource of the file. The place of a field that does not
// exist is that of its nearest existing parent.
func (f *File) Field(resource *yaml.Node, pointer string) Place {
	resource = content(resource)
	steps, missing := resolve(resource, pointer)
	var p Place
	if len(steps) == 0 {
		p = f.at(f.path, resource, Identity, "manifest")
		p.EndLine, p.StartColumn, p.EndColumn = p.StartLine, 0, 0
	} else {
		p = f.at(f.path, anchor(steps[len(steps)-1]), Identity, "manifest")
	}
	if missing != "" {
		p.Missing, p.How = missing, Enclosing
	}
	return p
}

// Of returns the place of a value that a caller parsed from the file. key is the key before the value, if it has one.
func (f *File) Of(key, value *yaml.Node) Place {
	return f.at(f.path, anchor(step{key: key, value: value}), Identity, "")
}

// Entry returns the place of a value of the file, given its position or that of its key: a scalar itself, or the key of
// a map or a list. name is the name of the key, empty where it is not known. A value in a text that is YAML has a
// place, too. It returns false where nothing begins at the position.
func (f *File) Entry(line, column int, name string) (Place, bool) {
	key, value := f.text(f.path).entry(position{line, column}, name)
	switch {
	case value == nil:
		return Place{}, false
	case value.Kind == yaml.ScalarNode || key == nil:
		return f.at(f.path, anchor(step{value: value, key: key}), Writer, ""), true
	}
	return f.at(f.path, key, Writer, ""), true
}

// Columns returns the columns of a part of a line's copy in the line itself: the line has the same text, or the scalar
// that begins at a column has the part. They are 0 if neither is so.
func (f *File) Columns(line, column int, text string, from, to int) (int, int) {
	lines := f.text(f.path).lines
	if line < 1 || line > len(lines) || to > utf8.RuneCountInString(text)+1 {
		return 0, 0
	}
	here := lines[line-1]
	if strings.Trim(here, " ") == strings.Trim(text, " ") {
		moved := len(here) - len(strings.TrimLeft(here, " ")) - len(text) + len(strings.TrimLeft(text, " "))
		return from + moved, to + moved
	}
	p, ok := f.Entry(line, column, "")
	if !ok || p.StartLine != line || p.StartColumn == 0 {
		return 0, 0
	}
	part := strings.Trim(string([]rune(text)[from-1:to-1]), `"'`)
	if part == "" || !strings.Contains(string([]rune(here)[p.StartColumn-1:p.EndColumn-1]), part) {
		return 0, 0
	}
	return p.StartColumn, p.EndColumn
}

// Key is Entry for the key itself, for any value.
func (f *File) Key(line, column int, name string) (Place, bool) {
	key, _ := f.text(f.path).entry(position{line, column}, name)
	if key == nil {
		return Place{}, false
	}
	return f.at(f.path, key, Writer, ""), true
}

// Scalar reports whether Entry finds a scalar.
func (f *File) Scalar(line, column int, name string) bool {
	_, value := f.text(f.path).entry(position{line, column}, name)
	return value != nil && value.Kind == yaml.ScalarNode
}

// Find returns the place of the value at a path of the file's first document, or of its nearest existing parent. depth
// is the number of keys that exist. With key, it is the place of the value's key.
func (f *File) Find(path []string, key bool) (p Place, depth int) {
	t := f.text(f.path)
	p = Place{Path: f.path, StartLine: 1, EndLine: 1, How: Enclosing}
	if len(t.documents()) == 0 {
		return p, 0
	}
	steps, _ := resolve(content(t.documents()[0]), doc.Pointer(path...))
	if len(steps) > 0 {
		last := steps[len(steps)-1]
		n := anchor(last)
		if key && len(steps) == len(path) && last.key != nil {
			n = last.key
		}
		p = f.at(f.path, n, Writer, "")
	}
	if len(steps) < len(path) {
		p.How = Enclosing
	}
	return p, len(steps)
}

// entries has the keys and values of a text, by the positions of keys and of values.
type entries struct{ byKey, byValue map[position][2]*yaml.Node }

// entry returns the entry that begins at a position. An entry with the given name is preferred. The position is that of
// its key or its value.
func (t *text) entry(at position, name string) (key, value *yaml.Node) {
	if t.entries == nil {
		t.entries = &entries{map[position][2]*yaml.Node{}, map[position][2]*yaml.Node{}}
		for _, d := range t.documents() {
			t.entries.add(nil, content(d))
		}
	}
	byKey, byValue := t.entries.byKey[at], t.entries.byValue[at]
	named := func(e [2]*yaml.Node) bool { return e[0] != nil && e[0].Value == name }
	switch {
	case named(byKey):
		return byKey[0], byKey[1]
	case byValue[1] != nil:
		return byValue[0], byValue[1]
	case byKey[1] != nil:
		return byKey[0], byKey[1]
	}
	for _, n := range t.blocks {
		if n.Line < at.line && at.line <= n.Line+strings.Count(n.Value, "\n")+1 {
			return t.inner(n).entry(at, name)
		}
	}
	return nil, nil
}

func (e *entries) add(key, value *yaml.Node) {
	if value == nil {
		return
	}
	pair := [2]*yaml.Node{key, value}
	if at := (position{value.Line, value.Column}); e.byValue[at][1] == nil {
		e.byValue[at] = pair
	}
	if key != nil {
		e.byKey[position{key.Line, key.Column}] = pair
	}
	switch value.Kind {
	case yaml.MappingNode:
		for k, v := range doc.Pairs(value) {
			e.add(k, v)
		}
	case yaml.SequenceNode:
		for _, c := range value.Content {
			e.add(nil, c)
		}
	}
}
