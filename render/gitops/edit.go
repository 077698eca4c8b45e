package gitops

import (
	"errors"
	"path"
	"slices"
	"strings"

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
