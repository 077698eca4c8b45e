package gitops

import (
	"bytes"
	"cmp"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Virtual is a kustomization file that the repository does not hold as such: what a controller makes of the one
// that it holds, or in its place.
type Virtual struct {
	Path      string // where the file stands for the build
	Data      []byte
	Generated bool     // there is no such file in the repository
	Includes  []string // the files and folders that a generated one lists, as paths in the repository
	lines     []line
	leaves    bool // the source leaves out some of the folder that a generated one is for
}

// line is where a line of a virtual file comes from.
type line struct {
	at    Position
	moved bool // written here, so its columns are not those of the source
}

// Place returns where a line and a column of the virtual file are written. Column 0 stands for the whole line, and
// so it does in the result where the value is written in another way than in the virtual file.
func (v *Virtual) Place(number, column int) Position {
	if number < 1 || number > len(v.lines) {
		return Position{Path: v.Path, Line: number, Column: column}
	}
	l := v.lines[number-1]
	p := Position{Path: l.at.Path, Line: l.at.Line}
	if !l.moved {
		p.Column = column
	}
	return p
}

// Edit returns the kustomization of a deployment as its controller builds it, nil where the folder's own is built
// as it is. A folder that Flux finds no kustomization in gets one with all manifests below it.
func Edit(t Tree, d *Deployment, limits Limits) (*Virtual, []Problem) {
	limits = limits.withDefaults()
	if d.Kind != ArgoKustomize && d.Kind != Flux {
		return nil, nil
	}
	file := kustomizationIn(t, d.Path)
	if file == "" && d.Kind == ArgoKustomize {
		return nil, nil // the build says that it is missing
	}
	v := &Virtual{Path: file}
	var root *yaml.Node
	var current *field
	if file == "" {
		v.Path, v.Generated = path.Join(d.Path, kustomization.FileNames()[0]), true
		var problem *Problem
		if current, problem = v.generate(t, d, limits); problem != nil {
			return nil, []Problem{problem.of(d.Object)}
		}
	} else {
		if len(d.Overrides.edits) == 0 {
			return nil, nil
		}
		data, list, problem := documents(t, file, limits)
		if problem != nil {
			problem.Object = d.Object
			return nil, []Problem{*problem}
		}
		if len(list) != 1 || list[0].Kind != yaml.MappingNode {
			return nil, nil // the build says what is wrong with it
		}
		v.keep(data)
		root, current = list[0], fieldOfNode(file, list[0])
	}
	current, changed, problems := d.Overrides.apply(current, func(dir string) bool {
		clean, ok := tree.Clean(path.Join(d.Path, dir))
		return ok && !exists(t, clean)
	})
	switch {
	case root == nil:
		changed = current.keys
	case len(changed) > 0 && !v.remove(root, changed):
		// Flow style, or anchors that would be lost: the whole file is written anew.
		v.Data, v.lines, changed = nil, nil, current.keys
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

// keep starts from a file's own lines.
func (v *Virtual) keep(data []byte) {
	text := strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i := range strings.Count(text, "\n") + 1 {
		v.lines = append(v.lines, line{at: Position{Path: v.Path, Line: i + 1}})
	}
	v.Data = []byte(text + "\n")
}

// remove takes the lines of fields out of the text, so that they can be written anew at the end; those of all other fields
// stay as they are. It returns false where the text does not allow for it.
func (v *Virtual) remove(root *yaml.Node, keys []string) bool {
	if root.Style&yaml.FlowStyle != 0 || root.Column != 1 {
		return false
	}
	all := strings.SplitAfter(strings.TrimSuffix(string(v.Data), "\n"), "\n")
	end := len(all)
	for i, text := range all {
		if i+1 > root.Line && (strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...")) &&
			strings.TrimRight(text, " \r\n") != "" && !insideScalar(root, i+1) {
			end = i // what follows is not of this document
			break
		}
	}
	drop := map[int]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		if key.Tag == "!!merge" {
			return false
		}
		if !slices.Contains(keys, key.Value) {
			continue
		}
		last := end
		if i+2 < len(root.Content) {
			last = root.Content[i+2].Line - 1
		}
		if last < key.Line || anchored(root.Content[i+1]) {
			return false
		}
		for n := key.Line; n <= last; n++ {
			drop[n] = true
		}
	}
	var data strings.Builder
	var lines []line
	for i, text := range all {
		if i < end && !drop[i+1] {
			data.WriteString(strings.TrimSuffix(text, "\n") + "\n")
			lines = append(lines, v.lines[i])
		}
	}
	v.Data, v.lines = []byte(data.String()), lines
	return true
}

// insideScalar reports whether a line is one of a text over several lines.
func insideScalar(n *yaml.Node, number int) bool {
	if n.Kind == yaml.ScalarNode {
		return n.Line < number && number <= n.Line+strings.Count(n.Value, "\n")+1 && strings.Contains(n.Value, "\n")
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return insideScalar(c, number) })
}

func anchored(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind != yaml.AliasNode && slices.ContainsFunc(n.Content, anchored)
}

// Below returns the file as it is where its folder, and what it comes from, stands below a prefix.
func (v *Virtual) Below(prefix string) *Virtual {
	out := *v
	out.Path = path.Join(prefix, v.Path)
	out.lines = make([]line, len(v.lines))
	for i, l := range v.lines {
		if l.at.Path == v.Path {
			l.at.Path = out.Path
		}
		out.lines[i] = l
	}
	return &out
}

// append writes fields of a map behind what the file has, and notes where each line of them comes from. A value that
// YAML cannot hold is an error.
func (v *Virtual) append(f *field, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range keys {
		n.Content = append(n.Content, scalarNode(key), f.fields[key].node())
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return err
	}
	var written yaml.Node // with the lines on which the nodes stand
	if err := yaml.Unmarshal(out.Bytes(), &written); err != nil {
		return err
	}
	lines := slices.Repeat([]line{{at: f.position(), moved: true}}, bytes.Count(out.Bytes(), []byte("\n")))
	f.places(written.Content[0], lines)
	v.Data = append(v.Data, out.Bytes()...)
	v.lines = append(v.lines, lines...)
	return nil
}

// node returns a value as YAML.
func (f *field) node() *yaml.Node {
	switch {
	case f != nil && f.fields != nil:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range slices.Sorted(slices.Values(f.keys)) {
			n.Content = append(n.Content, scalarNode(k), f.fields[k].node())
		}
		return n
	case f != nil && f.list:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range f.items {
			n.Content = append(n.Content, item.node())
		}
		return n
	}
	return scalarNode(f.plain())
}

// plainText is a text that no YAML takes for anything else; yaml.v3 itself quotes true, false and null.
var plainText = regexp.MustCompile(`\A[A-Za-z][A-Za-z0-9_/-]{3,63}\z`)

func scalarNode(v any) *yaml.Node {
	text, ok := v.(string)
	if !ok {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: cmp.Or(textOf(v), "null")}
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ToValidUTF8(text, "\ufffd"),
		Style: yaml.DoubleQuotedStyle}
	strange := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	switch {
	case plainText.MatchString(text):
		n.Style = 0
	case strings.Contains(strings.TrimRight(text, "\n"), "\n") && !strings.ContainsFunc(text, strange) &&
		!strings.HasPrefix(strings.TrimLeft(text, " \n"), "\t"): // what a block would not give back as it is
		n.Style = yaml.LiteralStyle
	}
	return n
}

// places notes of each line of a written value where it comes from.
func (f *field) places(n *yaml.Node, lines []line) {
	at := f.position()
	lines[n.Line-1].at = at
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			value := f.fields[n.Content[i].Value]
			lines[n.Content[i].Line-1].at = value.position()
			value.places(n.Content[i+1], lines)
		}
	case n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			f.items[i].places(item, lines)
		}
	case n.Style&yaml.LiteralStyle != 0:
		// The text of a block starts below its mark, here and, if it is one there, in the source.
		for i := range lines[n.Line:min(len(lines), n.Line+strings.Count(n.Value, "\n")+1)] {
			from := Position{Path: at.Path, Line: at.Line}
			if at.EndLine > at.Line {
				from.Line = min(at.Line+1+i, at.EndLine)
			}
			lines[n.Line+i].at = from
		}
	}
}
