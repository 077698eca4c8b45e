package jmespath

import (
	"cmp"
	"math"
	"reflect"
)

// falsy describes what counts as false: null, false, and empty strings, lists and objects
// (https://jmespath.org/specification.html#or-expressions). The number 0 is not among them.
func falsy(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// number is a JSON number that remembers whether it is whole.
type number struct {
	i     int64
	f     float64
	whole bool
}

func (n number) float() float64 {
	if n.whole {
		return float64(n.i)
	}
	return n.f
}

func (n number) any() any {
	if n.whole {
		return n.i
	}
	return n.f
}

// asNumber is the value as a number.
func asNumber(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return number{i: v, whole: true}, true
	case float64:
		return number{f: v}, true
	}
	return number{}, false
}

// Number returns a value as a number, if it is one.
func Number(v any) (float64, bool) {
	n, ok := asNumber(v)
	return n.float(), ok
}

// exactBound is the size up to which every whole float64 is one whole number.
const exactBound = 1 << 53

// wholeIfExact is the number as int64 where nothing is lost by that.
func wholeIfExact(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < exactBound {
		return int64(f)
	}
	return f
}

// toInt is the number as an int where it is whole and fits.
func (n number) toInt() (int, bool) {
	if n.whole {
		return int(n.i), int64(int(n.i)) == n.i
	}
	if n.f == math.Trunc(n.f) && math.Abs(n.f) < exactBound {
		return int(n.f), true
	}
	return 0, false
}

func compareNumbers(a, b number) int {
	if a.whole && b.whole {
		return cmp.Compare(a.i, b.i)
	}
	return cmp.Compare(a.float(), b.float())
}

// equal compares two values deeply; 1 and 1.0 are equal.
func (m *machine) equal(a, b any) (bool, error) {
	if err := m.tick(); err != nil {
		return false, err
	}
	switch x := a.(type) {
	case nil, string, bool:
		return a == b, nil
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		for i := range x {
			if same, err := m.equal(x[i], y[i]); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return m.has(y, x)
	}
	return SameNumber(a, b) || reflect.DeepEqual(a, b), nil
}

// has reports whether an object has all entries of another one.
func (m *machine) has(o, entries map[string]any) (bool, error) {
	for k, want := range entries {
		have, ok := o[k]
		if !ok {
			return false, nil
		}
		if same, err := m.equal(want, have); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// SameNumber reports whether two values are equal numbers; 1 and 1.0 are. Whole numbers are compared exactly.
func SameNumber(a, b any) bool {
	x, ok := asNumber(a)
	y, too := asNumber(b)
	return ok && too && compareNumbers(x, y) == 0
}

// typeName is the result of type().
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64, float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
