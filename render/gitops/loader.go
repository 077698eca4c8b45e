package gitops

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
)

// loader reads layers.
type loader struct {
	tree    Tree
	sources *remote.Sources
	limits  Limits
	seen    map[layerFile]bool
	lines   map[string][]string
	parts   []*part
	bytes   int // of texts, so far
	cells   int // of lists that paths make, so far
}

func (l *loader) add(layer Layer, p part) {
	p.Layer, p.index = layer, len(l.parts)
	l.parts = append(l.parts, &p)
}

// specValues is the name of the layer that Flux has last.
const specValues = "spec.values"

func (l *loader) load(layer Layer) error {
	if layer.broken != "" {
		return brokenAt(layer.Where, layer.broken)
	}
	if err := l.spend(layer, layer.path, layer.value.text()); err != nil {
		return err
	}
	switch {
	case layer.Unknown != "" && layer.kind == mergeLayer:
		l.add(layer, part{})
	case layer.Unknown != "":
		l.add(layer, part{text: placeholder(layer.Name)})
	case layer.File != "":
		return l.files(layer)
	case layer.kind != mergeLayer:
		l.add(layer, part{text: layer.value.text()})
	case layer.value.fields != nil:
		data, err := json.Marshal(settle(layer.value).plain())
		if err != nil {
			return brokenAt(layer.Where, "the values cannot be written as JSON")
		}
		l.add(layer, part{documents: []document{{data, layer.value}}})
	default:
		return l.text(layer, layer.value.text(), l.inside(layer.value.position(), layer.value.text()))
	}
	return nil
}

// What the layers of one release may hold together.
const (
	maxValuesBytes = 32 << 20
	maxValuesCells = 1 << 18
)

// spend bounds what a path that a value is set at, and texts, may cost: an index makes a list as long as it says.
func (l *loader) spend(layer Layer, path string, texts ...string) error {
	for i, text := range append([]string{path}, texts...) {
		l.bytes += len(text)
		if i > 0 && layer.kind != fluxLayer { // it is a value, and nothing else
			continue
		}
		for _, index := range indexes.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(index[1])
			if err != nil {
				n = maxValuesCells
			}
			l.cells += min(n, maxValuesCells)
		}
	}
	if l.bytes > maxValuesBytes || l.cells > maxValuesCells {
		return &doc.Error{Path: layer.Where.Path, Line: layer.Where.Line, Column: layer.Where.Column, Unknown: true,
			Message: "the values are larger than the limit"}
	}
	return nil
}

var indexes = regexp.MustCompile(`\[([0-9]+)`)

// settle returns a value with names of what is not known in place of what keeps a template.
func settle(f *field) *field {
	switch {
	case !hasUnknown(f):
		return f
	case f.fields != nil:
		out := &field{fields: map[string]*field{}, where: f.where}
		for _, k := range f.keys {
			out.put(k, settle(f.fields[k]))
		}
		return out
	case f.list:
		out := &field{list: true, where: f.where}
		for _, item := range f.items {
			out.items = append(out.items, settle(item))
		}
		return out
	}
	return made(placeholder("value"), f.where)
}

// json returns what reads a document of the layer makes of it.
func (l Layer) json(document []byte) ([]byte, error) {
	if !l.kustomize {
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

// text reads values that are written as a text.
func (l *loader) text(layer Layer, text string, where func(line, column int) Position) error {
	documents, err := doc.Parse("", []byte(text), l.limits.Source)
	if err != nil {
		e := &doc.Error{Message: "cannot be read"}
		errors.As(err, &e)
		at := where(e.Line, 0)
		if layer.Want.Kind != "" {
			at = layer.Where
		}
		return brokenAt(at, fmt.Sprintf("the values of %s: %s", layer.Name, e.Message))
	}
	var raw [][]byte
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(text + "\n")))); ; {
		one, err := []byte(text), error(nil)
		if !layer.first { // else what parses it ends with the first: what stands above its mark may be a comment only
			one, err = reader.Read()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return brokenAt(layer.Where, fmt.Sprintf("the values of %s cannot be read", layer.Name))
			}
			break
		}
		data, err := layer.json(one)
		if err != nil {
			return brokenAt(layer.Where, fmt.Sprintf("the values of %s are not YAML that Helm reads", layer.Name))
		}
		if string(data) != "null" {
			raw = append(raw, data)
		}
		if layer.first {
			break
		}
	}
	p := part{text: text}
	for i, data := range raw {
		var m map[string]any
		if json.Unmarshal(data, &m) != nil {
			return brokenAt(where(1, 0), fmt.Sprintf("the values of %s are not a map", layer.Name))
		}
		d := document{data, &field{where: func() Position { return layer.Where }}}
		if len(documents) == len(raw) || layer.first && i < len(documents) {
			read := nodes{truths: true, where: func(n *yaml.Node) Position {
				at := where(n.Line, n.Column)
				if end := nodePosition("", n).EndLine; end > n.Line && at.Line > 0 {
					at.EndLine = at.Line + end - n.Line
				}
				return at
			}}
			if layer.Want.Kind != "" {
				read.outside = &layer.Where
			}
			d.place = read.field(documents[i], 0)
		}
		p.documents = append(p.documents, d)
	}
	l.add(layer, p)
	return nil
}
