package origin

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

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
	for k := 0; k+1 < len(n.Content); k += 2 {
		if v.get(n.Content[k].Value) == nil {
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
