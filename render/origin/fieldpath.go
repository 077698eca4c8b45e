package origin

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/utils"
)

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
