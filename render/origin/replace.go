package origin

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// replacement runs an entry of replacements: itself, or those in the file it names
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/replacements/).
func (s *simulation) replacement(c config, items []*item) []*item {
	file := source.Text(c.node, "path")
	if file == "" {
		s.replaceOne(c, items)
		return items
	}
	name := c.layer.real(path.Join(path.Dir(c.path), file))
	for _, d := range s.b.text(name).docs {
		list := []*yaml.Node{d}
		if d.Kind == yaml.SequenceNode {
			list = d.Content
		}
		for _, n := range list {
			s.replaceOne(config{layer: c.layer, path: name, node: source.Deref(n), role: c.role}, items)
		}
	}
	return items
}

func (s *simulation) replaceOne(c config, items []*item) {
	from := s.replacementSource(c, items)
	if from == nil {
		return
	}
	for _, target := range source.Items(c.node, "targets") {
		_, chosen := source.Field(target, "select")
		if chosen == nil {
			continue
		}
		_, options := source.Field(target, "options")
		paths := []string{"metadata.name"}
		if listed := source.Items(target, "fieldPaths"); len(listed) > 0 {
			paths = nil
			for _, p := range listed {
				paths = append(paths, p.Value)
			}
		}
		var rejected []*item
		for _, reject := range source.Items(target, "reject") {
			rejected = append(rejected, selected(reject, items)...)
		}
		for _, i := range selected(chosen, items) {
			if slices.Contains(rejected, i) {
				continue
			}
			i.remember()
			for _, p := range paths {
				s.assign(i.root, splitPath(p), from, options)
			}
			i.remember()
		}
	}
}

// replacementSource answers the value that a replacement copies, marked as the replacement's.
func (s *simulation) replacementSource(c config, items []*item) *value {
	if _, literal := source.Field(c.node, "sourceValue"); literal != nil {
		return scalarValue(literal.Value, s.mark(c, literal))
	}
	_, from := source.Field(c.node, "source")
	if from == nil {
		return nil
	}
	chosen := selectedExactly(from, items)
	if chosen == nil {
		return nil
	}
	field := source.Text(from, "fieldPath")
	if field == "" {
		field = "metadata.name"
	}
	found := matches(chosen.root, splitPath(field))
	if len(found) == 0 {
		return nil
	}
	v := s.copyOf(found[0])
	if v == nil {
		return nil
	}
	if _, options := source.Field(from, "options"); options != nil {
		if delimiter := source.Text(options, "delimiter"); delimiter != "" {
			parts := strings.Split(v.text, delimiter)
			if k := index(cmpDefault(source.Text(options, "index"), "0")); k >= 0 && k < len(parts) {
				v.text = parts[k]
			}
		}
	}
	if v.kind == yaml.ScalarNode && v.by.known() {
		v.by.how, v.by.role, v.by.step = Writer, c.role, s.step
	}
	return v
}

func cmpDefault(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// selectedExactly answers the one item that a replacement's source names: no regular expressions.
func selectedExactly(from *yaml.Node, items []*item) *item {
	fits := func(field, have string) bool { want := source.Text(from, field); return want == "" || want == have }
	for _, i := range items {
		for _, id := range append([]identity{i.id()}, i.ids...) {
			group, version := splitVersion(id.apiVersion)
			if fits("group", group) && fits("version", version) && fits("kind", id.kind) && fits("name", id.name) && fits("namespace", id.namespace) {
				return i
			}
		}
	}
	return nil
}

// splitPath takes a field path apart: at dots, but not at those in brackets or behind a backslash. A dot in front
// does not count.
func splitPath(p string) []string {
	var parts []string
	var part strings.Builder
	depth := 0
	p = strings.TrimPrefix(p, ".")
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\' && i+1 < len(p) && p[i+1] == '.':
			part.WriteByte('.')
			i++
		case c == '.' && depth == 0:
			parts = append(parts, part.String())
			part.Reset()
		default:
			if c == '[' {
				depth++
			} else if c == ']' {
				depth--
			}
			part.WriteByte(c)
		}
	}
	return append(parts, part.String())
}

// matches lists the values at a field path: keys, indexes, [key=value] and *.
func matches(v *value, path []string) []*value {
	if v == nil {
		return nil
	}
	if len(path) == 0 {
		return []*value{v}
	}
	token, rest := path[0], path[1:]
	var list []*value
	switch {
	case v.kind == yaml.MappingNode && token == "*":
		for _, f := range v.fields {
			list = append(list, matches(f.value, rest)...)
		}
	case v.kind == yaml.MappingNode:
		return matches(v.get(bare(token)), rest)
	case v.kind == yaml.SequenceNode:
		for k, item := range v.items {
			key, want, _ := strings.Cut(strings.Trim(token, "[]"), "=")
			if token == "*" || token == strconv.Itoa(k) || strings.HasPrefix(token, "[") && (key == "" && item.text == want || key != "" && item.get(key) != nil && item.str(key) == want) {
				list = append(list, matches(item, rest)...)
			}
		}
	}
	return list
}

// bare takes the brackets off a key that is written in them for its dots.
func bare(token string) string {
	if len(token) > 2 && token[0] == '[' && token[len(token)-1] == ']' && !strings.Contains(token, "=") {
		return token[1 : len(token)-1]
	}
	return token
}

// assign writes a replacement's value to a field path of a resource.
func (s *simulation) assign(root *value, path []string, from *value, options *yaml.Node) {
	found := matches(root, path)
	if len(found) == 0 {
		if holder := scalarAbove(root, path); holder != nil {
			// YAML or JSON inside a string: the text is its own and the value's.
			holder.loose = true
			holder.chain = append([]mark{from.by}, holder.chain...)
			return
		}
		if source.Text(options, "create") != "true" {
			return
		}
		made := root
		for k, token := range path {
			if made.kind == yaml.SequenceNode {
				return
			}
			token = bare(token)
			next := made.get(token)
			if next == nil {
				next = mapValue(from.by)
				if k == len(path)-1 {
					next = scalarValue("", mark{})
				}
				made.put(token, next)
			}
			made = next
		}
		found = []*value{made}
	}
	delimiter := source.Text(options, "delimiter")
	for _, to := range found {
		if to.kind != yaml.ScalarNode || from.kind != yaml.ScalarNode {
			if c := s.copyOf(from); c != nil {
				*to = *c
			}
			continue
		}
		text := from.text
		if delimiter != "" {
			k, err := strconv.Atoi(cmpDefault(source.Text(options, "index"), "0"))
			parts := strings.Split(to.text, delimiter)
			switch {
			case err != nil:
			case k < 0:
				parts = append([]string{text}, parts...)
			case k >= len(parts):
				parts = append(parts, text)
			default:
				parts[k] = text
			}
			text = strings.Join(parts, delimiter)
		}
		old := to.by
		to.write(text, from.by)
		if !old.known() {
			to.chain = nil
		}
		to.chain = append(slices.Clone(from.chain), to.chain...)
	}
}

// scalarAbove answers the scalar that a field path leads into, nil if none.
func scalarAbove(v *value, path []string) *value {
	for k := range path {
		if found := matches(v, path[:k]); len(found) > 0 && found[0].kind == yaml.ScalarNode {
			return found[0]
		}
	}
	return nil
}

// variable is an entry of vars, with the item it reads.
type variable struct {
	name, field string
	item        *item
}

// collectVars reads the vars of a layer
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/vars/).
func (s *simulation) collectVars(l *Layer, items []*item) {
	for _, n := range source.Items(l.File.Node, "vars") {
		_, ref := source.Field(n, "objref")
		v := variable{name: source.Text(n, "name"), field: cmpDefault(textAt(n, "fieldref", "fieldpath"), textAt(n, "fieldref", "fieldPath"))}
		v.field = cmpDefault(v.field, "metadata.name")
		for _, i := range items {
			if i.id().kind == source.Text(ref, "kind") && i.known(source.Text(ref, "name")) {
				v.item = i
				break
			}
		}
		if v.item != nil && v.name != "" {
			s.vars = append(s.vars, v)
		}
	}
}

// resolveVars writes the values of vars where "$(NAME)" stands.
func (s *simulation) resolveVars(items []*item) {
	if len(s.vars) == 0 {
		return
	}
	s.step++
	for _, i := range items {
		i.root.scalars(func(v *value) {
			if !strings.Contains(v.text, "$(") {
				return
			}
			for _, x := range s.vars {
				reference := "$(" + x.name + ")"
				if !strings.Contains(v.text, reference) {
					continue
				}
				found := matches(x.item.root, splitPath(x.field))
				if len(found) == 0 || found[0].kind != yaml.ScalarNode || found[0] == v {
					continue
				}
				whole := v.text == reference
				v.text = strings.ReplaceAll(v.text, reference, found[0].text)
				by := found[0].by
				by.how, by.role, by.step = Writer, "vars", s.step
				if whole {
					v.chain = append([]mark{v.by}, v.chain...)
					v.by = by
				} else {
					v.chain = append([]mark{by}, v.chain...)
				}
			}
		})
	}
}
