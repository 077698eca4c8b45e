package origin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// step is one element of a pointer, resolved in a rendered resource.
type step struct {
	token string
	key   *yaml.Node // of a map's field
	value *yaml.Node
	index int    // of an element of a list, else -1
	name  string // distinguishes an element from its siblings: a field of it, or a scalar itself
	by    string // the field that name is from; empty for a scalar
}

// Locate returns the place of the field at a pointer into the rendered resource at an index. A field that does not exist
// has the place of its nearest existing parent.
func (b *Build) Locate(index int, pointer string) Place {
	resource := b.resource(index)
	steps, missing := resolve(resource, pointer)
	d := b.owner(resource)
	if p, ok := b.taken(d, steps, missing); ok {
		return p
	}
	for depth := len(steps); depth > 0; depth-- {
		rest := tokens(steps[depth:]) + missing
		if rest != "" && d != nil && d.root.follow(steps[:depth]).onTheWay() {
			continue
		}
		p, ok := b.field(d, steps[:depth])
		if !ok {
			continue
		}
		if rest != "" {
			p.Missing, p.How = rest, Enclosing
		}
		return p
	}
	p := b.whole(resource, d)
	p.Missing = tokens(steps) + missing
	if p.Missing != "" {
		p.How = Enclosing
	}
	return p
}

// taken returns the place of the patch that took a missing field away from the map that would have it, or the only field of
// a map that is empty now.
func (b *Build) taken(i *item, steps []step, missing string) (Place, bool) {
	if i == nil || len(steps) == 0 && missing == "" {
		return Place{}, false // the object as a whole is there
	}
	v := i.root.follow(steps)
	if v == nil || len(v.taken) == 0 {
		return Place{}, false
	}
	var key string
	if missing != "" {
		key = doc.Tokens(missing)[0]
	} else if last := steps[len(steps)-1].value; last.Kind == yaml.MappingNode && len(last.Content) == 0 && len(v.taken) == 1 {
		key = slices.Collect(maps.Keys(v.taken))[0]
	}
	by, ok := v.taken[key]
	if !ok {
		return Place{}, false
	}
	p := b.place(by, nil)
	p.Missing, p.How = missing, Enclosing
	p.SuggestedFix = fmt.Sprintf("keep %s: this takes it away", key)
	return p, true
}

func tokens(steps []step) string {
	var s strings.Builder
	for _, st := range steps {
		s.WriteString("/" + jsonpointer.Escape(st.token))
	}
	return s.String()
}

func content(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	return n
}

// resolve follows a pointer as far as it exists. missing is the remaining part.
func resolve(n *yaml.Node, pointer string) (steps []step, missing string) {
	path := doc.Tokens(strings.TrimSuffix(pointer, "/"))
	for i, e := range doc.Follow(n, path) {
		next := step{token: path[i], key: e.Key, value: e.Value, index: -1}
		if e.Key == nil {
			next.index = index(path[i])
			next.name, next.by = elementName(e.Value)
		}
		steps = append(steps, next)
	}
	return steps, doc.Pointer(path[len(steps):]...)
}

// elementName returns what distinguishes an element of a list from its siblings: one of the merge keys of the built-in
// types (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy).
func elementName(n *yaml.Node) (name, by string) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, ""
	}
	for _, key := range []string{"name", "mountPath", "devicePath", "containerPort", "port", "key", "ip", "topologyKey",
		"type", "host", "path"} {
		if v := doc.Text(n, key); v != "" {
			return v, key
		}
	}
	return "", ""
}

// anchor returns the node whose place is that of a field. For a scalar it is the value, for a map or list its key, or
// the first line of a list's element.
func anchor(s step) *yaml.Node {
	if s.value.Kind == yaml.ScalarNode || s.key == nil {
		if s.value.Kind == yaml.MappingNode && len(s.value.Content) > 0 && s.value.Style&yaml.FlowStyle == 0 {
			return s.value.Content[0]
		}
		return s.value
	}
	return s.key
}

// carried returns the place of a field by the identity of its node.
func (b *Build) carried(s step) (Place, bool) {
	n := anchor(s)
	if n.Kind == yaml.ScalarNode {
		p, ok := b.sameScalar(n)
		if ok {
			p.How, p.Role = Identity, b.role(p.Path)
		}
		return p, ok
	}
	path, line, column, ok := b.files.Position(n.Line, n.Column)
	if !ok {
		return Place{}, false
	}
	p := Place{Path: path, StartLine: line, EndLine: line, How: Identity, Role: b.role(path)}
	b.flow(&p, column)
	return p, true
}

// role is "manifest" for files that are listed as resources and "patch" for the others.
func (b *Build) role(path string) string {
	if b.manifest[path] {
		return "manifest"
	}
	return "patch"
}

// whole is the place of a resource as such.
func (b *Build) whole(resource *yaml.Node, i *item) Place {
	if i != nil {
		if i.doc != nil {
			return Place{Path: i.doc.path, StartLine: i.doc.node.Line, EndLine: i.doc.node.Line, How: Identity, Role: "manifest"}
		}
		return b.place(i.root.by, nil)
	}
	for key := range doc.Pairs(resource) {
		if path, line, _, ok := b.files.Position(key.Line, key.Column); ok {
			return Place{Path: path, StartLine: line, EndLine: line, How: Identity, Role: b.role(path)}
		}
	}
	return Place{Path: b.root.File.Path, StartLine: 1, EndLine: 1, How: Enclosing, Role: "kustomization"}
}

// place returns the place of a mark, with the places of what it replaced.
func (b *Build) place(by mark, chain []link) Place {
	var p Place
	if by.node != nil {
		p = b.at(by.path, by.node, by.how, by.role)
		b.narrow(&p, by)
	} else {
		p = Place{Path: by.path, StartLine: by.line, EndLine: by.end, How: by.how, Role: by.role}
	}
	last := Link{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, Role: p.Role}
	for _, m := range chain {
		if !m.known() {
			continue
		}
		l := Link{Path: m.path, StartLine: m.line, EndLine: m.end, Role: m.role}
		if m.node != nil {
			l.StartLine, l.EndLine = m.node.Line, m.node.Line+blockLines(m.node)
		}
		if l != last {
			last = l
			l.Value = m.text
			p.Chain = append(p.Chain, l)
		}
	}
	return p
}

// narrow limits a place on one line to the part of a scalar that a mark refers to.
func (b *Build) narrow(p *Place, by mark) {
	if by.part.to == 0 || p.EndColumn == 0 {
		return
	}
	columns := flowColumns([]rune(b.text(p.Path).lines[p.StartLine-1]), by.node)
	if by.part.to <= len(columns) {
		p.StartColumn, p.EndColumn = columns[by.part.from], columns[by.part.to-1]+1
	}
}

// field returns the place of an existing field of a kustomization's resource, false where nothing is known.
//
// It uses two sources: the line of the node, if kustomize kept it, and the simulated value, if it is the rendered one.
func (b *Build) field(i *item, steps []step) (Place, bool) {
	last := steps[len(steps)-1]
	carried, ok := b.carried(last)
	if i == nil {
		return carried, ok
	}
	ok = ok && !i.reparsed
	v := i.root.follow(steps)
	if last.value.Kind != yaml.ScalarNode {
		return b.holder(i, steps, v, carried, ok)
	}
	text := last.value.Value
	if v != nil && v.kind != yaml.ScalarNode {
		v = nil
	}
	agrees := v != nil && v.by.known() && (v.approximate || v.text == text || v.null && last.value.ShortTag() == "!!null")
	switch {
	case agrees && ok && written(v.by) &&
		(!forgets(steps) || v.by.path == carried.Path && v.by.node != nil && v.by.node.Line == carried.StartLine):
		p := b.withChain(carried, v)
		p.Spans = b.spans(v)
		return p, true
	case agrees:
		p := b.place(v.by, v.chain)
		p.Spans = b.spans(v)
		return p, true
	default:
		if p, found := b.reference(steps, v, text); found {
			return p, true
		}
	}
	if _, _, _, any := b.files.Position(last.value.Line, last.value.Column); ok || any && v == nil {
		if p, found := b.carried(last); found {
			return p, true
		}
	}
	if v != nil && v.by.known() {
		p := b.place(v.by, v.chain)
		p.How = Enclosing
		return p, true
	}
	return Place{}, false
}

// holder returns the place of a map or a list: its key, or what created it. A map or list that replaced another one
// keeps the key of the old one, so the simulated value is preferred.
func (b *Build) holder(i *item, steps []step, v *value, carried Place, ok bool) (Place, bool) {
	n := steps[len(steps)-1].value
	known := v != nil && v.by.known()
	if known && (!ok || v.like(n)) {
		p := b.place(v.by, nil)
		if ok && p.Path == carried.Path && p.StartLine == carried.StartLine {
			p = carried
		}
		return p, true
	}
	if ok {
		return carried, true
	}
	var next step
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 1:
		next = step{token: n.Content[0].Value, key: n.Content[0], value: doc.Deref(n.Content[1]), index: -1}
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		next = step{token: "0", value: doc.Deref(n.Content[0])}
		next.name, next.by = elementName(next.value)
	default:
		return Place{}, false
	}
	return b.field(i, append(slices.Clone(steps), next))
}

// like reports whether a rendered map or list has the same keys, or the same number of elements, as the simulated one.
func (v *value) like(n *yaml.Node) bool {
	if v.kind != n.Kind {
		return false
	}
	if n.Kind == yaml.SequenceNode {
		return len(v.items) == len(n.Content)
	}
	for key := range doc.Pairs(n) {
		if v.get(key.Value) == nil {
			return false
		}
	}
	return len(v.fields)*2 == len(n.Content)
}

// written reports whether a mark is of a manifest or a patch, whose lines kustomize keeps.
func written(m mark) bool { return m.role == "manifest" || m.role == "patch" }

// forgets reports whether kustomize does not keep the lines of a field, because it sets the field anew.
func forgets(steps []step) bool {
	switch p := tokens(steps); p {
	case "/apiVersion", "/kind", "/metadata/name", "/metadata/namespace":
		return true
	default:
		return strings.HasPrefix(p, "/metadata/annotations/")
	}
}

// withChain adds the simulated chain of replaced values to a place.
func (b *Build) withChain(p Place, v *value) Place {
	marks := v.history()
	for k, m := range marks {
		if m.path == p.Path && m.node != nil && m.node.Line == p.StartLine {
			p.Chain = b.place(m.mark, marks[k+1:]).Chain
			return p
		}
	}
	return p
}

// reference returns the place of a field that refers to another resource by name. If a prefix or suffix changed that
// name, it is the place of that; else it is the reference itself. A namespace next to the name is that of the resource,
// too.
func (b *Build) reference(steps []step, v *value, text string) (Place, bool) {
	var chain []link
	if v != nil {
		chain = v.history()
	}
	if last := steps[len(steps)-1]; last.token == "namespace" && len(steps) > 1 {
		beside := steps[len(steps)-2].value
		kind := cmp.Or(doc.Text(beside, "kind"), "Service")
		for _, other := range b.items[doc.Text(beside, "name")] {
			namespace := other.root.at("metadata", "namespace")
			if namespace != nil && namespace.text == text && other.root.str("kind") == kind {
				return b.place(namespace.by, slices.Concat(namespace.chain, chain)), true
			}
		}
	}
	if v == nil {
		return Place{}, false
	}
	for _, other := range b.items[text] {
		name := other.root.at("metadata", "name")
		if name == nil || !other.known(v.text) {
			continue
		}
		if name.by.role == "namePrefix" || name.by.role == "nameSuffix" || name.by.role == "transformers" {
			above := slices.IndexFunc(name.chain, func(l link) bool { return l.text == v.text })
			return b.place(name.by, slices.Concat(name.chain[:max(above, 0)], chain)), true
		}
		if v.by.known() {
			return b.place(v.by, []link{{mark: name.by}}), true
		}
	}
	return Place{}, false
}
