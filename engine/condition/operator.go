package condition

import (
	"fmt"
	"math"
	"strconv"
)

// test compares a key with a prepared value.
type test func(key any) bool

// operator prepares the comparison with a value, so that this is done only once for a value without variables.
type operator func(value any) test

// operatorNames are the names for people.
const operatorNames = "Equals, NotEquals, AnyIn, AllIn, AnyNotIn, AllNotIn, GreaterThan, GreaterThanOrEquals, " +
	"LessThan, LessThanOrEquals"

// operators are the operators by their names, the deprecated ones included
// (https://kyverno.io/docs/policy-types/cluster-policy/preconditions/#operators).
var operators = map[string]operator{
	"Equal": equals, "Equals": equals, "NotEqual": notEquals, "NotEquals": notEquals,
	"AnyIn": membership(false, true), "AllIn": membership(false, false), "In": exactly(false),
	"AnyNotIn": membership(true, true), "AllNotIn": membership(true, false), "NotIn": exactly(true),
	"GreaterThan": ordered(isMore), "GreaterThanOrEquals": ordered(isMoreOrEqual),
	"LessThan": ordered(isLess), "LessThanOrEquals": ordered(isLessOrEqual),
	"DurationGreaterThan": durations(isMore), "DurationGreaterThanOrEquals": durations(isMoreOrEqual),
	"DurationLessThan": durations(isLess), "DurationLessThanOrEquals": durations(isLessOrEqual),
}

// IsDeprecated reports whether Kyverno's documentation advises against an operator, and which one to use instead.
func IsDeprecated(name string) (instead string, deprecated bool) {
	switch name {
	case "Equal", "NotEqual":
		return name + "s", true
	case "In":
		return "AnyIn or AllIn", true
	case "NotIn":
		return "AnyNotIn or AllNotIn", true
	case "DurationGreaterThan", "DurationGreaterThanOrEquals", "DurationLessThan", "DurationLessThanOrEquals":
		return name[len("Duration"):], true
	}
	return "", false
}

func isMore(order int) bool        { return order > 0 }
func isMoreOrEqual(order int) bool { return order >= 0 }
func isLess(order int) bool        { return order < 0 }
func isLessOrEqual(order int) bool { return order <= 0 }

// sprint returns the text of a value in a list. Whole numbers have no exponent and no fraction, whatever their type.
func sprint(value any) string {
	switch typed := value.(type) {
	case string:
		return typed
	case int64:
		return strconv.FormatInt(typed, 10)
	case float64:
		if typed == math.Trunc(typed) && math.Abs(typed) < 1<<53 {
			return strconv.FormatInt(int64(typed), 10)
		}
	case bool:
		return strconv.FormatBool(typed)
	}
	return fmt.Sprint(value)
}

// sprints is the texts of a list.
func sprints(list []any) []string {
	texts := make([]string, len(list))
	for i, element := range list {
		texts[i] = sprint(element)
	}
	return texts
}
