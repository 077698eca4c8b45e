package origin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	parts := strings.Split(strings.TrimSuffix(pointer, "/"), "/")
	if len(parts) > 0 {
		parts = parts[1:] // the part before the first slash is empty
	}
	for i, part := range parts {
		token := part
		if strings.IndexByte(part, '~') >= 0 { // Unescape allocates memory even without a ~
			token = jsonpointer.Unescape(part)
		}
		next := step{token: token, index: -1}
		n = doc.Deref(n)
		switch {
		case n == nil:
		case n.Kind == yaml.MappingNode:
			next.key, next.value = doc.Field(n, token)
		case n.Kind == yaml.SequenceNode:
			if k, err := strconv.Atoi(token); err == nil && k >= 0 && k < len(n.Content) {
				next.index = k
				next.value = doc.Deref(n.Content[k])
				next.name, next.by = elementName(next.value)
			}
		}
		if next.value == nil {
			return steps, "/" + strings.Join(parts[i:], "/")
		}
		steps = append(steps, next)
		n = next.value
	}
	return steps, ""
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
	if resource != nil && resource.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(resource.Content); i += 2 {
			if path, line, _, ok := b.files.Position(resource.Content[i].Line, resource.Content[i].Column); ok {
				return Place{Path: path, StartLine: line, EndLine: line, How: Identity, Role: b.role(path)}
			}
		}
	}
	return Place{Path: b.root.File.Path, StartLine: 1, EndLine: 1, How: Enclosing, Role: "kustomization"}
}
