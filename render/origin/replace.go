package origin

import (
	"cmp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// replacement runs an entry of replacements, or the entries in the file that it names
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/replacements/).
func (s *transformation) replacement(c config, items []*item) {
	file := doc.Text(c.node, "path")
	if file == "" {
		s.replaceOne(c, items)
		return
	}
	name := c.file(file)
	for _, d := range s.b.text(name).documents() {
		list := []*yaml.Node{d}
		if d.Kind == yaml.SequenceNode {
			list = d.Content
		}
		for _, n := range list {
			s.replaceOne(config{layer: c.layer, path: name, node: doc.Deref(n), role: c.role}, items)
		}
	}
}

func (s *transformation) replaceOne(c config, items []*item) {
	from := s.replacementSource(c, items)
	if from == nil {
		return
	}
	for _, target := range doc.Items(c.node, "targets") {
		_, chosen := doc.Field(target, "select")
		if chosen == nil {
			continue
		}
		_, options := doc.Field(target, "options")
		paths := doc.Items(target, "fieldPaths")
		if len(paths) == 0 {
			paths = []*yaml.Node{{Kind: yaml.ScalarNode, Value: "metadata.name", Line: c.node.Line, Column: c.node.Column}}
		}
		var rejected []*item
		for _, reject := range doc.Items(target, "reject") {
			rejected = append(rejected, targeted(reject, items)...)
		}
		for _, i := range targeted(chosen, items) {
			if slices.Contains(rejected, i) {
				continue
			}
			i.remember()
			for _, p := range paths {
				s.assign(i.root, splitPath(p.Value), from, options, s.mark(c, p))
			}
			i.remember()
		}
	}
}

// replacementSource returns the value that a replacement copies, with the mark of the replacement.
func (s *transformation) replacementSource(c config, items []*item) *value {
	if _, literal := doc.Field(c.node, "sourceValue"); literal != nil {
		return scalarValue(literal.Value, s.mark(c, literal))
	}
	_, from := doc.Field(c.node, "source")
	if from == nil {
		return nil
	}
	chosen := selectedExactly(from, items)
	if chosen == nil {
		return nil
	}
	field := cmp.Or(doc.Text(from, "fieldPath"), "metadata.name")
	found := matches(chosen.root, splitPath(field))
	if len(found) == 0 {
		return nil
	}
	v := s.copyOf(found[0])
	if v == nil {
		return nil
	}
	if _, options := doc.Field(from, "options"); options != nil {
		if delimiter := doc.Text(options, "delimiter"); delimiter != "" {
			k := index(cmp.Or(doc.Text(options, "index"), "0"))
			if start, end, ok := elementIn(v.text, delimiter, k); ok {
				v.text, v.pieces = v.text[start:end], cut(v.parts(), start, end)
			}
		}
	}
	if v.kind == yaml.ScalarNode && v.by.known() {
		v.pieces = slices.Clone(v.parts())
		for k := range v.pieces {
			s.read(c, &v.pieces[k].by)
		}
		if s.read(c, &v.by); len(v.pieces) == 1 {
			v.by, v.pieces = v.pieces[0].by, nil
		}
	}
	return v
}

// read changes the mark of a value to that of the replacement that reads it.
func (s *transformation) read(c config, by *mark) { by.how, by.role, by.step = Writer, c.role, s.step }

// selectedExactly returns the item that a replacement's source selects, without regular expressions.
func selectedExactly(from *yaml.Node, items []*item) *item {
	kind, name, within := gvkOf(from), doc.Text(from, "name"), identity{namespace: doc.Text(from, "namespace")}
	for _, i := range items {
		for _, id := range append([]identity{i.id()}, i.ids...) {
			if id.gvk().IsSelected(&kind) && (name == "" || id.name == name) &&
				(within.namespace == "" || within.effective() == id.effective()) {
				return i
			}
		}
	}
	return nil
}

// assign writes a replacement's value to a field path of a resource. by is the mark of values that it creates on the
// way.
func (s *transformation) assign(root *value, path []string, from *value, options *yaml.Node, by mark) {
	if holder := scalarAncestor(root, path); holder != nil {
		// YAML or JSON in a string: both the text and the value contribute to it.
		holder.chain = append(from.history(), holder.chain...)
		holder.approximate = true
		return
	}
	walk := fieldPath{by: by}
	if doc.Text(options, "create") == "true" {
		walk.create = from.kind
	}
	found := walk.find(root, path)
	delimiter := doc.Text(options, "delimiter")
	for _, to := range found {
		if to.kind != yaml.ScalarNode || from.kind != yaml.ScalarNode {
			if c := s.copyOf(from); c != nil {
				*to = *c
			}
			continue
		}
		pieces := from.parts()
		if delimiter != "" {
			pieces = spliced(to, pieces, delimiter, cmp.Or(doc.Text(options, "index"), "0"))
		}
		old := to.by
		to.compose(pieces, from.by)
		if !old.known() {
			to.chain = nil
		}
		to.chain = append(slices.Clone(from.chain), to.chain...)
	}
}

// spliced returns a text in which pieces replace the element with an index, where a delimiter separates elements. A
// negative index adds the pieces at the start, one that is too large adds them at the end.
func spliced(to *value, pieces []piece, delimiter, at string) []piece {
	k, err := strconv.Atoi(at)
	if err != nil {
		return to.parts()
	}
	between := []piece{{text: delimiter, by: to.by}}
	start, end, ok := elementIn(to.text, delimiter, k)
	switch {
	case k < 0:
		return slices.Concat(pieces, between, to.parts())
	case !ok:
		return slices.Concat(to.parts(), between, pieces)
	}
	return slices.Concat(cut(to.parts(), 0, start), pieces, cut(to.parts(), end, len(to.text)))
}

// scalarAncestor returns the scalar that contains the target of a field path, nil if none does.
func scalarAncestor(v *value, path []string) *value {
	for k := 1; k < len(path); k++ {
		if found := matches(v, path[:k]); len(found) > 0 && found[0].kind == yaml.ScalarNode {
			return found[0]
		}
	}
	return nil
}
