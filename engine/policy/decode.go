package policy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Problem makes a problem at the place where the field behind an RFC 6901 pointer is written, or at its
// nearest parent.
func (d Document) Problem(pointer, format string, args ...any) Problem {
	line, column := d.Position(pointer)
	return Problem{Path: d.Path, Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

// Warning is like [Document.Problem], but leaves the policy in use.
func (d Document) Warning(pointer, format string, args ...any) Problem {
	p := d.Problem(pointer, format, args...)
	p.Warning = true
	return p
}

// Deprecation is like [Document.Warning] for what still works, and is to be written otherwise.
func (d Document) Deprecation(pointer, format string, args ...any) Problem {
	p := d.Warning(pointer, format, args...)
	p.Deprecated = true
	return p
}

// Decode reads a document into a struct with json tags, strictly: a field that the struct does not have, a value of
// another type, a text that is none of its tag enum (separated by |) and a missing field with the tag required (of the value
// "text": an empty one, too) are problems, all of them in one go, each with the nearest name or the way to write it. A field of type any takes any
// JSON. What is not a problem is decoded.
func Decode(doc Document, into any) []Problem { return DecodeAt(doc, "", into) }

// DecodeAt is like [Decode] for the part of a document behind a pointer. A part that is not there decodes
// to nothing.
func DecodeAt(doc Document, pointer string, into any) []Problem {
	n := doc.Node
	var path []string
	for token := range jsonpointer.Tokens(pointer) {
		path = append(path, token)
		if n = child(n, token); n == nil {
			return nil
		}
	}
	d := &decoder{doc: doc}
	d.value(n, reflect.ValueOf(into).Elem(), path)
	return d.problems
}

func child(n *yaml.Node, token string) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		return field(n, token)
	case yaml.SequenceNode:
		if i, ok := jsonpointer.Index(token, len(n.Content)); ok {
			return n.Content[i]
		}
	}
	return nil
}

type decoder struct {
	doc      Document
	problems []Problem
}

func (d *decoder) report(n *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems,
		Problem{Path: d.doc.Path, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) value(n *yaml.Node, v reflect.Value, path []string) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.value(n, p.Elem(), path)
		v.Set(p)
	case reflect.Interface:
		if x := Value(n); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			d.wrong(n, path, "a mapping")
			return
		}
		d.structure(n, v, path)
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			d.wrong(n, path, "a mapping")
			return
		}
		m := reflect.MakeMapWithSize(v.Type(), len(n.Content)/2)
		for key, value := range entries(n) {
			name := key.Value
			e := reflect.New(v.Type().Elem()).Elem()
			d.value(value, e, append(path, name))
			m.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), e)
		}
		v.Set(m)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.wrong(n, path, "a list")
			return
		}
		s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
		for i, c := range n.Content {
			d.value(c, s.Index(i), append(path, fmt.Sprint(i)))
		}
		v.Set(s)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path []string) {
	x := scalar(n)
	switch v.Kind() {
	case reflect.String:
		if s, ok := x.(string); ok && n.Kind == yaml.ScalarNode {
			v.SetString(s)
			return
		}
		if n.Kind == yaml.ScalarNode {
			d.wrong(n, path, `a string: put it in quotes, "`+explain.Clip(n.Value, 60)+`"`)
			return
		}
		d.wrong(n, path, "a string")
	case reflect.Bool:
		if b, ok := x.(bool); ok {
			v.SetBool(b)
			return
		}
		d.wrong(n, path, "true or false, without quotes")
	case reflect.Int, reflect.Int32, reflect.Int64:
		if i, ok := x.(int64); ok && !v.OverflowInt(i) {
			v.SetInt(i)
			return
		}
		d.wrong(n, path, "a whole number")
	default:
		d.report(n, "%s cannot be read", dotted(path))
	}
}

func (d *decoder) wrong(n *yaml.Node, path []string, want string) {
	kinds := map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}
	is, ok := kinds[n.Kind]
	if !ok {
		switch scalar(n).(type) {
		case string:
			is = "a string"
		case bool:
			is = "a boolean"
		default:
			is = "a number"
		}
	}
	d.report(n, "%s is %s and must be %s", cmp.Or(dotted(path), "the document"), is, want)
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path []string) {
	fields := map[string]structField{}
	collectFields(v, fields)
	for key, value := range entries(n) {
		name := key.Value
		f, ok := fields[name]
		if !ok {
			d.report(key, "%s", unknownField(name, path, fields))
			continue
		}
		before := len(d.problems)
		d.value(value, f.value, append(path, name))
		if allowed := f.tag.Get("enum"); allowed != "" && len(d.problems) == before {
			d.allowed(value, append(path, name), strings.Split(allowed, "|"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		required, value := fields[name].tag.Get("required"), field(n, name)
		if required != "" && (value == nil || value.Tag == "!!null" || required == "text" && value.Value == "" && value.Kind == yaml.ScalarNode) {
			d.report(n, "%s has no %s: add it", cmp.Or(dotted(path), "the document"), name)
		}
	}
}

// allowed reports a text, or the texts of a list, that are none of some values.
func (d *decoder) allowed(n *yaml.Node, path, values []string) {
	if n.Kind == yaml.SequenceNode {
		for i, c := range n.Content {
			d.allowed(c, append(path, strconv.Itoa(i)), values)
		}
		return
	}
	if n.Tag == "!!null" || slices.Contains(values, n.Value) {
		return
	}
	hint := DidYouMean(Nearest(n.Value, values))
	values = slices.CompactFunc(slices.Clone(values), strings.EqualFold)
	if last := len(values) - 1; hint == "" {
		hint = ": use " + strings.Join(values[:last], ", ") + " or " + values[last]
	}
	d.report(n, "unknown value %q of %s%s", explain.Clip(n.Value, 60), dotted(path), hint)
}

type structField struct {
	value reflect.Value
	tag   reflect.StructTag
}

// collectFields finds the settable fields of a struct by their JSON names, those of inlined structs too.
func collectFields(v reflect.Value, into map[string]structField) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "" || slices.Contains(strings.Split(options, ","), "inline"):
			collectFields(v.Field(i), into)
		case name != "":
			into[name] = structField{v.Field(i), f.Tag}
		}
	}
}

func unknownField(name string, path []string, known map[string]structField) string {
	message := fmt.Sprintf("unknown field %q", explain.Clip(name, 60))
	if len(path) > 0 {
		message += " in " + dotted(path)
	}
	names := slices.Sorted(maps.Keys(known))
	if near := Nearest(name, names); near != "" {
		return message + fmt.Sprintf(": did you mean %q?", near)
	}
	if len(names) > 0 && len(names) <= 12 {
		return message + ": the fields here are " + strings.Join(names, ", ")
	}
	return message + ": remove it, or correct its indentation"
}

// dotted is a path as people write it: spec.rules[0].name.
func dotted(path []string) string { return jsonpointer.Dotted(jsonpointer.Join(path...)) }

// Nearest returns the name that a misspelled one most likely stands for, empty when none is near.
func Nearest(name string, names []string) string {
	best, distance := "", 1+max(1, len(name)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		if strings.EqualFold(n, name) {
			return n
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(n), distance); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// DidYouMean returns the end of a message about an unknown name: the question for the nearest one, if there is one.
func DidYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", near)
}

// editDistance is the Levenshtein distance, or limit when it is at least that.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 80 || len(b) > 80 {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return min(row[len(b)], limit)
}

// FromTree reads a value of the kind a document holds from JSON that was derived from it. Problems, which
// mean that the derivation is wrong, are reported at the document's start.
func FromTree[T any](doc Document, tree any) (T, []Problem) {
	var out T
	doc.Node = node(tree)
	problems := Decode(doc, &out)
	for i := range problems {
		problems[i].Line, problems[i].Column = doc.Line, 0
	}
	return out, problems
}

// node writes JSON as a YAML node.
func node(v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, node(k), node(v[k]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, e := range v {
			n.Content = append(n.Content, node(e))
		}
		return n
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: v}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v, 10)}
	case float64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: strconv.FormatFloat(v, 'g', -1, 64)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}
