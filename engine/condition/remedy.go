package condition

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Remedy is a change after which a condition has the opposite result.
type Remedy struct {
	Reads       []string // what the key reads, as in [Outcome]
	Requirement explain.Requirement
	Key         string // the key as sentences quote it; the requirement says it where the key is more than one field
	Have        []any  // the values at Reads
	// Wrong returns which part of a text is wrong.
	Wrong func(have string) explain.Span
	// Value is what the value of the condition reads: another way is to change that. AtValue is said there; without
	// words, Hint is.
	Value   []string
	AtValue explain.Requirement
}

// Remedies returns the changes after which a set that is met is not met: for each of its conditions that is met, the
// opposite.
func (s *Set) Remedies(sc *variable.Scope) (out []Remedy) {
	for _, c := range s.conditions() {
		if w, ok := c.remedy(sc); ok {
			out = append(out, w)
		}
	}
	return out
}

// remedy returns the opposite of a condition that is met.
func (c *condition) remedy(sc *variable.Scope) (Remedy, bool) {
	key, t, err := c.operands(sc)
	if err != nil || !t(key) {
		return Remedy{}, false
	}
	value, err := c.value.Resolve(sc)
	if err != nil {
		return Remedy{}, false
	}
	w := Remedy{Reads: c.key.Reads(sc), Value: c.value.Reads(sc)}
	plain := len(w.Reads) == 1 && (reflect.DeepEqual(sc.At(w.Reads[0]), key) || sc.At(w.Reads[0]) == nil)
	list, isList := key.([]any)
	if isList {
		kept := narrow(sc, w.Reads, list, func(element any) bool { return t([]any{element}) })
		plain = len(kept) < len(w.Reads) || elements(sc, kept, list)
		w.Reads = kept
	}
	words, edits := c.opposite(value, isList)
	if len(w.Reads) == 0 && len(w.Value) > 0 && !isList && strings.Contains(c.name, "Equal") {
		words, _ = c.opposite(key, false) // the key says how the value must not be
		w.Requirement = explain.Requirement{Words: words}
		return w, words != ""
	}
	if len(w.Reads) == 0 && len(w.Value) > 0 && strings.HasSuffix(c.name, "In") && !strings.Contains(c.source, "{{") {
		w.AtValue = c.member(sc, listOf(key), w.Value[0])
		w.Requirement = explain.Requirement{Words: w.AtValue.Words}
		return w, true
	}
	w.Key = short(c.source)
	if !plain && c.source != "" {
		words, edits = w.Key+" to be "+words, only(edits)
	}
	w.Requirement = explain.Requirement{Words: words, Changes: edits}
	for _, r := range w.Reads {
		w.Have = append(w.Have, sc.At(r))
	}
	w.Wrong = func(have string) explain.Span { return c.wrong(value, have) }
	return w, words != ""
}

// member describes what a list of the object has to contain, or must not: a name that the rule requires is among its
// elements, or among the fields of a map.
func (c *condition) member(sc *variable.Scope, names []any, read string) explain.Requirement {
	list, isList := sc.At(read).([]any)
	m, isMap := sc.At(read).(map[string]any)
	lacks := strings.Contains(c.name, "Not")
	all := explain.List(names)
	switch {
	case isMap && lacks:
		var edits []explain.Change
		for _, n := range names {
			if name, ok := n.(string); ok && m[name] == nil {
				edits = append(edits, explain.Change{Below: "/" + jsonpointer.Escape(name), Value: explain.Placeholder, Example: true})
			}
		}
		return explain.Requirement{Words: "a field " + all, Changes: edits}
	case isMap:
		return explain.Requirement{Words: "no field " + all}
	case lacks && len(names) == 1 && (isList || sc.At(read) == nil):
		edit := explain.Change{Value: []any{names[0]}}
		if isList {
			edit = explain.Change{Below: "/" + strconv.Itoa(len(list)), Value: names[0]}
		}
		return explain.Requirement{Words: "a list that has " + all, Changes: []explain.Change{edit}}
	case lacks:
		return explain.Requirement{Words: "a list that has " + all}
	}
	return explain.Requirement{Words: "a list without " + all}
}

// wrong returns the part of a text that makes a condition with a value true.
func (c *condition) wrong(value any, have string) explain.Span {
	var parts []explain.Span
	for _, v := range listOf(value) {
		text, ok := v.(string)
		switch {
		case !ok:
		case strings.Contains(c.name, "Not"):
			parts = append(parts, explain.Against(have, text))
		case pattern.Wildcard(text, have):
			parts = append(parts, explain.Like(have, text))
		}
	}
	return explain.Furthest(parts...)
}

// elements reports whether all that is read are elements of the list.
func elements(sc *variable.Scope, reads []string, list []any) bool {
	return !slices.ContainsFunc(reads, func(r string) bool {
		value := sc.At(r)
		return !slices.ContainsFunc(list, func(e any) bool { return reflect.DeepEqual(e, value) })
	})
}

// only keeps the edits that remove an element, which do not depend on how the key is computed.
func only(edits []explain.Change) []explain.Change {
	return slices.DeleteFunc(slices.Clone(edits), func(e explain.Change) bool { return !e.Element })
}

// short returns an expression, shortened to quote it in a sentence.
func short(source string) string {
	source = strings.Join(strings.Fields(source), " ")
	return pattern.Quote(strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(source, "{{"), "}}")))
}

// opposite returns what the key must be so that the condition is not met.
func (c *condition) opposite(value any, isList bool) (string, []explain.Change) {
	values := listOf(value)
	taken := []explain.Change{{Remove: true, Element: true}}
	switch c.name {
	case "Equal", "Equals":
		if b, ok := value.(bool); ok {
			return explain.Text(!b), []explain.Change{{Value: !b}}
		}
		if value == "" {
			return "a value that is not empty", []explain.Change{{Value: explain.Placeholder, Example: true}}
		}
		return "anything but " + explain.Text(value), taken
	case "NotEqual", "NotEquals":
		if value == "" {
			return "nothing, or an empty value", []explain.Change{{Remove: true}}
		}
		if s, ok := value.(string); ok && pattern.HasWildcard(s) {
			return "a value like " + s, nil
		}
		return explain.Text(value), []explain.Change{{Value: value}}
	case "AnyIn", "In", "AllIn":
		if c.name == "AllIn" && isList {
			return "something besides " + explain.List(values), nil
		}
		return explain.NoneOf(values), taken
	case "AnyNotIn", "NotIn", "AllNotIn":
		if slices.ContainsFunc(values, isWild) {
			return wild(values), taken
		}
		return explain.OneOf(values), append(explain.Choose(values...), taken...)
	case "GreaterThan", "DurationGreaterThan":
		return "at most " + explain.Text(value), []explain.Change{{Value: value, Example: true}}
	case "GreaterThanOrEquals", "DurationGreaterThanOrEquals":
		return "less than " + explain.Text(value), step(value, -1)
	case "LessThan", "DurationLessThan":
		return "at least " + explain.Text(value), []explain.Change{{Value: value, Example: true}}
	case "LessThanOrEquals", "DurationLessThanOrEquals":
		return "more than " + explain.Text(value), step(value, 1)
	}
	return "", nil
}

func step(value any, by int64) []explain.Change {
	if n, ok := value.(int64); ok {
		return []explain.Change{{Value: n + by, Example: true}}
	}
	return nil
}

func wild(values []any) string {
	if len(values) == 1 {
		return "a value like " + explain.Text(values[0])
	}
	return "a value like one of " + explain.List(values)
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
		return jsonpointer.List(texts)
	}
	return []any{value}
}
