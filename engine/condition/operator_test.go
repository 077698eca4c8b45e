package condition

import (
	"fmt"
	"testing"
)

func list(v ...any) []any { return v }

type obj = map[string]any

func TestOperators(t *testing.T) {
	tests := []struct {
		key      any
		operator string
		value    any
		want     bool
	}{
		// Equals: bools
		{true, "Equals", true, true},
		{true, "Equals", false, false},
		{true, "Equals", "true", false},
		{true, "NotEquals", "true", true},
		{false, "NotEquals", false, false},
		{true, "Equal", true, true},
		{true, "NotEqual", true, false},
		// numbers
		{int64(5), "Equals", int64(5), true},
		{int64(5), "Equals", 5.0, true},
		{int64(5), "Equals", 5.5, false},
		{int64(5), "Equals", "5", true},
		{int64(5), "Equals", "5.0", false},
		{int64(5), "Equals", "five", false},
		{int64(5), "NotEquals", "five", true},
		{int64(5), "Equals", nil, false},
		{int64(5), "NotEquals", nil, true},
		{int64(5), "Equals", list(int64(5)), false},
		{5.5, "Equals", 5.5, true},
		{5.5, "Equals", "5.5", true},
		{5.5, "Equals", int64(5), false},
		{5.0, "Equals", int64(5), true},
		{5.0, "Equals", "5", true},
		{5.5, "NotEquals", true, true},
		{int64(1 << 60), "Equals", int64(1<<60 + 1), false},
		// strings: wildcards in the value only
		{"abc", "Equals", "abc", true},
		{"abc", "Equals", "ABC", false},
		{"abc", "Equals", "a*", true},
		{"abc", "NotEquals", "a*", false},
		{"a*", "Equals", "abc", false},
		{"abc", "Equals", "a?", false},
		{"abc", "Equals", "?*", true},
		{"", "Equals", "", true},
		{"", "Equals", "?*", false},
		{"", "NotEquals", "", false},
		{"abc", "NotEquals", "", true},
		{"abc", "Equals", int64(3), false},
		{"abc", "NotEquals", int64(3), true},
		{"5", "Equals", int64(5), false},
		{"true", "Equals", true, false},
		{"abc", "Equals", list("abc"), false},
		// quantities in strings
		{"1Gi", "Equals", "1024Mi", true},
		{"1Gi", "NotEquals", "1024Mi", false},
		{"0.5", "Equals", "500m", true},
		{"5", "Equals", "5.0", true},
		{"5", "Equals", "x", false},
		{"5", "NotEquals", "", true},
		{"5", "NotEquals", "x", true}, // since Kyverno 1.19
		{"5", "NotEquals", "*", true},
		{"100Mi", "NotEquals", "*Mi", true},
		{"1e3", "NotEquals", "1e3x", true},
		{"5", "NotEquals", "6", true},
		{"5", "NotEquals", int64(5), true},
		{"5", "NotEquals", nil, true},
		{"5", "NotEqual", "five", true},
		{"5x", "NotEquals", "five", true},
		{"5", "Equals", "*", false}, // a quantity is compared with quantities only
		// durations
		{"1h", "Equals", "60m", true},
		{"1h", "Equals", "61m", false},
		{"1h", "NotEquals", "60m", false},
		{"1h", "Equals", int64(3600), true},
		{"1h", "Equals", 3600.9, true},
		{"1h", "NotEquals", int64(3601), true},
		{"1h", "Equals", "0", false},
		{"0", "Equals", "0", true},
		{"1h", "Equals", "*", true},
		// maps and lists
		{obj{"a": int64(1)}, "Equals", obj{"a": int64(1)}, true},
		{obj{"a": int64(1)}, "Equals", obj{"a": 1.0}, true},
		{obj{"a": int64(1)}, "Equals", obj{"a": int64(2)}, false},
		{obj{"a": int64(1)}, "Equals", obj{"b": int64(1)}, false},
		{obj{"a": int64(1)}, "NotEquals", obj{"a": int64(2)}, true},
		{obj{}, "Equals", obj{}, true},
		{obj{}, "Equals", "", false},
		{obj{}, "NotEquals", list(), true},
		{list("a", "b"), "Equals", list("a", "b"), true},
		{list("a", "b"), "Equals", list("b", "a"), false},
		{list("a", "b"), "NotEquals", list("a"), true},
		{list(), "Equals", list(), true},
		{list(obj{"a": list(int64(1))}), "Equals", list(obj{"a": list(1.0)}), true},
		{list(obj{}), "Equals", list(list()), false},
		{list("a"), "Equals", "a", false},
		// null keys are neither equal nor different
		{nil, "Equals", nil, false},
		{nil, "NotEquals", "x", false},
		{nil, "AnyIn", list(nil), false},
		{nil, "AllNotIn", list("x"), false},
		{nil, "GreaterThan", int64(0), false},
		// the text of a number is compared with a duration as a number is: in seconds
		{"10", "LessThan", "1h", true},
		{"1e4", "LessThan", "1h", false},
		{int64(10), "LessThan", "1h", true},

		// one key in a list: wildcards on both sides
		{"a", "AnyIn", list("a", "b"), true},
		{"c", "AnyIn", list("a", "b"), false},
		{"abc", "AnyIn", list("a*"), true},
		{"a*", "AnyIn", list("abc"), true},
		{"a*", "AnyNotIn", list("abc"), false},
		{"x", "AnyNotIn", list("abc"), true},
		{"x", "AllNotIn", list("abc", "x"), false},
		{"x", "AllIn", list("abc", "x"), true},
		{"x", "AllIn", list(), false},
		{"x", "AllNotIn", list(), true},
		{int64(80), "AnyIn", list(int64(80), int64(443)), true},
		{int64(80), "AnyIn", list("80"), true},
		{int64(8080), "AnyIn", list(80.0), false},
		{80.0, "AnyIn", list(int64(80)), true},
		{1000000.0, "AnyIn", list("1000000"), true},
		{0.5, "AnyIn", list("0.5"), true},
		{true, "AnyIn", list(true, false), true},
		{true, "AnyIn", list("true"), true},
		{true, "AllNotIn", list("false"), true},
		{"<nil>", "AnyIn", list(nil), true},
		// one key in a string
		{"a", "AnyIn", "a", true},
		{"abc", "AnyIn", "a*", true},
		{"a*", "AnyIn", "abc", false},
		{"a", "AllIn", `["a", "b"]`, true},
		{"c", "AnyIn", `["a", "b"]`, false},
		{"c", "AnyNotIn", `["a", "b"]`, true},
		{"ab", "AnyIn", `["a*"]`, false}, // exact in JSON
		{"a", "AnyNotIn", "b", true},
		{"a", "AllNotIn", "b", true},
		{"a", "AllNotIn", "a", false},
		{"5", "AnyNotIn", "8", false}, // JSON, but not a list of strings
		{"5", "AnyNotIn", "[8]", false},
		{"5", "AllNotIn", `{"a": 1}`, false},
		{"5", "AllNotIn", "null", true},
		{"a", "AnyIn", int64(5), false},
		{int64(5), "AnyIn", int64(5), false},
		{"a", "AnyNotIn", int64(5), false},
		{"a", "AllNotIn", nil, false},
		{"a", "AnyIn", obj{"a": "a"}, false},
		// ranges
		{int64(5), "AnyIn", "1-10", true},
		{int64(11), "AnyIn", "1-10", false},
		{"5", "AllIn", "1-10", true},
		{int64(11), "AnyNotIn", "1-10", true},
		{int64(10), "AllNotIn", "1-10", false},
		{"x", "AnyNotIn", "1-10", true},
		{"256Mi", "AnyIn", "128Mi-512Mi", true},
		{"2h", "AnyIn", "1h-3h", true},
		{"4h", "AllNotIn", "1h-3h", true},
		{int64(-3), "AnyIn", "-5--1", true},
		{int64(5), "AnyIn", "1!-10", false}, // only a-b is a range here
		{list(int64(1), int64(20)), "AnyIn", "1-10", true},
		{list(int64(11), int64(20)), "AnyIn", "1-10", false},
		{list(int64(1), int64(10)), "AllIn", "1-10", true},
		{list(int64(1), int64(11)), "AllIn", "1-10", false},
		{list(int64(1), int64(11)), "AnyNotIn", "1-10", true},
		{list(int64(1), int64(5)), "AnyNotIn", "1-10", false},
		{list("x"), "AnyNotIn", "1-10", false},
		{list(int64(-9)), "AnyNotIn", "-5-5", true},
		{list(int64(11), int64(20)), "AllNotIn", "1-10", true},
		{list(int64(1), int64(20)), "AllNotIn", "1-10", false},
		{list("x"), "AllNotIn", "1-10", true},
		{list("1-10"), "AnyIn", "1-10", true},
		// several keys
		{list("a", "b"), "AnyIn", list("b", "c"), true},
		{list("a", "b"), "AnyIn", list("c"), false},
		{list("a", "b"), "AllIn", list("b", "a", "c"), true},
		{list("a", "b"), "AllIn", list("a"), false},
		{list("a", "b"), "AnyNotIn", list("a"), true},
		{list("a", "b"), "AnyNotIn", list("a", "b"), false},
		{list("a", "b"), "AllNotIn", list("c"), true},
		{list("a", "b"), "AllNotIn", list("b"), false},
		{list("ab", "cd"), "AllIn", list("a*", "c*"), true},
		{list("a*"), "AnyIn", list("abc"), true},
		{list("a*", "x"), "AllNotIn", list("abc"), false},
		{list(), "AnyIn", list("a"), false},
		{list(), "AllIn", list("a"), true},
		{list(), "AnyNotIn", list("a"), false},
		{list(), "AllNotIn", list("a"), true},
		{list(int64(1), true), "AllIn", list("1", "true"), true},
		{list("a", "b"), "AnyIn", `["b"]`, true},
		{list("a", "b"), "AllIn", `["b"]`, false},
		{list("a", "b"), "AnyNotIn", `["b"]`, true},
		{list("ab"), "AnyIn", `["a*"]`, true},
		{list("a", "b"), "AnyIn", "b", true},
		{list("a"), "AllIn", "a", true},
		{list("a"), "AnyNotIn", "a", false},
		{list("a"), "AllNotIn", "a", false},
		{list("5"), "AnyIn", "6", false},
		{list("5"), "AllNotIn", "6", false},
		{list(int64(5)), "AnyIn", int64(5), true},
		{list(int64(5), int64(6)), "AnyNotIn", int64(5), true},
		{list(true), "AnyIn", true, true},
		{list(int64(5)), "AllIn", int64(5), false},
		{list(int64(6)), "AllNotIn", int64(5), false},
		{list("a"), "AnyIn", nil, false},
		{list("a"), "AllNotIn", obj{}, false},
		{obj{"a": "b"}, "AnyIn", list("a"), false},
		{obj{"a": "b"}, "AllNotIn", list("a"), false},

		// the deprecated In and NotIn
		{"a", "In", list("a", "b"), true},
		{"ab", "In", list("a*"), true},
		{"c", "In", list("a", "b"), false},
		{"c", "NotIn", list("a", "b"), true},
		{"a", "NotIn", list("a", "b"), false},
		{int64(1), "In", list("1"), true},
		{"a", "In", "a", true},
		{"a", "In", `["a"]`, true},
		{"a", "In", "b", false},
		{"a", "NotIn", "b", false}, // no JSON list
		{"a", "NotIn", `["b"]`, true},
		{"5", "In", "1-10", false},
		{list("a", "b"), "In", list("a", "b", "c"), true},
		{list("a", "d"), "In", list("a", "b", "c"), false},
		{list("ab"), "In", list("a*"), false},
		{list("a", "d"), "NotIn", list("a", "b"), true},
		{list("a", "b"), "NotIn", list("a", "b"), false},
		{list("a"), "In", "a", true},
		{list("a"), "NotIn", "a", true},
		{list("a"), "In", `["a", "b"]`, true},
		{list("a"), "In", list("a", int64(1)), false},
		{list("a"), "NotIn", list(int64(1)), false},
		{list("a"), "In", int64(1), false},
		{nil, "In", list("a"), false},
		{nil, "NotIn", list("a"), false},

		// order
		{int64(5), "GreaterThan", int64(4), true},
		{int64(5), "GreaterThan", int64(5), false},
		{int64(5), "GreaterThanOrEquals", int64(5), true},
		{int64(5), "LessThan", int64(6), true},
		{int64(5), "LessThan", int64(5), false},
		{int64(5), "LessThanOrEquals", int64(5), true},
		{int64(5), "LessThanOrEquals", 4.9, false},
		{5.5, "GreaterThan", int64(5), true},
		{int64(5), "GreaterThan", "4", true},
		{int64(5), "GreaterThan", "4.5", true},
		{int64(5), "GreaterThan", "x", false},
		{int64(5), "LessThan", "x", false},
		{"5", "GreaterThan", int64(4), true},
		{"5", "GreaterThan", "4", true},
		{"10", "GreaterThan", "9", true},
		{"x", "GreaterThan", "a", false},
		{"x", "LessThan", int64(5), false},
		{true, "GreaterThan", false, false},
		{list(int64(5)), "GreaterThan", int64(1), false},
		{int64(5), "GreaterThan", list(int64(1)), false},
		{int64(5), "GreaterThan", nil, false},
		{"NaN", "LessThanOrEquals", int64(5), false},
		// quantities
		{"1Gi", "GreaterThan", "1000Mi", true},
		{"1Gi", "LessThanOrEquals", "1024Mi", true},
		{"500m", "LessThan", "1", true},
		{"2", "GreaterThan", "1500m", true},
		{"1Gi", "GreaterThan", int64(5), false},
		{int64(5), "LessThan", "1Gi", false},
		// durations
		{"1h", "GreaterThan", "30m", true},
		{"1h", "GreaterThanOrEquals", "60m", true},
		{"10s", "LessThan", int64(11), true},
		{int64(3600), "GreaterThan", "30m", true},
		{int64(3600), "LessThanOrEquals", "1h", true},
		{60.9, "GreaterThan", "60s", false},
		{"1h", "GreaterThan", "5", false},
		{"1h", "LessThan", true, false},
		// versions
		{"1.5.2", "GreaterThan", "1.5.1", true},
		{"1.10.0", "GreaterThan", "1.9.0", true},
		{"1.5.2", "LessThan", "1.5.2", false},
		{"1.5.2", "LessThanOrEquals", "1.5.2", true},
		{"1.5.2-rc.1", "LessThan", "1.5.2", true},
		{"1.5.2", "GreaterThan", "1.5", false},
		{"v1.5.2", "GreaterThan", "1.5.1", false},
		{"1.5.2", "GreaterThan", int64(1), false},
		// the deprecated Duration operators
		{"1h", "DurationGreaterThan", "30m", true},
		{"1h", "DurationGreaterThan", "1h", false},
		{"1h", "DurationGreaterThanOrEquals", "60m", true},
		{"10s", "DurationLessThan", "1m", true},
		{"10s", "DurationLessThanOrEquals", "10s", true},
		{"10s", "DurationLessThan", int64(11), true},
		{int64(11), "DurationGreaterThan", "10s", true},
		{int64(11), "DurationGreaterThan", int64(10), true},
		{1.9, "DurationGreaterThan", int64(1), false},
		{"0", "DurationLessThan", "1s", true},
		{"x", "DurationLessThan", "1s", false},
		{"1s", "DurationLessThan", "x", false},
		{true, "DurationLessThan", "1s", false},
		{"1s", "DurationLessThan", nil, false},
		{"5", "DurationLessThan", "10s", false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%#v %s %#v", tt.key, tt.operator, tt.value), func(t *testing.T) {
			prepare, ok := operators[tt.operator]
			if !ok {
				t.Fatal("no such operator")
			}
			if got := prepare(tt.value)(tt.key); got != tt.want {
				t.Errorf("%#v %s %#v = %v, want %v", tt.key, tt.operator, tt.value, got, tt.want)
			}
		})
	}
	if len(tests) < 150 {
		t.Errorf("%d rows", len(tests))
	}
}

// TestOppositeOperators holds the operators against each other where both can be evaluated.
func TestOppositeOperators(t *testing.T) {
	keys := []any{"a", "ab", "a*", int64(5), 5.5, true, "1h", "1Gi"}
	values := []any{list("a", "b"), list(), list("*"), list(int64(5)), `["a"]`, "1-10"}
	for _, opposites := range [][2]string{{"AnyIn", "AnyNotIn"}, {"AllIn", "AllNotIn"}, {"In", "NotIn"},
		{"Equals", "NotEquals"}} {
		is := operators[opposites[0]]
		isNot := operators[opposites[1]]
		for _, key := range keys {
			for _, value := range values {
				if value == any("1-10") && opposites[0] == "In" {
					continue // no list: neither holds
				}
				if _, isText := value.(string); isText && key == "1Gi" && opposites[0] == "Equals" {
					continue // a quantity and none
				}
				if is(value)(key) == isNot(value)(key) {
					t.Errorf("%v %s %v and %s agree", key, opposites[0], value, opposites[1])
				}
			}
		}
	}
	for _, key := range []any{list("a"), list("a", "x"), list("x", "y")} {
		for _, value := range []any{list("a", "b"), list("x"), list("q")} {
			any := operators["AnyIn"]
			allNot := operators["AllNotIn"]
			all := operators["AllIn"]
			anyNot := operators["AnyNotIn"]
			if any(value)(key) == allNot(value)(key) || all(value)(key) == anyNot(value)(key) {
				t.Errorf("%v and %v: AnyIn is not the opposite of AllNotIn, or AllIn of AnyNotIn", key, value)
			}
		}
	}
}

func TestIsDeprecated(t *testing.T) {
	for name, want := range map[string]string{"In": "AnyIn or AllIn", "NotIn": "AnyNotIn or AllNotIn", "Equal": "Equals",
		"NotEqual": "NotEquals", "DurationLessThan": "LessThan"} {
		if instead, ok := IsDeprecated(name); !ok || instead != want {
			t.Errorf("IsDeprecated(%s) = %q, %v", name, instead, ok)
		}
	}
	for _, name := range []string{"Equals", "AnyIn", "LessThan", "x"} {
		if _, ok := IsDeprecated(name); ok {
			t.Errorf("%s is not deprecated", name)
		}
	}
}
