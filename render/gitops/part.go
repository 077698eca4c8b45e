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

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/source"
)

// part is a layer with what it holds.
type part struct {
	Layer
	index     int
	last      bool   // spec.values of Flux
	text      string // of a value that is set by itself, or of a file
	documents []document

	placed *place
}

// document is one object of values: as Helm reads it, and where its values are written.
type document struct {
	data  []byte // JSON
	place *place
}

// place is where a value and what is in it are written.
type place struct {
	where  func() Position
	inside func() Position // in what Layer.Want comes to, where the place is not of this repository
	keys   map[string]*place
	items  []*place
	reason string // nobody knows it
}

// at returns the place of the value at a path, nil where there is none.
func (p *place) at(path []string) *place {
	for _, key := range path {
		if p == nil {
			return nil
		}
		if p.keys != nil {
			p = p.keys[key]
			continue
		}
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(p.items) {
			return nil
		}
		p = p.items[i]
	}
	return p
}

// tree returns what the layer holds, made anew: merging may change it.
func (p *part) tree(tagged bool) map[string]any {
	out := map[string]any{}
	for _, d := range p.documents {
		var m map[string]any
		if json.Unmarshal(d.data, &m) != nil { // it was made here
			continue
		}
		if tagged {
			for k, v := range m {
				m[k] = p.tags(v, d.place, k)
			}
		}
		out = mergeMaps(out, m)
	}
	return out
}

// tags returns a value with a leaf in place of each scalar. around is the place of what the value is in.
func (p *part) tags(v any, around *place, key string) any {
	here := around.at([]string{key})
	exact := here != nil
	if !exact {
		here = around
	}
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			v[k] = p.tags(value, here, k)
		}
		return v
	case []any:
		for i, value := range v {
			if value != nil { // Helm takes null in a list for what is not there yet: see Values.settle
				v[i] = p.tags(value, here, strconv.Itoa(i))
			}
		}
		return v
	}
	return &leaf{place: here, layer: p.index, exact: exact, null: v == nil}
}

// place returns where the layer's values are written.
func (p *part) place() *place {
	if p.placed != nil {
		return p.placed
	}
	p.placed = &place{where: func() Position { return p.Where }}
	switch {
	case p.kind != mergeLayer:
		out := map[string]any{}
		if p.set(out, true) == nil {
			p.placed = p.placeOf(out)
		}
	case len(p.documents) == 1:
		p.placed = p.documents[0].place
	default:
		for _, d := range p.documents {
			p.placed = p.placed.over(d.place)
		}
	}
	return p.placed
}

// over returns a place with another one over it.
func (p *place) over(top *place) *place {
	if p == nil || p.keys == nil && p.items != nil || top.keys == nil {
		return top
	}
	out := &place{where: top.where, keys: map[string]*place{}}
	for k, v := range p.keys {
		out.keys[k] = v
	}
	for k, v := range top.keys {
		out.keys[k] = out.keys[k].over(v)
	}
	return out
}

// from is a place in a layer from outside: here, it is where the layer is named.
func (p *place) from(layer Layer) *place {
	if p == nil {
		return nil
	}
	out := &place{where: func() Position { return layer.Where }, inside: p.where}
	if p.keys != nil {
		out.keys = map[string]*place{}
		for k, v := range p.keys {
			out.keys[k] = v.from(layer)
		}
	}
	for _, item := range p.items {
		out.items = append(out.items, item.from(layer))
	}
	return out
}

// placeOf is the place of what a single value makes: all of it is written there.
func (p *part) placeOf(v any) *place {
	out := &place{where: func() Position { return p.Where }, reason: p.Unknown}
	switch v := v.(type) {
	case map[string]any:
		out.keys = map[string]*place{}
		for k, value := range v {
			out.keys[k] = p.placeOf(value)
		}
	case []any:
		for _, value := range v {
			out.items = append(out.items, p.placeOf(value))
		}
	}
	return out
}

// placeOfField is the place of a field of an object. variables says that a ${} in a text is a variable that Flux puts a
// value in for.
func placeOfField(f *field, variables bool) *place {
	out := &place{where: func() Position { return f.position() }}
	text, _ := f.scalar.(string)
	switch {
	case f.fields != nil:
		out.keys = make(map[string]*place, len(f.keys))
		for _, k := range f.keys {
			out.keys[k] = placeOfField(f.fields[k], variables)
		}
	case f.list:
		for _, item := range f.items {
			out.items = append(out.items, placeOfField(item, variables))
		}
	case f.unknown:
		out.reason = "it depends on what only the cluster has"
	case variables:
		out.reason = variableIn(text)
	}
	return out
}

func variableIn(text string) string {
	if found := unset.FindString(text); found != "" {
		return fmt.Sprintf("nothing of this repository puts a value in for %.80s}", found)
	}
	return ""
}

// placeOfNode is the place of a node of a text; where says of a node where it stands in the repository.
func placeOfNode(n *yaml.Node, where func(*yaml.Node) Position, variables bool) *place {
	if n = source.Deref(n); n == nil {
		return nil
	}
	out := &place{where: func() Position { return where(n) }}
	switch n.Kind {
	case yaml.MappingNode:
		out.keys = map[string]*place{}
		for key, value := range source.Fields(n) {
			below := placeOfNode(value, where, variables)
			if truth, ok := source.Bool(key); ok {
				out.keys[strconv.FormatBool(truth)] = below // as Helm reads it
			}
			out.keys[source.Key(key)] = below
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			out.items = append(out.items, placeOfNode(c, where, variables))
		}
	case yaml.ScalarNode:
		if variables {
			out.reason = variableIn(n.Value)
		}
	}
	return out
}

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
	p.last = p.last || layer.kind == mergeLayer && layer.Name == specValues
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
		l.add(layer, part{documents: []document{{data, placeOfField(layer.value, layer.variables)}}})
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
		return &source.Error{Path: layer.Where.Path, Line: layer.Where.Line, Column: layer.Where.Column, Unknown: true,
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
	documents, err := source.Parse("", []byte(text), l.limits.Source)
	if err != nil {
		e := &source.Error{Message: "cannot be read"}
		errors.As(err, &e)
		at := where(e.Line, 0)
		if layer.Want.Kind != "" {
			at = layer.Where
		}
		return brokenAt(at, fmt.Sprintf("the values of %s: %s", layer.Name, e.Message))
	}
	var raw [][]byte
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(text + "\n")))); ; {
		one, err := reader.Read()
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
		d := document{data, &place{where: func() Position { return layer.Where }}}
		if len(documents) == len(raw) || layer.first && i < len(documents) {
			d.place = placeOfNode(documents[i], func(n *yaml.Node) Position {
				at := where(n.Line, n.Column)
				if end := nodePosition("", n).EndLine; end > n.Line && at.Line > 0 {
					at.EndLine = at.Line + end - n.Line
				}
				return at
			}, layer.variables)
			if layer.Want.Kind != "" {
				d.place = d.place.from(layer)
			}
		}
		p.documents = append(p.documents, d)
	}
	l.add(layer, p)
	return nil
}
