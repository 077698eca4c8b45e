package condition

import (
	"encoding/json"
	"slices"

	"github.com/lintel-bot/lintel/engine/pattern"
)

// members is a value, prepared for operators that search keys in it: a list, a JSON list in a string, a range, or a
// single text.
type members struct {
	texts     []string
	isList    bool // the value is a list
	mixed     bool // and holds something else than texts
	isNumber  bool // the value is a number or bool: only AnyIn and AnyNotIn take it, and only for lists
	isText    bool
	text      string          // the string as it is
	within    *pattern.Scalar // the string is a range
	unmatched *pattern.Scalar // the opposite of the range
	invalid   bool            // the string is JSON, but not a list of strings
}

// prepare parses a value. Any other value matches nothing, and every operator is false for it.
func prepare(value any) members {
	switch typed := value.(type) {
	case []any:
		return members{texts: sprints(typed), isList: true, mixed: slices.ContainsFunc(typed, notString)}
	case int64, float64, bool:
		return members{texts: []string{sprint(typed)}, isNumber: true}
	case string:
		m := members{isText: true, text: typed}
		if left, right, op, ok := pattern.SplitRange(typed); ok && op == "-" {
			m.within, _ = pattern.CompileScalar(typed) // what is not a string is an error
			m.unmatched, _ = pattern.CompileScalar(left + "!-" + right)
			return m
		}
		m.texts, m.invalid = jsonTexts(typed)
		return m
	}
	return members{invalid: true}
}

// jsonTexts returns the strings of a JSON list, or the text itself if it is no JSON.
func jsonTexts(text string) (texts []string, invalid bool) {
	if !json.Valid([]byte(text)) {
		return []string{text}, false
	}
	return texts, json.Unmarshal([]byte(text), &texts) != nil
}

// alike reports whether either of two texts is a wildcard pattern of the other.
func alike(a, b string) bool {
	return a == b || pattern.Wildcard(a, b) || pattern.Wildcard(b, a)
}

// scalarKey returns the text of a key that is a single value.
func scalarKey(key any) (string, bool) {
	switch key.(type) {
	case string, int64, float64, bool:
		return sprint(key), true
	}
	return "", false
}

// holdsKey searches a single key. ok is false if the value cannot contain keys.
func (m *members) holdsKey(key string) (found, ok bool) {
	switch {
	case m.isList:
		return slices.ContainsFunc(m.texts, func(text string) bool { return alike(key, text) }), true
	case !m.isText:
		return false, false
	case pattern.Wildcard(m.text, key):
		return true, true
	case m.within != nil:
		return m.within.Matches(key), true
	case m.invalid:
		return false, false
	}
	return slices.Contains(m.texts, key), true
}

// holdsEach returns a function that searches single keys of a list.
func (m *members) holdsEach() (lookUp func(key string) bool, ok bool) {
	switch {
	case m.within != nil:
		return func(key string) bool { return m.within.Matches(key) }, true
	case m.invalid:
		return nil, false
	}
	return func(key string) bool {
		return slices.ContainsFunc(m.texts, func(text string) bool { return alike(key, text) })
	}, true
}

// searching creates an operator that searches keys in a value that prepare parses; one that is negative, for keys that are not
// there. list is for the keys of a list.
func searching(negative bool, prepare func(value any) members, list func(m members, keys []string) bool) operator {
	return func(value any) test {
		m := prepare(value)
		return func(key any) bool {
			if text, ok := scalarKey(key); ok {
				found, ok := m.holdsKey(text)
				return ok && found != negative
			}
			keys, ok := key.([]any)
			return ok && list(m, sprints(keys))
		}
	}
}

// membership creates an operator that searches keys: AnyIn (some), AllIn, AnyNotIn (negative, some) or AllNotIn
// (negative). A key meets it by being found, for a negative one by not being found. For the keys of a list, one that
// meets it is enough for some, and all have to otherwise. Only the numeric operators, AnyIn and AnyNotIn, compare the
// keys of a list with a value that is a number or a boolean.
func membership(negative, some bool) operator {
	return searching(negative, prepare, func(m members, keys []string) bool {
		switch {
		case m.isNumber && !some:
			return false
		case m.isText && len(keys) == 1 && keys[0] == m.text:
			return !negative
		case m.unmatched != nil && negative && some:
			// AnyNotIn tests for a key outside the range. A text that is not a number is not outside.
			return slices.ContainsFunc(keys, func(key string) bool { return m.unmatched.Matches(key) })
		}
		found, ok := m.holdsEach()
		// Some key that meets it, or none that does not.
		return ok && slices.ContainsFunc(keys, func(key string) bool { return (found(key) != negative) == some }) == some
	})
}

// exactly creates the deprecated operators. In: a single key as for AnyIn; of a list, all keys have to be among the
// values, exactly. NotIn, the negative one: a single key as for AnyNotIn; of a list, at least one key must not be among
// the values, exactly.
func exactly(negative bool) operator {
	return searching(negative, prepareExact, func(m members, keys []string) bool {
		if m.isText && len(keys) == 1 && keys[0] == m.text {
			// Kyverno returns true here for both operators.
			return true
		}
		missing := slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(m.texts, k) })
		return !m.invalid && !m.isNumber && !m.mixed && missing == negative
	})
}

func notString(value any) bool {
	_, ok := value.(string)
	return !ok
}

// prepareExact parses a value for the deprecated operators, which have no ranges and read a string only as a JSON list.
func prepareExact(value any) members {
	text, ok := value.(string)
	if !ok {
		return prepare(value)
	}
	m := members{isText: true, text: text}
	m.invalid = json.Unmarshal([]byte(text), &m.texts) != nil
	return m
}
