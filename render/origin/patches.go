package origin

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// patch is one patch document with the path and the nodes' true positions.
type patch struct {
	path  string
	node  *yaml.Node
	named *yaml.Node // "target", nil where the patch names its target itself
}

// patchesOf reads the patches of one field of a layer, files and inline.
func (b *Build) patchesOf(l *Layer, field string) []patch {
	var list []patch
	for _, item := range source.Items(l.File.Node, field) {
		inline, file := item, ""
		var named *yaml.Node
		if item.Kind == yaml.MappingNode {
			_, inline = source.Field(item, "patch")
			_, named = source.Field(item, "target")
			file = source.Text(item, "path")
		} else if !strings.Contains(item.Value, "\n") {
			inline, file = nil, item.Value
		}
		switch {
		case file != "":
			name := path.Join(l.File.Dir, file)
			for _, d := range b.text(name).docs {
				list = append(list, patch{name, d, named})
			}
		case inline != nil && inline.Style&yaml.LiteralStyle != 0:
			for _, d := range b.text(l.File.Path).inner(inline).docs {
				list = append(list, patch{l.File.Path, d, named})
			}
		}
	}
	return list
}

// patches finds the strategic-merge or JSON 6902 patch of a layer that wrote the field, the last one first.
func (b *Build) patches(l *Layer, t *target) (Place, bool) {
	for _, field := range []string{"patches", "patchesStrategicMerge"} {
		for _, p := range slices.Backward(b.patchesOf(l, field)) {
			if !b.applies(p, t.doc) {
				continue
			}
			if p.node.Kind == yaml.SequenceNode {
				if place, ok := b.operation(p, t); ok {
					return place, true
				}
				continue
			}
			if s, ok := align(p.node, t.steps); ok && (!t.scalar || s.value.Value == t.value) {
				return b.at(p.path, anchor(s), Writer, "patch"), true
			}
		}
	}
	return Place{}, false
}

func (b *Build) json6902(l *Layer, t *target) (Place, bool) {
	for _, p := range slices.Backward(b.patchesOf(l, "patchesJson6902")) {
		if p.node.Kind == yaml.SequenceNode && b.applies(p, t.doc) {
			if place, ok := b.operation(p, t); ok {
				return place, true
			}
		}
	}
	return Place{}, false
}

// operation finds the last operation of a JSON 6902 patch (RFC 6902) that wrote the field.
func (b *Build) operation(p patch, t *target) (Place, bool) {
	want := strings.Split(t.pointer, "/")
	for _, op := range slices.Backward(p.node.Content) {
		op = source.Deref(op)
		kind := source.Text(op, "op")
		if kind != "add" && kind != "replace" {
			continue
		}
		_, value := source.Field(op, "value")
		have := strings.Split(source.Text(op, "path"), "/")
		if value == nil || len(have) > len(want) || !samePath(have, want[:len(have)]) {
			continue
		}
		rest, missing := resolve(value, strings.Join(append([]string{""}, want[len(have):]...), "/"))
		if missing != "" {
			continue
		}
		s := step{value: value, index: -1}
		if len(rest) > 0 {
			s = rest[len(rest)-1]
		}
		if t.scalar && s.value.Value != t.value {
			continue
		}
		return b.at(p.path, anchor(s), Writer, "patch"), true
	}
	return Place{}, false
}

// samePath compares pointers element by element; "-" appends and may be any index.
func samePath(have, want []string) bool {
	for i := range have {
		if have[i] == want[i] {
			continue
		}
		if _, err := strconv.Atoi(want[i]); err != nil || have[i] != "-" {
			return false
		}
	}
	return true
}

// applies says whether a patch can be for a document: by its target's selector, or by its own kind and name.
func (b *Build) applies(p patch, d *document) bool {
	if p.named != nil {
		if kind := source.Text(p.named, "kind"); kind != "" && !matchesWhole(kind, d.kind) {
			return false
		}
		name := source.Text(p.named, "name")
		if name == "" {
			return true
		}
		for known := range d.names {
			if matchesWhole(name, known) {
				return true
			}
		}
		return false
	}
	if p.node.Kind != yaml.MappingNode {
		return false
	}
	_, meta := source.Field(p.node, "metadata")
	_, known := d.names[source.Text(meta, "name")]
	return known && source.Text(p.node, "kind") == d.kind
}

// matchesWhole matches a selector's regular expression as kustomize does: against the whole value.
func matchesWhole(pattern, s string) bool {
	if pattern == s {
		return true
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return err == nil && re.MatchString(s)
}

// align finds the rendered field's counterpart in another document of the same resource: fields by name, list
// elements by what tells them from their siblings.
func align(n *yaml.Node, steps []step) (step, bool) {
	found := step{value: n, index: -1}
	for _, s := range steps {
		n = source.Deref(n)
		if n == nil {
			return step{}, false
		}
		next := step{token: s.token, index: -1}
		switch n.Kind {
		case yaml.MappingNode:
			next.key, next.value = source.Field(n, s.token)
		case yaml.SequenceNode:
			next.value = element(n, s)
		}
		if next.value == nil {
			return step{}, false
		}
		found, n = next, next.value
	}
	return found, true
}

func element(n *yaml.Node, s step) *yaml.Node {
	if s.index < 0 {
		return nil
	}
	for _, c := range n.Content {
		c = source.Deref(c)
		switch {
		case s.by != "" && source.Text(c, s.by) == s.name:
			return c
		case s.by == "" && s.name != "" && c.Kind == yaml.ScalarNode && c.Value == s.name:
			return c
		}
	}
	if s.name == "" && s.index < len(n.Content) {
		return source.Deref(n.Content[s.index])
	}
	return nil
}

// sourceField finds the field in the source document itself.
func (b *Build) sourceField(t *target) (Place, bool) {
	if t.doc.generator != "" {
		return b.generated(t.doc.path, t.doc.node, t.doc.generator, t)
	}
	s, ok := align(t.doc.node, t.steps)
	if !ok {
		return Place{}, false
	}
	p := b.at(t.doc.path, anchor(s), Search, "manifest")
	if t.scalar && s.value.Value != t.value {
		p.How = Enclosing
	}
	return p, true
}
