package source

import (
	"encoding/base64"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Deref follows aliases to the value they stand for.
func Deref(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// IsMerge says whether a key is the merge key ("<<", https://yaml.org/type/merge.html); a tag alone makes none.
func IsMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.Tag == "!" || key.ShortTag() == "!!merge")
}

// Merged lists what the value of a merge key merges in, the first of which wins.
func Merged(value *yaml.Node) []*yaml.Node {
	value = Deref(value)
	if value == nil || value.Kind != yaml.SequenceNode {
		return []*yaml.Node{value}
	}
	list := make([]*yaml.Node, len(value.Content))
	for i, c := range value.Content {
		list[i] = Deref(c)
	}
	return list
}

// Key is the text of a key or another scalar as the readers of Kubernetes see it: aliases are followed and !!binary
// (https://yaml.org/type/binary.html) is decoded.
func Key(n *yaml.Node) string {
	n = Deref(n)
	if n.ShortTag() == "!!binary" {
		if data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), "")); err == nil {
			return string(data)
		}
	}
	return n.Value
}

// Keys lists the keys of a map and of what it merges in, with repetitions.
func Keys(n *yaml.Node) []string {
	if n = Deref(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var list []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !IsMerge(n.Content[i]) {
			list = append(list, Key(n.Content[i]))
			continue
		}
		for _, merged := range Merged(n.Content[i+1]) {
			list = append(list, Keys(merged)...)
		}
	}
	return list
}

// Field answers the key and the value of a field of a map, nil where it has none. Of a key that is written twice the
// last counts. A value that comes in by a merge key is found, too, unless the map sets the field itself.
func Field(n *yaml.Node, name string) (key, value *yaml.Node) {
	n = Deref(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := len(n.Content)&^1 - 2; i >= 0; i -= 2 {
		if k := Deref(n.Content[i]); k.Kind == yaml.ScalarNode && !IsMerge(n.Content[i]) && Key(k) == name {
			return n.Content[i], Deref(n.Content[i+1])
		}
	}
	for i := len(n.Content)&^1 - 2; i >= 0; i -= 2 {
		if !IsMerge(n.Content[i]) {
			continue
		}
		for _, m := range Merged(n.Content[i+1]) {
			if k, v := Field(m, name); v != nil {
				return k, v
			}
		}
	}
	return nil, nil
}

// Text is the value of a scalar field of a map, empty where it has none.
func Text(n *yaml.Node, name string) string {
	_, v := Field(n, name)
	if v == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return Key(v)
}

// Items lists the elements of a list field of a map.
func Items(n *yaml.Node, name string) []*yaml.Node {
	_, v := Field(n, name)
	if v == nil || v.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]*yaml.Node, len(v.Content))
	for i, c := range v.Content {
		items[i] = Deref(c)
	}
	return items
}
