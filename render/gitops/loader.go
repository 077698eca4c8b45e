package gitops

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// loader reads layers.
type loader struct {
	tree    Tree
	sources *remote.Sources
	limits  Limits
	seen    map[layerFile]bool
	lines   env.Memo[string, []string]
	parts   []*part
	bytes   int // of all texts so far
	cells   int // of all lists that paths create, so far
}

func (l *loader) add(layer Layer, p part) {
	p.Layer, p.index = layer, len(l.parts)
	l.parts = append(l.parts, &p)
}

// specValues is the name of the layer that Flux merges last.
const specValues = "spec.values"

func (l *loader) load(layer Layer) error {
	if layer.Broken != "" {
		return brokenAt(layer.Where, "%s", layer.Broken)
	}
	if err := l.spend(layer, layer.Set, layer.Value.text()); err != nil {
		return err
	}
	switch {
	case layer.Unknown != "" && layer.Kind == mergeLayer:
		l.add(layer, part{})
	case layer.Unknown != "":
		l.add(layer, part{text: placeholder(layer.Name)})
	case layer.File != "":
		return l.files(layer)
	case layer.Kind != mergeLayer:
		l.add(layer, part{text: layer.Value.text()})
	case layer.Value.Fields != nil:
		data, err := json.Marshal(settle(layer.Value).plain())
		if err != nil {
			return brokenAt(layer.Where, "the values cannot be written as JSON")
		}
		l.add(layer, part{documents: []document{{data, layer.Value}}})
	default:
		inside := l.inside(layer.Value.position(), layer.Value.text())
		return l.text(layer, layer.Value.text(), func(line, column int) Position {
			if at, ok := layer.Value.line(line, column); ok {
				return at
			}
			return inside(line, column)
		})
	}
	return nil
}

// Limits for all layers of one release.
const (
	maxValuesBytes = 32 << 20
	maxValuesCells = 1 << 18
)

// spend limits the cost of a text and of a path at which a value is set. An index in a path creates a list of that
// length.
func (l *loader) spend(layer Layer, path, text string) error {
	if l.bytes += len(path) + len(text); layer.Kind == fluxLayer { // others have no paths in their texts
		path += "\n" + text
	}
	for _, index := range indexes.FindAllStringSubmatch(path, -1) {
		n, err := strconv.Atoi(index[1])
		if err != nil {
			n = maxValuesCells
		}
		l.cells += min(n, maxValuesCells)
	}
	if l.bytes > maxValuesBytes || l.cells > maxValuesCells {
		e := brokenAt(layer.Where, "the values are larger than the limit")
		e.Unknown = true
		return e
	}
	return nil
}

var indexes = regexp.MustCompile(`\[([0-9]+)`)

// settle returns a value with placeholders in place of unknown values, which still contain a template.
func settle(f *field) *field {
	switch {
	case !hasUnknown(f):
		return f
	case f.Fields != nil || f.List:
		return f.each(settle)
	}
	return made(placeholder("value"), f.Where)
}

// json converts a document of the layer like the program that reads it.
func (l Layer) json(document []byte) ([]byte, error) {
	if !l.Kustomize {
		return sigsyaml.YAMLToJSON(document)
	}
	n, err := kyaml.Parse(string(document))
	if err != nil {
		return nil, err
	}
	if kyaml.IsMissingOrNull(n) {
		return []byte("null"), nil
	}
	m, err := n.Map()
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// text reads values that are written as text.
func (l *loader) text(layer Layer, text string, where func(line, column int) Position) error {
	documents, err := doc.Parse("", []byte(text), l.limits.Source)
	if err != nil {
		e := &doc.Error{Message: "cannot be read"}
		errors.As(err, &e)
		at := where(e.Line, 0)
		if layer.Want.Kind != "" {
			at = layer.Where
		}
		return brokenAt(at, "the values of %s: %s", layer.Name, e.Message)
	}
	var raw [][]byte
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(text + "\n")))); ; {
		one, err := []byte(text), error(nil)
		if !layer.First { // only the first document is parsed; the text before its "---" may be just a comment
			one, err = reader.Read()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return brokenAt(layer.Where, "the values of %s cannot be read", layer.Name)
			}
			break
		}
		data, err := layer.json(one)
		if err != nil {
			return brokenAt(layer.Where, "the values of %s are not YAML that Helm reads", layer.Name)
		}
		if string(data) != "null" {
			raw = append(raw, data)
		}
		if layer.First {
			break
		}
	}
	p := part{text: text}
	for i, data := range raw {
		var m map[string]any
		if json.Unmarshal(data, &m) != nil {
			return brokenAt(where(1, 0), "the values of %s are not a map", layer.Name)
		}
		d := document{data, &field{Where: layer.Where}}
		if len(documents) == len(raw) || layer.First && i < len(documents) {
			read := nodes{truths: true, where: func(n *yaml.Node) Position {
				at := where(n.Line, n.Column)
				if end := nodePosition("", n).EndLine; end > n.Line && at.Line > 0 {
					at.EndLine = at.Line + end - n.Line
				}
				return at
			}}
			if layer.Want.Kind != "" {
				read.namedBy = &layer.Where
			}
			d.place = read.field(documents[i], 0)
		}
		p.documents = append(p.documents, d)
	}
	l.add(layer, p)
	return nil
}

// globPattern is the language of doublestar, with which Argo CD reads the names of values files.
var globPattern = dialect{braces: true, segments: true}

// isPattern reports whether the name of a values file is a pattern.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// files reads a layer that is one file or several. It skips files that were read already.
func (l *loader) files(layer Layer) error {
	t, names, err := l.tree, []string{layer.File}, error(nil)
	if layer.Want.Kind != "" {
		source, err := l.sources.Get(layer.Want)
		if err != nil {
			return err
		}
		t = source.Tree
	}
	if layer.Glob {
		if names, err = matching(t, layer.File, l.limits); err != nil {
			return brokenOr(layer, err)
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains(layer.Named, layerFile{layer.Want, name})
		})
	}
	for _, name := range names {
		id := layerFile{layer.Want, name}
		if layer.Kind == mergeLayer && l.seen[id] {
			continue
		}
		data, _, err := t.ReadFile(name)
		switch {
		case errors.Is(err, tree.ErrNotExist) && layer.Optional:
			continue
		case err != nil:
			return brokenOr(layer, err)
		}
		l.seen[id] = true
		if err := l.spend(layer, "", string(data)); err != nil {
			return err
		}
		one := layer
		one.File, one.Glob = name, false
		if layer.Kind == fileLayer {
			l.add(one, part{text: string(data)})
			continue
		}
		if layer.Glob || layer.Name == "" {
			one.Name = name
		}
		if err := l.text(one, string(data), func(line, column int) Position {
			return Position{Path: name, Line: max(line, 1), Column: column}
		}); err != nil {
			return err
		}
	}
	if len(names) == 0 && !layer.Optional && len(layer.Named) == 0 {
		return brokenAt(layer.Where, "no file matches %.200q", layer.File)
	}
	return nil
}

func brokenOr(layer Layer, err error) error {
	if limit := (*unknowable)(nil); errors.As(err, &limit) {
		e := brokenAt(layer.Where, "the values files %.200q: %s", layer.File, limit.reason)
		e.Unknown = true
		return e
	}
	if large, ok := errors.AsType[*tree.TooLargeError](err); ok {
		e := brokenAt(layer.Where, "the values file %.200q %s", layer.File, large)
		e.Unknown = true
		return e
	}
	return brokenAt(layer.Where, "the values file %.200q is not there", layer.File)
}

// matching lists the files that a pattern of values files matches, sorted.
func matching(t Tree, pattern string, limits Limits) (list []string, err error) {
	re, err := globPattern.compile(strings.TrimPrefix(pattern, "/"))
	if err != nil {
		return nil, err
	}
	dir := fixed(pattern)
	if i := strings.IndexByte(dir, '{'); i >= 0 {
		dir = path.Dir(dir[:i] + "x")
	}
	if !isKind(t, cmp.Or(dir, "."), tree.Dir) {
		return nil, nil
	}
	deep := strings.Contains(pattern, "**")
	levels := strings.Count(pattern, "/")
	w := &folderWalk{tree: t, list: bounded(t, limits.Files),
		enter: func(dir string) bool { return deep || strings.Count(dir, "/") < levels }}
	err = w.walk(cmp.Or(dir, "."), 0, func(p string) error {
		if re.MatchString(p) {
			list = append(list, p)
		}
		return nil
	})
	slices.Sort(list)
	return list, err
}

// blockMark matches the end of a line after which the text of a block scalar follows.
var blockMark = regexp.MustCompile(`(?:^|[\s:-])(?:[!&]\S+\s+)*([|>])[-+0-9]{0,2}\s*(?:#.*)?$`)

// inside returns the places of the lines of a text. at is the place of the field with the text. The lines follow the
// mark of a block scalar, or are in the file from which a generator made the field. Where neither is certain, the place
// is at.
func (l *loader) inside(at Position, text string) func(line, column int) Position {
	texts, lines := strings.Split(text, "\n"), l.linesOf(at.Path)
	var mark []string
	if at.Line >= 1 && at.Line <= len(lines) {
		mark = blockMark.FindStringSubmatch(lines[at.Line-1])
	}
	return func(line, column int) Position {
		if line < 1 || line > len(texts) || at.Line < 1 || at.Line > len(lines) {
			return at
		}
		number := at.Line + line
		if mark == nil {
			if number--; at.EndLine <= at.Line && len(texts) > 1 && texts[1] != "" {
				return at // the field has one line, but the text has several
			}
		}
		if number > len(lines) {
			return at
		}
		written := strings.TrimRight(lines[number-1], "\r")
		found := Position{Path: at.Path, Line: number}
		switch wanted := strings.TrimRight(texts[line-1], "\r"); {
		case strings.HasSuffix(written, wanted) && strings.TrimSpace(written) == strings.TrimSpace(wanted):
			if column > 0 {
				found.Column = column + len(written) - len(wanted)
			}
		case mark == nil || mark[1] == ">":
			return at
		}
		return found
	}
}

// linesOf returns the lines of a file of this repository, none where there is no such file.
func (l *loader) linesOf(p string) []string {
	return l.lines.Get(p, func() []string {
		data, _, err := l.tree.ReadFile(p)
		if err != nil {
			return nil
		}
		return strings.Split(string(data), "\n")
	})
}
