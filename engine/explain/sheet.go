package explain

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Placeholder is in a value where a person has to choose.
const Placeholder = "<value>"

// Requirement is what one comparison requires of a field. Words complete the sentence "expected: ...".
type Requirement struct {
	Words   string
	Changes []Change // worth trying, the best first
	// Of is the text that was compared: the field or a part of it. Part is the wrong part of that text.
	Of   string
	Part Span
}

// Change is a value to write, or a field to remove.
type Change struct {
	Below   string // RFC 6901, from the field that the requirement is about to what is edited; mostly ""
	Value   any
	Remove  bool
	Element bool // only where the field is an element of a list
	Example bool // other values do as well
}

// Write returns the requirement for a field that must have one certain value.
func Write(value any) Requirement {
	return Requirement{Words: Text(value), Changes: []Change{{Value: value}}}
}

// Choose returns the edits that write one of several values. If there are several, each counts as an example.
func Choose(values ...any) []Change {
	var out []Change
	for _, v := range values[:min(len(values), maxChoices)] {
		out = append(out, Change{Value: v, Example: len(values) > 1})
	}
	return out
}

const maxChoices = 4

// Sheet collects requirements by the pointer of the field that they are about. A nil sheet ignores them.
type Sheet struct {
	fields map[string][]Requirement
	order  []string
}

// Add adds a requirement, unless it is there already.
func (s *Sheet) Add(field string, h Requirement) {
	if s == nil || h.Words == "" {
		return
	}
	if s.fields == nil {
		s.fields = map[string][]Requirement{}
	}
	for _, known := range s.fields[field] {
		if known.Words == h.Words {
			return
		}
	}
	if len(s.fields[field]) == 0 {
		s.order = append(s.order, field)
	}
	s.fields[field] = append(s.fields[field], h)
}

// At returns the requirements about a field.
func (s *Sheet) At(field string) []Requirement { return s.fields[field] }

// Fields returns the fields that have requirements, in the order in which they got the first one.
func (s *Sheet) Fields() []string { return s.order }

// maxText is how much of a value is shown in words.
const maxText = 200

// Text returns a value for a sentence that people read.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case string:
		if v == "" {
			return `""`
		}
		return Clip(v, maxText)
	case []any:
		return List(v)
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+": "+nested(v[k]))
		}
		return Clip(strings.Join(parts, ", "), maxText)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return Clip(fmt.Sprint(value), maxText)
}

// nested is a value within another.
func nested(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "{" + Text(v) + "}"
	case []any:
		return "[" + Text(v) + "]"
	}
	return Text(value)
}

// List returns the first of many values, and how many there are.
func List(values []any) string {
	const few = 8
	var parts []string
	for _, v := range values[:min(len(values), few)] {
		parts = append(parts, nested(v))
	}
	if more := len(values) - few; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return Clip(strings.Join(parts, ", "), maxText)
}

// OneOf returns "one of a, b", or the value alone if there is only one.
func OneOf(values []any) string {
	values = Union(nil, values)
	if len(values) == 1 {
		return Text(values[0])
	}
	return "one of " + List(values)
}

// NoneOf returns "none of a, b", or "anything but a".
func NoneOf(values []any) string {
	values = Union(nil, values)
	if len(values) == 1 {
		return "anything but " + Text(values[0])
	}
	return "none of " + List(values)
}

// Union adds to a list the elements of another one that it lacks.
func Union(out, more []any) []any {
	for _, v := range more {
		if !slices.ContainsFunc(out, func(o any) bool { return reflect.DeepEqual(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

// Clip returns a text for people to read, with no more than a number of its characters.
func Clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
