package origin

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// place makes an answer of a mark and of what it replaced.
func (b *Build) place(by mark, chain []mark) Place {
	var p Place
	if by.node != nil {
		p = b.at(by.path, by.node, by.how, by.role)
	} else {
		p = Place{Path: by.path, StartLine: by.line, EndLine: by.end, How: by.how, Role: by.role}
	}
	last := p.link()
	for _, m := range chain {
		if !m.known() {
			continue
		}
		l := Link{Path: m.path, StartLine: m.line, EndLine: m.end, Role: m.role}
		if m.node != nil {
			l.StartLine, l.EndLine = m.node.Line, max(m.node.Line, lastLine(m.node))
			if m.node.Kind != yaml.ScalarNode {
				l.EndLine = l.StartLine
			}
		}
		if l != last {
			p.Chain, last = append(p.Chain, l), l
		}
	}
	return p
}

// field answers the place of an existing field of a kustomization's resource, false where nothing is known.
//
// Three things know something: the node, if kustomize carried it; the steps, if their value is the rendered one;
// and what steps offer to places that only the rendered value tells.
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
	agrees := v != nil && v.by.known() && (v.loose || v.text == text || v.null && last.value.ShortTag() == "!!null")
	if o, found := b.offered(i, steps, v, agrees, ok); found {
		var chain []mark
		if v != nil {
			chain = append([]mark{v.by}, v.chain...)
		}
		return b.place(o, chain), true
	}
	switch {
	case agrees && ok && written(v.by) && (!forgets(steps) || v.by.path == carried.Path && v.by.node != nil && v.by.node.Line == carried.StartLine):
		return b.withChain(carried, v), true
	case agrees:
		return b.place(v.by, v.chain), true
	case v != nil:
		if p, found := b.reference(v, text); found {
			return p, true
		}
	}
	if _, _, _, any := b.position(last.value); ok || any && v == nil {
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

// holder answers the place of a map or a list: its key, or what wrote its first scalar.
func (b *Build) holder(i *item, steps []step, v *value, carried Place, ok bool) (Place, bool) {
	if ok {
		return carried, true
	}
	n := steps[len(steps)-1].value
	known := v != nil && v.kind == n.Kind && v.by.known()
	if known && (written(v.by) || len(n.Content) == 0) {
		return b.place(v.by, nil), true
	}
	var next step
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 1:
		next = step{token: n.Content[0].Value, key: n.Content[0], value: source.Deref(n.Content[1]), index: -1}
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		next = step{token: "0", value: source.Deref(n.Content[0])}
		next.name, next.by = elementName(next.value)
	default:
		return Place{}, false
	}
	if p, found := b.field(i, append(slices.Clone(steps), next)); found || !known {
		return p, found
	}
	return b.place(v.by, nil), true
}

// written says whether a mark is of a manifest or a patch, whose nodes kustomize carries.
func written(m mark) bool { return m.role == "manifest" || m.role == "patch" }

// forgets says whether the lines of a field do not survive a build: kustomize sets them anew.
func forgets(steps []step) bool {
	switch p := tokens(steps); p {
	case "/apiVersion", "/kind", "/metadata/name", "/metadata/namespace":
		return true
	default:
		return strings.HasPrefix(p, "/metadata/annotations/")
	}
}

// withChain adds to a carried place what the steps know it replaced.
func (b *Build) withChain(p Place, v *value) Place {
	marks := append([]mark{v.by}, v.chain...)
	for k, m := range marks {
		if m.path == p.Path && m.node != nil && m.node.Line == p.StartLine {
			p.Chain = b.place(m, marks[k+1:]).Chain
			return p
		}
	}
	return p
}

// offered answers the step that wrote a field in passing: the last one whose value it is.
func (b *Build) offered(i *item, steps []step, v *value, agrees, carried bool) (mark, bool) {
	last := steps[len(steps)-1]
	holder := ""
	if len(steps) > 1 {
		holder = steps[len(steps)-2].token
	}
	missing := v == nil
	if missing && last.token != "namespace" && last.token != "replicas" {
		for _, o := range slices.Backward(i.offers) {
			if (o.kind == label || o.kind == annotation) && o.key == last.token && o.text == last.value.Value {
				return o.by, true
			}
		}
	}
	for _, o := range slices.Backward(i.offers) {
		if agrees && o.by.step <= v.by.step {
			return mark{}, false
		}
		text, by := last.value.Value, o.by
		switch o.kind {
		case label, annotation:
			if o.key != last.token || o.text != text || !missing && (carried || !o.reaches(holder)) {
				continue
			}
		case namespaceOffer:
			if o.text != text || agrees || !missing && last.token != "namespace" {
				continue
			}
		case count:
			if o.text != text || agrees || last.value.ShortTag() == "!!str" {
				continue
			}
		case image:
			var ok bool
			if by, ok = o.image(text); agrees || !ok {
				continue
			}
		case prefix:
			if agrees || missing || last.token == "namespace" || !strings.HasPrefix(text, o.text) || !strings.Contains(text, v.text) {
				continue
			}
		case suffix:
			if agrees || missing || last.token == "namespace" || !strings.HasSuffix(text, o.text) || !strings.Contains(text, v.text) {
				continue
			}
		}
		return by, true
	}
	return mark{}, false
}

// reaches says whether a label goes to a map of that name.
func (o offer) reaches(holder string) bool {
	switch holder {
	case "labels":
		return o.reach >= templates
	case "matchLabels", "selector", "podSelector":
		return o.reach == everywhere
	case "annotations":
		return o.kind == annotation && o.reach == everywhere
	}
	return false
}

// image answers the field of an images entry that an image's text shows.
func (o offer) image(text string) (mark, bool) {
	name, tag, digest := SplitImage(text)
	want := source.Text(o.node, "newName")
	if want == "" {
		want = source.Text(o.node, "name")
	}
	if want != name {
		return mark{}, false
	}
	for _, f := range []struct{ name, value string }{{"digest", digest}, {"newTag", tag}, {"newName", name}} {
		if _, n := source.Field(o.node, f.name); n != nil && n.Value != "" && n.Value == f.value {
			by := o.by
			by.node = n
			return by, true
		}
	}
	return mark{}, false
}

// reference answers for the name of another resource, which changes with it: what wrote that name, if it is a
// prefix or suffix, else the reference itself.
func (b *Build) reference(v *value, text string) (Place, bool) {
	for _, other := range b.items[text] {
		name := other.root.at("metadata", "name")
		if name == nil || !other.known(v.text) {
			continue
		}
		if name.by.role == "namePrefix" || name.by.role == "nameSuffix" {
			return b.place(name.by, append([]mark{v.by}, v.chain...)), true
		}
		if v.by.known() {
			return b.place(v.by, append([]mark{name.by}, name.chain...)), true
		}
	}
	return Place{}, false
}
