package gitops

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Virtual is a kustomization that is not in the repository: a controller makes it from the folder's file, or because
// there is none.
type Virtual struct {
	Path      string // the path at which the build sees the file
	Data      []byte
	Generated bool     // the repository has no such file
	Includes  []string // files and folders that a generated file lists, as paths in the repository
	Written   []Line   // where the lines of Data are from
	leaves    bool     // the source leaves out part of the folder
}

// Line is where a line of a virtual file is from.
type Line struct {
	_     struct{} `cbor:",toarray"` // there are many in the cache
	At    Position
	Moved bool // Lintel wrote the line, so its columns are not those of the place
}

// Place returns the place of a line and a column of the virtual file. Column 0 is the whole line. The column of the
// result is 0 if the value is written differently in the source.
func (v *Virtual) Place(number, column int) Position {
	if number < 1 || number > len(v.Written) {
		return Position{Path: v.Path, Line: number, Column: column}
	}
	l := v.Written[number-1]
	p := Position{Path: l.At.Path, Line: l.At.Line}
	if !l.Moved {
		p.Column = column
	}
	return p
}

// Copied returns the text of a line of the virtual file that Lintel wrote, and the column of its value in the source; 0
// if that is not known. The text is empty for other lines.
func (v *Virtual) Copied(number int) (text string, column int) {
	if number < 1 || number > len(v.Written) || !v.Written[number-1].Moved {
		return "", 0
	}
	text = strings.SplitN(string(v.Data), "\n", number+1)[number-1]
	return text, v.Written[number-1].At.Column
}

// Lines returns the places of the lines as text.
func (v *Virtual) Lines() string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v.Written)
}

// Edit returns the kustomization of a deployment as its controller builds it, nil where the folder's own is built
// unchanged. If a folder that Flux deploys has no kustomization, the result lists all manifests below it.
func Edit(t Tree, d *Deployment, limits Limits) (*Virtual, []Problem) {
	limits = limits.withDefaults()
	if d.Kind != Flux && (d.Kind != ArgoKustomize || len(d.Overrides.Edits) == 0) {
		return nil, nil
	}
	file := kustomizationIn(t, d.Path)
	if file == "" && d.Kind == ArgoKustomize {
		return nil, nil // the build reports that it is missing
	}
	v := &Virtual{Path: cmp.Or(file, path.Join(d.Path, kustomization.FileNames()[0]))}
	var root *yaml.Node
	var current *field
	if file == "" || d.LeavesOut { // the source leaves out the file that is there
		v.Generated = true
		var problem *Problem
		if current, problem = v.generate(t, d, limits); problem != nil {
			return nil, []Problem{problem.of(d.Object)}
		}
	} else {
		if len(d.Overrides.Edits) == 0 {
			return nil, nil
		}
		data, list, problem := documents(t, file, limits)
		if problem != nil {
			problem.Object = d.Object
			return nil, []Problem{*problem}
		}
		if len(list) != 1 || list[0].Kind != yaml.MappingNode {
			return nil, nil // the build reports what is wrong with it
		}
		root, current = list[0], fieldOfNode(file, list[0])
		v.keep(data, root)
	}
	current, changed, problems := d.Overrides.apply(current, func(dir string) bool {
		clean, ok := tree.Clean(path.Join(d.Path, dir))
		return ok && !exists(t, clean)
	})
	switch {
	case root == nil:
		changed = current.Keys
	case len(changed) > 0 && !v.remove(root, changed):
		// The file has flow style, or anchors that would be lost: write all of it again.
		v.Data, v.Written, changed = nil, nil, current.Keys
	}
	if err := v.append(current, changed); err != nil {
		problems = append(problems, *problemAt(Position{Path: v.Path}, Broken, "cannot be written: %s", err))
	}
	for i := range problems {
		problems[i] = problems[i].of(d.Object)
	}
	return v, problems
}

// documents reads a YAML or JSON file of the repository.
func documents(t Tree, file string, limits Limits) (data []byte, list []*yaml.Node, _ *Problem) {
	data, _, err := t.ReadFile(file)
	if err == nil {
		list, err = doc.Parse(file, data, limits.Source)
	}
	if err == nil {
		return data, list, nil
	}
	e := &doc.Error{Path: file, Message: "cannot be read"}
	errors.As(err, &e)
	return nil, nil, &Problem{Error: *e, Cause: Broken}
}

// keep starts with the lines of a document of a file.
func (v *Virtual) keep(data []byte, root *yaml.Node) {
	document, before := doc.DocumentAt(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), root.Line)
	v.Data = append(bytes.TrimSuffix(document, []byte("\n")), '\n')
	for i := range bytes.Count(v.Data, []byte("\n")) {
		v.Written = append(v.Written, Line{At: Position{Path: v.Path, Line: before + i + 1}})
	}
}

// remove deletes the lines of some fields from the text, so that they can be written again at the end. Other lines are
// unchanged. It returns false where the style of the text does not allow this.
func (v *Virtual) remove(root *yaml.Node, keys []string) bool {
	if doc.IsFlow(root) || root.Column != 1 {
		return false
	}
	editor := doc.NewEditor(v.Data)
	editor.KeepLines = true // so that it is known which lines are left
	edit := editor.Edit(editor.Document(0))
	for _, key := range keys {
		if _, value := doc.Field(root, key); value != nil {
			edit.Remove(doc.Pointer(key), false)
		}
	}
	left, err := editor.Apply(edit)
	if err != nil {
		return false
	}
	before, all := slices.Collect(bytes.Lines(v.Data)), v.Written
	v.Data, v.Written = nil, nil
	for i, text := range slices.Collect(bytes.Lines(left)) {
		if len(text) > 1 || len(before[i]) == 1 {
			v.Data, v.Written = append(v.Data, text...), append(v.Written, all[i])
		}
	}
	return true
}

// Below returns the file with a prefix added to its path and to places in it.
func (v *Virtual) Below(prefix string) *Virtual {
	out := *v
	out.Path = path.Join(prefix, v.Path)
	out.Written = make([]Line, len(v.Written))
	for i, l := range v.Written {
		if l.At.Path == v.Path {
			l.At.Path = out.Path
		}
		out.Written[i] = l
	}
	return &out
}

// append writes fields of a map at the end of the file, and records the place of each line. It fails for a value that
// YAML cannot represent.
func (v *Virtual) append(f *field, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range keys {
		n.Content = append(n.Content, nodeOf(key), nodeOf(f.Fields[key].plain()))
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return err
	}
	var written yaml.Node // the same nodes, with their lines
	if err := yaml.Unmarshal(out.Bytes(), &written); err != nil {
		return err
	}
	lines := slices.Repeat([]Line{{At: f.position(), Moved: true}}, bytes.Count(out.Bytes(), []byte("\n")))
	f.places(written.Content[0], lines)
	v.Data = append(v.Data, out.Bytes()...)
	v.Written = append(v.Written, lines...)
	return nil
}

// plainText matches texts that no YAML parser takes for another type. yaml.v3 itself quotes true, false and null.
var plainText = regexp.MustCompile(`\A[A-Za-z][A-Za-z0-9_/-]{3,63}\z`)

// nodeOf returns a JSON value as YAML, which every parser reads as this value.
func nodeOf(v any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := v.(type) {
	case map[string]any:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, nodeOf(k), nodeOf(v[k]))
		}
	case []any:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range v {
			n.Content = append(n.Content, nodeOf(item))
		}
	case string:
		n.Tag, n.Value, n.Style = "!!str", strings.ToValidUTF8(v, "\ufffd"), yaml.DoubleQuotedStyle
		strange := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
		switch {
		case plainText.MatchString(v):
			n.Style = 0
		case strings.Contains(strings.TrimRight(v, "\n"), "\n") && !strings.ContainsFunc(v, strange) &&
			!strings.HasPrefix(strings.TrimLeft(v, " \n"), "\t"): // a block scalar would not preserve such a text
			n.Style = yaml.LiteralStyle
		}
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	default: // a number
		n.Tag, n.Value = "!!int", fmt.Sprint(v)
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	}
	return n
}

// places records the place of each line of a written value.
func (f *field) places(n *yaml.Node, lines []Line) {
	at := f.position()
	lines[n.Line-1].At = at
	switch {
	case n.Kind == yaml.MappingNode:
		for key, v := range doc.Pairs(n) {
			value := f.Fields[key.Value]
			lines[key.Line-1].At = value.position()
			value.places(v, lines)
		}
	case n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			f.Items[i].places(item, lines)
		}
	case n.Style&yaml.LiteralStyle != 0:
		// The text of a block scalar starts below its mark; in the source, too, if it is a block scalar there.
		for i := range lines[n.Line:min(len(lines), n.Line+strings.Count(n.Value, "\n")+1)] {
			from := Position{Path: at.Path, Line: at.Line}
			if at.EndLine > at.Line {
				from.Line = min(at.Line+1+i, at.EndLine)
			}
			lines[n.Line+i].At = from
		}
	}
}
