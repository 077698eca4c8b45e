package doc

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Plain returns a document of [Parse] or [Documents] in the form in which JSON could be written down, as the API
// server's clients read it: aliases are followed, merge keys applied (see [Fields]), keys are text and YAML 1.1
// booleans have the tag !!bool, whatever their spelling. All nodes keep their places, and those that are plain already
// are the document's own; nothing is changed in it. What has no form in JSON is an error.
func Plain(path string, document *yaml.Node) (n *yaml.Node, err *Error) {
	if err = Sound(document); err == nil {
		n, err = plain{}.node(document)
	}
	if err != nil {
		err.Path = path
	}
	return n, err
}

// Sound refuses a document of [Parse] that has no form in JSON, which the clients of the API server write first: with a
// key that is no text, a value that its tag does not allow, a number without end, or a merge key that merges no map.
func Sound(document *yaml.Node) *Error { return sound(document, map[*yaml.Node]bool{}) }

func sound(n *yaml.Node, seen map[*yaml.Node]bool) *Error {
	at := n
	if n = Deref(n); at != n {
		if seen[n] {
			return nil
		}
		seen[n] = true
	}
	wrong := func(format string, args ...any) *Error {
		return &Error{Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)}
	}
	if n.Kind == yaml.ScalarNode {
		tag := n.ShortTag()
		if tag != "!!float" && n.Style&yaml.TaggedStyle == 0 {
			return nil
		}
		_, isText := scalar(n, true).(string)
		switch {
		case isText && tag == "!!float":
			return wrong("%s is not a number that JSON can hold", n.Value)
		case isText && tag == "!!int", tag == "!!null" && strings.Trim(n.Value, "~NULnul") != "":
			return wrong("%s is not what its tag %s says", n.Value, tag)
		}
		return nil
	}
	for i, c := range n.Content {
		switch key := Deref(c); {
		case n.Kind != yaml.MappingNode:
		case i%2 == 0:
			if at = c; key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
				return wrong("a key must be a string: JSON has no other keys (a variable in {{ }} that starts a value needs quotes)")
			}
			continue
		case IsMerge(n.Content[i-1]):
			if at = c; slices.ContainsFunc(Merged(c), func(n *yaml.Node) bool { return n == nil || n.Kind != yaml.MappingNode }) {
				return wrong("the merge key << merges maps only")
			}
		}
		if err := sound(c, seen); err != nil {
			return err
		}
	}
	return nil
}

// plain has the plain value of each anchor.
type plain map[*yaml.Node]*yaml.Node

func (p plain) node(n *yaml.Node) (*yaml.Node, *Error) {
	n = Deref(n)
	if done := p[n]; done != nil {
		return done, nil
	}
	if n.Kind == yaml.ScalarNode {
		return plainScalar(n), nil
	}
	out := flat(n)
	isMap := n.Kind == yaml.MappingNode
	if isMap {
		if err := distinct(out); err != nil {
			return nil, err
		}
	}
	for i := range out.Content {
		var c *yaml.Node
		var err *Error
		if isMap && i%2 == 0 {
			c = plainKey(out.Content[i])
		} else if c, err = p.node(out.Content[i]); err != nil {
			return nil, err
		}
		if c != out.Content[i] && out == n {
			out = withContent(n, slices.Clone(n.Content))
		}
		out.Content[i] = c
	}
	if n.Anchor != "" {
		p[n] = out
	}
	return out, nil
}

func withContent(n *yaml.Node, content []*yaml.Node) *yaml.Node {
	copied := *n
	copied.Content = content
	return &copied
}

// flat returns a map without merge keys; the merged fields come last.
func flat(n *yaml.Node) *yaml.Node {
	for key := range Pairs(n) {
		if !IsMerge(key) {
			continue
		}
		var content []*yaml.Node
		for key, value := range Fields(n) {
			content = append(content, key, value)
		}
		return withContent(n, content)
	}
	return n
}

// distinct refuses keys that are written twice with different values.
func distinct(n *yaml.Node) *Error {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for key, value := range Pairs(n) {
		name, value := KeyName(key), Deref(value)
		if first := seen[name]; first != nil && (value.Kind != yaml.ScalarNode || first.Kind != yaml.ScalarNode ||
			first.Tag != value.Tag || first.Value != value.Value) {
			return &Error{Line: key.Line, Column: key.Column,
				Message: fmt.Sprintf("the key %q is written twice: keep one", name)}
		}
		seen[name] = value
	}
	return nil
}

func plainKey(key *yaml.Node) *yaml.Node {
	if name := KeyName(key); key.Kind != yaml.ScalarNode || key.Value != name {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: key.Line, Column: key.Column}
	}
	return key
}

// KeyName returns a key as it is in JSON that is made of YAML 1.1: numbers and booleans become text.
func KeyName(key *yaml.Node) string {
	key = Deref(key)
	if v := scalar(key, true); v != nil {
		return Spell(v)
	}
	return key.Value
}

func plainScalar(n *yaml.Node) *yaml.Node {
	if _, ok := Bool(n); ok && n.ShortTag() != "!!bool" {
		n = withContent(n, nil)
		n.Tag = "!!bool"
	}
	return n
}
