package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// form validates a settings file against the Go type: it reports unknown fields, duplicate keys, wrong types, unknown
// words and limits out of range, with their place and what is allowed. Other values are validated later.
type form struct{ problems []report.Problem }

func problemAt(n *yaml.Node, where, format string, args ...any) report.Problem {
	message := fmt.Sprintf(format, args...)
	if where != "" {
		message = where + ": " + message
	}
	return report.Problem{Path: Path, Line: n.Line, Column: n.Column, Message: message}
}

func (f *form) report(n *yaml.Node, where, format string, args ...any) {
	f.problems = append(f.problems, problemAt(n, where, format, args...))
}

// value validates a value against a type. where is the path of its fields.
func (f *form) value(n *yaml.Node, t reflect.Type, where string) {
	at := n
	n = doc.Deref(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	limit := strings.HasPrefix(where, "limits.")
	switch {
	case n.ShortTag() == "!!null" && !limit:
		return
	case t == reflect.TypeFor[Block]():
		f.block(n, at, where)
		return
	case t == reflect.TypeFor[PolicyEntry]():
		f.policy(n, at, where)
		return
	}
	scalar := n.Kind == yaml.ScalarNode
	switch t.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			f.report(at, where, "must be a map with the fields %s", strings.Join(fieldNames(t), ", "))
			return
		}
		f.fields(n, t, where)
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			f.report(at, where, "must be a map with names as keys")
			return
		}
		f.twice(n, where)
		for key, value := range doc.Fields(n) {
			f.value(value, t.Elem(), where+"."+doc.Key(key))
		}
	case reflect.Slice:
		switch {
		case n.Kind == yaml.SequenceNode:
			for _, item := range n.Content {
				f.value(item, t.Elem(), where)
			}
		case scalar && (t.Elem().Kind() == reflect.String || t.Elem() == reflect.TypeFor[PolicyEntry]()):
			f.report(at, where, "must be a list: write [%s]", quoted(n.Value))
		default:
			f.report(at, where, "must be a list")
		}
	case reflect.String:
		words := wordsOf(t)
		switch {
		case !scalar:
			f.report(at, where, "must be text")
		case words == nil || slices.Contains(words, n.Value) || n.Value == "" && t != reflect.TypeFor[Level]():
		default: // an empty value would mean the default
			last := len(words) - 1
			f.report(at, where, "%q is not known: write %s or %s", n.Value, strings.Join(words[:last], ", "), words[last])
		}
	case reflect.Bool:
		if !scalar || n.ShortTag() != "!!bool" {
			f.report(at, where, "must be true or false")
		}
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, 64)
		whole, field := scalar && n.ShortTag() == "!!int", Field{}
		if limit {
			field, _ = fieldAt(where)
		}
		switch {
		case limit && (!whole || err != nil || i < *field.Least || i > *field.Most):
			f.report(at, where, "must be a whole number from %d to %d; leave it out for the default", *field.Least, *field.Most)
		case !whole:
			f.report(at, where, "must be a whole number, without quotes")
		}
	}
}

// block checks the form of block: a map, or a short form.
func (f *form) block(n, at *yaml.Node, where string) {
	switch {
	case n.Kind == yaml.MappingNode:
		f.fields(n, reflect.TypeFor[Block](), where)
	case n.Kind != yaml.ScalarNode || n.Value != blockNew && n.Value != blockAll:
		f.report(at, where, "%q is not known: write new, all, or a map with the fields %s", n.Value,
			strings.Join(slices.Sorted(slices.Values(fieldNames(reflect.TypeFor[Block]()))), ", "))
	}
}

// policy checks the form of an entry of policies: text, or a map.
func (f *form) policy(n, at *yaml.Node, where string) {
	switch n.Kind {
	case yaml.MappingNode:
		f.fields(n, reflect.TypeFor[PolicyEntry](), where)
	case yaml.ScalarNode:
	default:
		f.report(at, where, "must be text, or a map with the fields %s",
			strings.Join(fieldNames(reflect.TypeFor[PolicyEntry]()), ", "))
	}
}

// fields validates the fields of a map against those of a struct.
func (f *form) fields(n *yaml.Node, t reflect.Type, where string) {
	f.twice(n, where)
	known := fieldTypes(t)
	for key, value := range doc.Fields(n) {
		name := doc.Key(key)
		if of, ok := known[name]; ok {
			f.value(value, of, strings.TrimPrefix(where+"."+name, "."))
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		if near := policy.Nearest(name, names); near != "" {
			f.report(key, where, "the field %q is not known: did you mean %q?", name, near)
		} else {
			f.report(key, where, "the field %q is not known: there are %s", name, strings.Join(names, ", "))
		}
	}
}

// twice reports duplicate keys.
func (f *form) twice(n *yaml.Node, where string) {
	seen := map[string]bool{}
	for key := range doc.Pairs(n) {
		name := doc.Key(key)
		if seen[name] && !doc.IsMerge(key) {
			f.report(key, where, "%q is written twice: keep one", name)
		}
		seen[name] = true
	}
}

func fieldNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// quoted returns a string as an element of a YAML list in brackets.
func quoted(s string) string {
	if strings.ContainsAny(s, "*&!|>{}[],#?:-'\"%@` ") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s
}

// at returns the scalar with a value below a field, or the key of the field if there is no such scalar, or the settings
// if there is no such field; nil if there is no settings file.
func (s *Settings) at(value string, fields ...string) *yaml.Node {
	at, below := s.written, s.written
	for _, field := range fields {
		key, v := doc.Field(below, field)
		if key == nil {
			break
		}
		at, below = key, v
	}
	if n := scalarWith(below, value); n != nil && value != "" {
		return n
	}
	return at
}

// line returns the line of what at returns, 0 if there is no file.
func (s *Settings) line(value string, fields ...string) int {
	if n := s.at(value, fields...); n != nil {
		return n.Line
	}
	return 0
}

func scalarWith(n *yaml.Node, value string) *yaml.Node {
	n = doc.Deref(n)
	if n == nil || n.Kind == yaml.ScalarNode {
		if n != nil && n.Value == value {
			return n
		}
		return nil
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if found := scalarWith(c, value); found != nil {
			return found
		}
	}
	return nil
}
