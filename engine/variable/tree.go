package variable

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// maxDepth bounds the nesting of a tree.
const maxDepth = 200

// Tree is a tree of JSON with variables, compiled once. It is immutable and safe for concurrent use.
type Tree struct{ root *node }

// ResolveError means that a variable has no value. It wraps what Scope.Query said, so that the caller can
// look for *jmespath.NotFoundError and *admission.NeedsClusterError.
type ResolveError struct {
	Variable string // the expression
	Path     string // of the string in its tree: "/spec/replicas", "" for a single string
	Err      error
}

// Error has the words in which Kyverno reports it.
func (e *ResolveError) Error() string {
	return fmt.Sprintf("failed to resolve %s at path %s: %v", e.Variable, e.Path, e.Err)
}

// Unwrap is the cause.
func (e *ResolveError) Unwrap() error { return e.Err }

// node is a value without variables (constant), a string with variables, a list or an object.
type node struct {
	constant bool
	value    any
	text     *template
	list     []*node
	fields   []field // sorted by key
	object   bool
}

type field struct {
	key     string
	dynamic *template // set where the key has variables
	node    *node
}

// Parse compiles the part of document at pointer (RFC 6901; "" is all of it). Variables {{ }} are compiled. References
// $(path) are resolved now, within the whole document: relative ones from the string they stand in, absolute ones from
// the document, or else from the part. An operator inside is kept: $(<./../limit) becomes "<" and the value. A
// backslash before {{ or $( keeps them as text. The document is not kept and never changed. The error is a
// *jsonpointer.Error.
func Parse(document any, pointer string) (*Tree, error) {
	if pointer != "" && pointer[0] != '/' {
		return nil, jsonpointer.Errorf(pointer, "a JSON Pointer starts with /")
	}
	part, ok := jsonpointer.Lookup(document, pointer)
	if !ok {
		return nil, jsonpointer.Errorf(pointer, "there is no such field")
	}
	p := &parser{document: document, base: slices.Collect(jsonpointer.Tokens(pointer))}
	root, err := p.node(part, nil, 0)
	if err != nil {
		return nil, err
	}
	return &Tree{root: root}, nil
}

// Constant is the resolved tree when it has no variables. It must not be changed.
func (t *Tree) Constant() (any, bool) {
	if !t.root.constant {
		return nil, false
	}
	return t.root.value, true
}

// Resolve substitutes the variables. It changes neither the tree nor the scope's variables; the result
// can share parts with both and must not be changed. A string that is one variable becomes the value as
// it is; within a longer string, values that are not strings are written as JSON. What comes in through a
// variable and holds variables itself is substituted again, except after {{- }} and where a string is
// the whole value. The error is a *ResolveError where a variable has no value.
func (t *Tree) Resolve(s *Scope) (any, error) { return t.root.resolve(s, 0) }

// Shallow is the tree with its string, if it is one, substituted only once, as if all its variables were
// written {{- }}: values are data then, whatever they hold.
func (t *Tree) Shallow() *Tree {
	if t.root.text == nil {
		return t
	}
	once := *t.root.text
	once.pieces = slices.Clone(once.pieces)
	for i, p := range once.pieces {
		if p.variable != nil {
			x := *p.variable
			x.shallow = true
			once.pieces[i].variable = &x
		}
	}
	n := *t.root
	n.text = &once
	return &Tree{root: &n}
}

// Reads gives the fields that the variables of the tree read in this scope: RFC 6901 pointers into the
// scope's variables, sorted and unique ("/request/object/spec/replicas", on DELETE
// "/request/oldObject/spec/replicas", in a loop "/element/image"). Expressions whose text other variables
// make are included. What cannot be evaluated contributes nothing.
func (t *Tree) Reads(s *Scope) []string {
	found := map[string]bool{}
	t.root.reads(s, found)
	return slices.Sorted(maps.Keys(found))
}

func (n *node) reads(s *Scope, found map[string]bool) {
	if n.text != nil {
		n.text.reads(s, found)
	}
	for _, item := range n.list {
		item.reads(s, found)
	}
	for _, f := range n.fields {
		if f.dynamic != nil {
			f.dynamic.reads(s, found)
		}
		f.node.reads(s, found)
	}
}

func (n *node) resolve(s *Scope, round int) (any, error) {
	switch {
	case n.constant:
		return n.value, nil
	case n.text != nil:
		return n.text.resolve(s, round)
	case n.object:
		return n.resolveObject(s, round)
	}
	out := make([]any, len(n.list))
	for i, item := range n.list {
		var err error
		if out[i], err = item.resolve(s, round); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (n *node) resolveObject(s *Scope, round int) (any, error) {
	out := make(map[string]any, len(n.fields))
	for _, f := range n.fields {
		key := f.key
		if f.dynamic != nil {
			v, err := f.dynamic.resolve(s, round)
			if err != nil {
				return nil, err
			}
			text, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("the key %s at path %s is not a string", f.key, f.dynamic.path)
			}
			key = text
		}
		if _, ok := out[key]; ok {
			return nil, fmt.Errorf("two keys become %q", key)
		}
		v, err := f.node.resolve(s, round)
		if err != nil {
			return nil, err
		}
		out[key] = v
	}
	return out, nil
}

// parser compiles a part of a document.
type parser struct {
	document any
	base     []string // where the part is in the document
	path     string   // in front of the paths of messages
	dynamic  bool     // the part came in through a variable: it has no references
}

func (p *parser) fail(tokens []string, format string, args ...any) error {
	return jsonpointer.Errorf(jsonpointer.Join(slices.Concat(p.base, tokens)...), format, args...)
}

func (p *parser) node(v any, tokens []string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.fail(tokens, "nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case string:
		value, t, err := p.text(v, tokens)
		if err != nil {
			return nil, err
		}
		return &node{constant: t == nil, value: value, text: t}, nil
	case []any:
		return p.listNode(v, tokens, depth)
	case map[string]any:
		return p.objectNode(v, tokens, depth)
	}
	return &node{constant: true, value: v}, nil
}

func (p *parser) listNode(v []any, tokens []string, depth int) (*node, error) {
	n := &node{constant: true, list: make([]*node, len(v))}
	values := make([]any, len(v))
	for i, item := range v {
		kid, err := p.node(item, append(slices.Clip(tokens), strconv.Itoa(i)), depth+1)
		if err != nil {
			return nil, err
		}
		n.list[i], values[i] = kid, kid.value
		n.constant = n.constant && kid.constant
	}
	if n.constant {
		return &node{constant: true, value: values}, nil
	}
	return n, nil
}

func (p *parser) objectNode(v map[string]any, tokens []string, depth int) (*node, error) {
	n := &node{constant: true, object: true}
	keys := slices.Sorted(maps.Keys(v))
	values := make(map[string]any, len(v))
	for _, k := range keys {
		at := append(slices.Clip(tokens), k)
		f := field{}
		key, t, err := p.text(k, at)
		if err != nil {
			return nil, err
		}
		if text, ok := key.(string); ok {
			f.key = text
		} else if t == nil {
			return nil, p.fail(at, "the key is not a string")
		}
		f.dynamic = t
		if f.node, err = p.node(v[k], at, depth+1); err != nil {
			return nil, err
		}
		if _, ok := values[f.key]; ok && t == nil {
			return nil, p.fail(at, "two keys become %q", f.key)
		}
		values[f.key] = f.node.value
		n.constant = n.constant && t == nil && f.node.constant
		n.fields = append(n.fields, f)
	}
	if n.constant {
		return &node{constant: true, value: values}, nil
	}
	return n, nil
}

// text compiles a string: to a value where it has no variables, else to a template.
func (p *parser) text(s string, tokens []string) (any, *template, error) {
	if !strings.Contains(s, "{{") && !strings.Contains(s, "$(") {
		return s, nil, nil
	}
	if !p.dynamic && strings.Contains(s, "$(") {
		v, err := p.references(s, slices.Concat(p.base, tokens), 0)
		if err != nil {
			return nil, nil, p.fail(tokens, "%v", err)
		}
		text, ok := v.(string)
		if !ok {
			return v, nil, nil
		}
		s = text
	}
	t, err := parseTemplate(s, p.path+plainPath(tokens), tokens)
	if err != nil {
		return nil, nil, p.fail(tokens, "%v", err)
	}
	if t == nil {
		return unescape(s), nil, nil
	}
	return s, t, nil
}

// plainPath is how Kyverno writes a path: slashes, nothing escaped.
func plainPath(tokens []string) string {
	if len(tokens) == 0 {
		return ""
	}
	return "/" + strings.Join(tokens, "/")
}
