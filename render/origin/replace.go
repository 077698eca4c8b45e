package origin

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/utils"

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
	name := c.layer.sibling(file)
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
				s.assign(i.root, splitPath(p.Value), from, options, c.mark(p))
			}
			i.remember()
		}
	}
}

// replacementSource returns the value that a replacement copies, with the mark of the replacement.
func (s *transformation) replacementSource(c config, items []*item) *value {
	if _, literal := doc.Field(c.node, "sourceValue"); literal != nil {
		return scalarValue(literal.Value, c.mark(literal))
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
	if delimiter := doc.Text(from, "options", "delimiter"); delimiter != "" {
		k := index(cmp.Or(doc.Text(from, "options", "index"), "0"))
		if start, end, ok := elementIn(v.text, delimiter, k); ok {
			v.text, v.pieces = v.text[start:end], cut(v.parts(), start, end)
		}
	}
	if v.kind == yaml.ScalarNode && v.by.known() {
		v.pieces = slices.Clone(v.parts())
		for k := range v.pieces {
			c.read(&v.pieces[k].by)
		}
		if c.read(&v.by); len(v.pieces) == 1 {
			v.by, v.pieces = v.pieces[0].by, nil
		}
	}
	return v
}

// read changes the mark of a value to that of the replacement that reads it.
func (c config) read(by *mark) { by.how, by.role = Writer, c.role }

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

// fieldPath walks a field path of replacements: keys, indexes, [key=expression] and *.
type fieldPath struct {
	create yaml.Kind // kind of missing values that are created; 0: none are
	by     mark      // mark of created values
}

// splitPath splits a field path at dots, except dots in brackets or after a backslash.
func splitPath(path string) []string { return utils.SmarterPathSplitter(path, ".") }

// matches lists the values that a field path selects.
func matches(v *value, path []string) []*value { return fieldPath{}.find(v, path) }

func (f fieldPath) find(v *value, path []string) []*value {
	if v == nil {
		return nil
	}
	if len(path) == 0 {
		return []*value{v}
	}
	token, rest := path[0], path[1:]
	if v.kind == yaml.MappingNode {
		child := v.get(bare(token))
		if child == nil && f.create != 0 && token != "*" {
			child = f.made(rest)
			v.put(bare(token), child)
		}
		return f.find(child, rest)
	}
	if v.kind != yaml.SequenceNode {
		return nil
	}
	var list []*value
	key, want, isMatch := strings.Cut(strings.Trim(token, "[]"), "=")
	switch k := index(token); {
	case token == "*":
		for _, item := range v.items {
			list = append(list, f.find(item, rest)...)
		}
	case k >= 0:
		if k == len(v.items) && f.create != 0 {
			v.items = append(v.items, f.made(rest))
		}
		if k < len(v.items) {
			return f.find(v.items[k], rest)
		}
	case isMatch && strings.HasPrefix(token, "["):
		fits := matching(want)
		for _, item := range v.items {
			if key == "" && item.kind == yaml.ScalarNode && fits(item.text) {
				list = append(list, item)
			} else if field := item.get(key); field != nil && field.kind == yaml.ScalarNode && fits(field.text) {
				list = append(list, f.find(item, rest)...)
			}
		}
		if len(list) == 0 && f.create != 0 {
			by := f.by
			if before, _, ok := strings.Cut(by.node.Value, "="+want+"]"); ok {
				from := len(before) + len("=")
				by = by.within(by.node.Value, from, from+len(want))
			}
			item := scalarValue(want, by)
			if key != "" {
				item = mapValue(f.by)
				item.put(key, scalarValue(want, by))
			}
			v.items = append(v.items, item)
			return f.find(item, rest)
		}
	}
	return list
}

// matching returns the test of an expression in brackets, which may match only part of a value.
func matching(pattern string) func(string) bool {
	re, err := regexp.Compile(pattern)
	return func(s string) bool { return s == pattern || err == nil && re.MatchString(s) }
}

// made returns the value that is created for a missing one: a list, if an index follows.
func (f fieldPath) made(rest []string) *value {
	switch {
	case len(rest) == 0:
		return &value{kind: f.create}
	case index(rest[0]) >= 0 || strings.HasPrefix(rest[0], "[") && strings.Contains(rest[0], "="):
		return &value{kind: yaml.SequenceNode, by: f.by}
	}
	return mapValue(f.by)
}

// bare removes the brackets of a key that is in brackets because it contains dots.
func bare(token string) string {
	if len(token) > 2 && token[0] == '[' && token[len(token)-1] == ']' && !strings.Contains(token, "=") {
		return token[1 : len(token)-1]
	}
	return token
}

// variable is an entry of vars, with the item that it reads.
type variable struct {
	name, field string
	item        *item
}

// collectVars reads the vars of a layer (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/vars/).
func (s *transformation) collectVars(l *Layer, items []*item) {
	for _, n := range doc.Items(l.File.Node, "vars") {
		_, ref := doc.Field(n, "objref")
		v := variable{name: doc.Text(n, "name"),
			field: cmp.Or(doc.Text(n, "fieldref", "fieldpath"), doc.Text(n, "fieldref", "fieldPath"), "metadata.name")}
		for _, i := range items {
			if namespace := doc.Text(ref, "namespace"); i.id().kind == doc.Text(ref, "kind") &&
				i.known(doc.Text(ref, "name")) &&
				(namespace == "" || slices.ContainsFunc(append(i.ids, i.id()),
					func(id identity) bool { return id.effective() == namespace })) {
				v.item = i
				break
			}
		}
		if v.item != nil && v.name != "" {
			s.vars = append(s.vars, v)
		}
	}
}

// resolveVars replaces "$(NAME)" by the values of vars.
func (s *transformation) resolveVars(items []*item, specs []fieldSpec) {
	if len(s.vars) == 0 {
		return
	}
	for _, i := range items {
		for _, f := range specs {
			f.apply(i, 0, mark{}, func(v *value) {
				s.resolveVar(v)
				for _, field := range v.fields {
					s.resolveVar(field.value)
				}
				for _, item := range v.items {
					s.resolveVar(item)
				}
			})
		}
	}
}

// indexes matches indexes in a var's field path, as in "containers[0]".
var indexes = regexp.MustCompile(`\[([0-9]+)\]`)

func (s *transformation) resolveVar(v *value) {
	if v.kind != yaml.ScalarNode || !strings.Contains(v.text, "$(") {
		return
	}
	for _, x := range s.vars {
		reference := "$(" + x.name + ")"
		if !strings.Contains(v.text, reference) {
			continue
		}
		found := matches(x.item.root, splitPath(indexes.ReplaceAllString(x.field, ".$1")))
		if len(found) == 0 || found[0].kind != yaml.ScalarNode || found[0] == v {
			continue
		}
		by := found[0].by
		by.how, by.role = Writer, "vars"
		if v.text == reference {
			v.write(found[0].text, by)
		} else {
			v.pieces = substituted(v, reference, piece{found[0].text, by})
			v.text = strings.ReplaceAll(v.text, reference, found[0].text)
			v.chain = append([]link{{by, found[0].text}}, v.chain...)
		}
	}
}

// substituted returns the pieces of a text with a piece in place of a reference; nil where there are too many.
func substituted(v *value, reference string, to piece) (pieces []piece) {
	if strings.Count(v.text, reference) > maxPieces {
		return nil
	}
	at := 0
	for between := range strings.SplitSeq(v.text, reference) {
		if at > 0 {
			pieces = append(pieces, to)
		}
		pieces = append(pieces, cut(v.parts(), at, at+len(between))...)
		at += len(between) + len(reference)
	}
	return pieces
}
