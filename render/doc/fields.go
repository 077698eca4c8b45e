package doc

import (
	"encoding/base64"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Deref follows aliases to their value.
func Deref(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// Bare returns a copy of a node without its comments, and with the values of aliases in their place.
func Bare(n *yaml.Node) *yaml.Node {
	c := *Deref(n)
	c.Anchor, c.HeadComment, c.LineComment, c.FootComment = "", "", "", ""
	content := c.Content
	c.Content = make([]*yaml.Node, len(content))
	for i, child := range content {
		c.Content[i] = Bare(child)
	}
	return &c
}

// IsMerge reports whether a key is the merge key ("<<", https://yaml.org/type/merge.html); a tag alone makes none.
func IsMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" &&
		(key.Tag == "" || key.Tag == "!" || key.ShortTag() == "!!merge")
}

// Merged lists the maps that the value of a merge key merges in. The first one has priority.
func Merged(value *yaml.Node) []*yaml.Node {
	value = Deref(value)
	if value == nil || value.Kind != yaml.SequenceNode {
		return []*yaml.Node{value}
	}
	return derefAll(value.Content)
}

func derefAll(list []*yaml.Node) []*yaml.Node {
	values := make([]*yaml.Node, len(list))
	for i, n := range list {
		values[i] = Deref(n)
	}
	return values
}

// Key returns the text of a key or another scalar as Kubernetes reads it: aliases are followed and !!binary
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

// Encrypted reports whether SOPS encrypted a document. It checks the plain values of the whole file then, too.
func Encrypted(document *yaml.Node) bool {
	_, sops := Field(document, "sops")
	return sops != nil && sops.Kind == yaml.MappingNode
}

// encryptedValue matches what SOPS writes in place of a value (https://getsops.io/docs/).
var encryptedValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:[a-z]+\]$`)
})

// IsEncrypted reports whether a text is a value that SOPS encrypted.
func IsEncrypted(text string) bool {
	return strings.HasPrefix(text, "ENC[") && encryptedValue().MatchString(text)
}

// Pairs yields the keys and values of a map as they are written, with merge keys and aliases.
func Pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// Written returns the key and the value of a field that is written in a map itself, nil if it has none.
func Written(n *yaml.Node, name string) (key, value *yaml.Node) {
	for key, value := range Pairs(n) {
		if key.Value == name {
			return key, value
		}
	}
	return nil, nil
}

// Fields yields the keys and values of a map: first its own as written, then those of its merge keys that it does not
// have itself. Of several merge keys the last has priority, as in kubectl; of the maps of one merge key the first has.
// If a key is written twice, the last one counts.
func Fields(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		n, merges := Deref(n), false
		for key, value := range Pairs(n) {
			if IsMerge(key) {
				merges = true
			} else if !yield(key, Deref(value)) {
				return
			}
		}
		if merges {
			mergedFields(n, yield)
		}
	}
}

func mergedFields(n *yaml.Node, yield func(key, value *yaml.Node) bool) {
	has := map[string]bool{}
	for key := range Pairs(n) {
		if !IsMerge(key) {
			has[Key(key)] = true
		}
	}
	for i := len(n.Content)&^1 - 2; i >= 0; i -= 2 {
		if !IsMerge(n.Content[i]) {
			continue
		}
		for _, merged := range Merged(n.Content[i+1]) {
			var brought []string
			for key, value := range Fields(merged) {
				if name := Key(key); !has[name] {
					brought = append(brought, name)
					if !yield(key, value) {
						return
					}
				}
			}
			for _, name := range brought {
				has[name] = true
			}
		}
	}
}

// Keys lists the keys of a map and of the maps it merges in. A key that is written twice is listed twice.
func Keys(n *yaml.Node) []string {
	var list []string
	for key := range Fields(n) {
		list = append(list, Key(key))
	}
	return list
}

// Field returns the key and the value of a field of a map, nil if it has none (see [Fields]).
func Field(n *yaml.Node, name string) (key, value *yaml.Node) {
	for k, v := range Fields(n) {
		if Deref(k).Kind == yaml.ScalarNode && Key(k) == name {
			key, value = k, v
		}
	}
	return key, value
}

// Entry is a field of a map, or an element of a list, which has no key.
type Entry struct{ Key, Value *yaml.Node }

// Follow returns the entries that a path of keys and indexes leads to, as far as they exist.
func Follow(n *yaml.Node, path []string) []Entry {
	found := make([]Entry, 0, len(path))
	for _, token := range path {
		var next Entry
		switch n = Deref(n); {
		case n == nil:
		case n.Kind == yaml.MappingNode:
			next.Key, next.Value = Field(n, token)
		case n.Kind == yaml.SequenceNode:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.Content) {
				next.Value = Deref(n.Content[i])
			}
		}
		if next.Value == nil {
			break
		}
		found, n = append(found, next), next.Value
	}
	return found
}

// Text returns the value of the scalar at a path of fields of maps, empty if there is none.
func Text(n *yaml.Node, path ...string) string {
	for _, name := range path {
		_, n = Field(n, name)
	}
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return Key(n)
}

// Objects yields the objects of some documents: see Unlist.
func Objects(documents []*yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		for _, d := range documents {
			for _, n := range Unlist(d) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// Nodes yields a node and all nodes in it. It does not follow aliases, since their values are where they are written.
func Nodes(n *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) { eachNode(n, yield) }
}

// eachNode calls visit for the nodes until that returns false, and reports whether it never did.
func eachNode(n *yaml.Node, visit func(*yaml.Node) bool) bool {
	return visit(n) && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !eachNode(c, visit) })
}

// Items returns the elements of a list field of a map.
func Items(n *yaml.Node, name string) []*yaml.Node {
	_, v := Field(n, name)
	if v == nil || v.Kind != yaml.SequenceNode {
		return nil
	}
	return derefAll(v.Content)
}
