package condition

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// relation describes how a key relates to a value: equal, different, or not comparable at all.
type relation byte

const (
	different   relation = iota // Equals is false, NotEquals true
	same                        // Equals is true, NotEquals false
	unsupported                 // the key is null: both are false
)

func equals(value any) test {
	return func(key any) bool { return relate(key, value) == same }
}

func notEquals(value any) test {
	return func(key any) bool { return relate(key, value) == different }
}

func sameIf(equal bool) relation {
	if equal {
		return same
	}
	return different
}

// relate compares depending on the type of the key: booleans with booleans, numbers with numbers and numbers in text,
// maps and lists recursively, and strings first as durations, then as quantities, then as text, where the value may
// have wildcards.
func relate(key, value any) relation {
	switch typed := key.(type) {
	case bool:
		b, ok := value.(bool)
		return sameIf(ok && b == typed)
	case int64, float64:
		return sameIf(equalsNumber(typed, value))
	case string:
		return relateString(typed, value)
	case map[string]any:
		m, ok := value.(map[string]any)
		return sameIf(ok && deepEqual(typed, m))
	case []any:
		list, ok := value.([]any)
		return sameIf(ok && deepEqual(typed, list))
	}
	return unsupported
}

func equalsNumber(key, value any) bool {
	text, ok := value.(string)
	if !ok {
		return jmespath.SameNumber(key, value)
	}
	if _, whole := key.(int64); whole {
		v, err := strconv.ParseInt(text, 10, 64)
		return err == nil && jmespath.SameNumber(key, v)
	}
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && jmespath.SameNumber(key, v)
}

func relateString(key string, value any) relation {
	if k, v, ok := seconds(key, value); ok {
		return sameIf(k == v)
	}
	text, ok := value.(string)
	if !ok {
		return different
	}
	if k, ok := pattern.ParseQuantity(key); ok && text != "" {
		v, ok := pattern.ParseQuantity(text)
		return sameIf(ok && k.Cmp(v) == 0)
	}
	return sameIf(pattern.Wildcard(text, key))
}

// deepEqual compares JSON trees; numbers are equal by value, not by type.
func deepEqual(a, b any) bool {
	switch typed := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		return ok && maps.EqualFunc(typed, other, deepEqual)
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(typed, other, deepEqual)
	case int64, float64:
		return jmespath.SameNumber(a, b)
	}
	return a == b
}
