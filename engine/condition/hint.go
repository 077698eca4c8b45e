package condition

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/hint"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Wish is what has to be different for a condition to say the opposite.
type Wish struct {
	Reads []string // what the key reads, as in [Outcome]
	Hint  hint.Hint
	Key   string // the key as sentences quote it; the hint says it where the key is more than one field
	Have  []any  // the values at Reads
	// Wrong returns what of one of them, which is a text, is wrong.
	Wrong func(have string) hint.Part
	// Value is what the value of the condition reads: another way is to change that. AtValue is said there; without
	// words, Hint is.
	Value   []string
	AtValue hint.Hint
}

// Wishes returns what would make a set that is met not met: the opposite of each of its conditions that are met.
func (s *Set) Wishes(sc *variable.Scope) (out []Wish) {
	for i := range s.blocks {
		b := &s.blocks[i]
		for _, c := range slices.Concat(b.any, b.all) {
			if w, ok := c.wish(sc); ok {
				out = append(out, w)
			}
		}
	}
	return out
}

// wish is the opposite of a condition that is met.
func (c *condition) wish(sc *variable.Scope) (Wish, bool) {
	key, t, err := c.operands(sc)
	if err != nil || !t(key) {
		return Wish{}, false
	}
	value, err := c.value.Resolve(sc)
	if err != nil {
		return Wish{}, false
	}
	w := Wish{Reads: c.key.Reads(sc), Value: c.value.Reads(sc)}
	plain := len(w.Reads) == 1 && (reflect.DeepEqual(valueAt(sc, w.Reads[0]), key) || valueAt(sc, w.Reads[0]) == nil)
	list, isList := key.([]any)
	if isList {
		kept := narrow(sc, w.Reads, list, func(element any) bool { return t([]any{element}) })
		plain = len(kept) < len(w.Reads) || elements(sc, kept, list)
		w.Reads = kept
	}
	words, edits := c.opposite(value, isList)
	if len(w.Reads) == 0 && len(w.Value) > 0 && !isList && strings.Contains(c.name, "Equal") {
		words, _ = c.opposite(key, false) // the key says how the value must not be
		w.Hint = hint.Hint{Words: words}
		return w, words != ""
	}
	if len(w.Reads) == 0 && len(w.Value) > 0 && strings.HasSuffix(c.name, "In") && !strings.Contains(c.source, "{{") {
		w.AtValue = c.member(sc, listOf(key), value, w.Value[0])
		w.Hint = hint.Hint{Words: w.AtValue.Words}
		return w, true
	}
	w.Key = short(c.source)
	if !plain && c.source != "" {
		words, edits = w.Key+" to be "+words, only(edits)
	}
	w.Hint = hint.Hint{Words: words, Edits: edits}
	for _, r := range w.Reads {
		w.Have = append(w.Have, valueAt(sc, r))
	}
	w.Wrong = func(have string) hint.Part { return c.wrong(value, have) }
	return w, words != ""
}

// member is what has to be in a list of the object, or must not be: a name that the rule asks for is among its elements,
// or among the fields of a mapping.
func (c *condition) member(sc *variable.Scope, names []any, value any, read string) hint.Hint {
	list, isList := valueAt(sc, read).([]any)
	m, isMap := valueAt(sc, read).(map[string]any)
	lacks := strings.Contains(c.name, "Not")
	all := hint.List(names)
	switch {
	case isMap && lacks:
		var edits []hint.Edit
		for _, n := range names {
			if name, ok := n.(string); ok && m[name] == nil {
				edits = append(edits, hint.Edit{Below: "/" + jsonpointer.Escape(name), Value: hint.Placeholder, Example: true})
			}
		}
		return hint.Hint{Words: "a field " + all, Edits: edits}
	case isMap:
		return hint.Hint{Words: "no field " + all}
	case lacks && len(names) == 1 && (isList || valueAt(sc, read) == nil):
		edit := hint.Edit{Value: []any{names[0]}}
		if isList {
			edit = hint.Edit{Below: "/" + strconv.Itoa(len(list)), Value: names[0]}
		}
		return hint.Hint{Words: "a list that has " + all, Edits: []hint.Edit{edit}}
	case lacks:
		return hint.Hint{Words: "a list that has " + all}
	}
	return hint.Hint{Words: "a list without " + all}
}

// wrong is the part of a text for which a condition with a value is met.
func (c *condition) wrong(value any, have string) hint.Part {
	var parts []hint.Part
	for _, v := range listOf(value) {
		text, ok := v.(string)
		switch {
		case !ok:
		case strings.Contains(c.name, "Not"):
			parts = append(parts, hint.Against(have, text))
		case pattern.Wildcard(text, have):
			parts = append(parts, hint.Like(have, text))
		}
	}
	return hint.Furthest(parts...)
}

// elements reports whether all that is read are elements of the list.
func elements(sc *variable.Scope, reads []string, list []any) bool {
	return !slices.ContainsFunc(reads, func(r string) bool {
		value := valueAt(sc, r)
		return !slices.ContainsFunc(list, func(e any) bool { return reflect.DeepEqual(e, value) })
	})
}

// only keeps the edits that take an element away, which do not depend on what the key makes of it.
func only(edits []hint.Edit) []hint.Edit {
	return slices.DeleteFunc(slices.Clone(edits), func(e hint.Edit) bool { return !e.Element })
}

// short is an expression as a sentence quotes it.
func short(source string) string {
	source = strings.Join(strings.Fields(source), " ")
	return pattern.Quote(strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(source, "{{"), "}}")))
}

// opposite is what the key must be for the condition not to be met.
func (c *condition) opposite(value any, isList bool) (string, []hint.Edit) {
	values := listOf(value)
	taken := []hint.Edit{{Remove: true, Element: true}}
	switch c.name {
	case "Equal", "Equals":
		if b, ok := value.(bool); ok {
			return hint.Text(!b), []hint.Edit{{Value: !b}}
		}
		if value == "" {
			return "a value that is not empty", []hint.Edit{{Value: hint.Placeholder, Example: true}}
		}
		return "anything but " + hint.Text(value), taken
	case "NotEqual", "NotEquals":
		if value == "" {
			return "nothing, or an empty value", []hint.Edit{{Remove: true}}
		}
		if s, ok := value.(string); ok && pattern.HasWildcard(s) {
			return "a value like " + s, nil
		}
		return hint.Text(value), []hint.Edit{{Value: value}}
	case "AnyIn", "In", "AllIn":
		if c.name == "AllIn" && isList {
			return "something besides " + hint.List(values), nil
		}
		return hint.NoneOf(values), taken
	case "AnyNotIn", "NotIn", "AllNotIn":
		if slices.ContainsFunc(values, isWild) {
			return wild(values), taken
		}
		return hint.OneOf(values), append(hint.Choose(values...), taken...)
	case "GreaterThan", "DurationGreaterThan":
		return "at most " + hint.Text(value), []hint.Edit{{Value: value, Example: true}}
	case "GreaterThanOrEquals", "DurationGreaterThanOrEquals":
		return "less than " + hint.Text(value), step(value, -1)
	case "LessThan", "DurationLessThan":
		return "at least " + hint.Text(value), []hint.Edit{{Value: value, Example: true}}
	case "LessThanOrEquals", "DurationLessThanOrEquals":
		return "more than " + hint.Text(value), step(value, 1)
	}
	return "", nil
}

func step(value any, by int64) []hint.Edit {
	if n, ok := value.(int64); ok {
		return []hint.Edit{{Value: n + by, Example: true}}
	}
	return nil
}

func wild(values []any) string {
	if len(values) == 1 {
		return "a value like " + hint.Text(values[0])
	}
	return "a value like one of " + hint.List(values)
}

func isWild(v any) bool {
	s, ok := v.(string)
	return ok && pattern.HasWildcard(s)
}

// listOf is a value of the operators that look for keys, as a list.
func listOf(value any) []any {
	switch v := value.(type) {
	case []any:
		return v
	case string:
		texts, invalid := jsonTexts(v)
		if invalid {
			return []any{v}
		}
		out := make([]any, len(texts))
		for i, t := range texts {
			out[i] = t
		}
		return out
	}
	return []any{value}
}
