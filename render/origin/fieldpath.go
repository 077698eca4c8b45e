package origin

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

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

// fieldPath walks a field path of replacements: keys, indexes, [key=expression] and *.
type fieldPath struct {
	create yaml.Kind // what is made where nothing is; 0: nothing
	by     mark      // of what is made
}

// matches lists the values at a field path.
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

// matching returns the test of an expression in brackets, which need not match the whole value.
func matching(pattern string) func(string) bool {
	re, err := regexp.Compile(pattern)
	return func(s string) bool { return s == pattern || err == nil && re.MatchString(s) }
}

// made is what is put where nothing was: a list, if an index follows.
func (f fieldPath) made(rest []string) *value {
	switch {
	case len(rest) == 0:
		return &value{kind: f.create}
	case index(rest[0]) >= 0 || strings.HasPrefix(rest[0], "[") && strings.Contains(rest[0], "="):
		return &value{kind: yaml.SequenceNode, by: f.by}
	}
	return mapValue(f.by)
}

// bare takes the brackets off a key that is written in them for its dots.
func bare(token string) string {
	if len(token) > 2 && token[0] == '[' && token[len(token)-1] == ']' && !strings.Contains(token, "=") {
		return token[1 : len(token)-1]
	}
	return token
}
