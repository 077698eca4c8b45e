package gitops

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// function is one of the template functions. Arguments and results are JSON values; whole numbers may be int,
// int64 or float64.
type function struct {
	min, max int // arguments; max -1: any number
	call     func(args []any) (any, error)
}

const (
	maxValueNodes = 20_000   // of an argument or a result
	maxValueBytes = 64 << 10 // of a text that a function makes
)

var (
	errTooLarge = errors.New("a value grows larger than the limit allows")
	errArgument = errors.New("an argument is of the wrong type")
)

// functions answers the table as text/template wants it, with every call counted and bounded: what goes in and
// what comes out is small, and no value holds itself.
func (t *templates) functions() template.FuncMap {
	m := template.FuncMap{stepName: func() (string, error) { return "", t.spend(1) }}
	for name, f := range functionTable() {
		m[name] = func(args ...any) (any, error) {
			if len(args) < f.min || f.max >= 0 && len(args) > f.max {
				return nil, errors.New("wrong number of arguments for " + name)
			}
			cost := 1
			for _, a := range args {
				n, err := sizeOf(a, 0)
				if err != nil {
					return nil, err
				}
				cost += n
			}
			if err := t.spend(cost); err != nil {
				return nil, err
			}
			result, err := f.call(args)
			if err != nil {
				return nil, err
			}
			n, err := sizeOf(result, 0)
			if err != nil {
				return nil, err
			}
			return result, t.spend(n)
		}
	}
	return m
}

// sizeOf counts the values in a value, and fails where it is large, deep or a text that is long.
func sizeOf(v any, depth int) (int, error) {
	n := 0
	var count func(v any, depth int) error
	count = func(v any, depth int) error {
		if n++; n > maxValueNodes || depth > maxDepth {
			return errTooLarge
		}
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				if len(k) > maxValueBytes {
					return errTooLarge
				}
				if err := count(item, depth+1); err != nil {
					return err
				}
			}
		case []any:
			for _, item := range v {
				if err := count(item, depth+1); err != nil {
					return err
				}
			}
		case string:
			if len(v) > maxValueBytes {
				return errTooLarge
			}
			n += len(v) / 256
		}
		return nil
	}
	err := count(v, depth)
	return n, err
}

// copyValue keeps values from being shared: a value that is put into two places is two values.
func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			m[k] = copyValue(v[k])
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = copyValue(v[i])
		}
		return list
	}
	return v
}

// show prints a value as text/template does.
func show(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func emptyValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	n, ok := toFloat(v)
	return ok && n == 0
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// toInt reads a number as sprig does: what is none is 0.
func toInt(v any) int64 {
	n, _ := toFloat(v)
	if math.IsNaN(n) || math.Abs(n) >= 1<<62 {
		return 0
	}
	return int64(n)
}

func wholeNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// text1 is a function of one text.
func text1(f func(string) string) function {
	return function{1, 1, func(a []any) (any, error) { return f(show(a[0])), nil }}
}

// text2 is a function of two texts, in the order in which they are written.
func text2(f func(a, b string) any) function {
	return function{2, 2, func(a []any) (any, error) { return f(show(a[0]), show(a[1])), nil }}
}

func numbers(f func(a, b int64) (int64, error)) function {
	return function{1, -1, func(a []any) (any, error) {
		total := toInt(a[0])
		for _, v := range a[1:] {
			var err error
			if total, err = f(total, toInt(v)); err != nil {
				return nil, err
			}
		}
		return total, nil
	}}
}

func divide(of func(a, b int64) int64) func(a, b int64) (int64, error) {
	return func(a, b int64) (int64, error) {
		if b == 0 {
			return 0, errors.New("division by zero")
		}
		return of(a, b), nil
	}
}

func listOf(v any) ([]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	}
	return nil, errArgument
}

func mapOf(v any) (map[string]any, error) {
	if m, ok := v.(map[string]any); ok && m != nil {
		return m, nil
	}
	return nil, errArgument
}

// onList is a function whose last argument is a list.
func onList(n int, f func(list []any, args []any) any) function {
	return function{n, n, func(a []any) (any, error) {
		list, err := listOf(a[n-1])
		if err != nil {
			return nil, err
		}
		return f(list, a[:n-1]), nil
	}}
}

// listFirst is a function whose first argument is a list.
func listFirst(n int, f func(list []any, args []any) any) function {
	return function{n, n, func(a []any) (any, error) {
		list, err := listOf(a[0])
		if err != nil {
			return nil, err
		}
		return f(list, a[1:]), nil
	}}
}

func onMap(min, max int, f func(m map[string]any, args []any) (any, error)) function {
	return function{min, max, func(a []any) (any, error) {
		m, err := mapOf(a[0])
		if err != nil {
			return nil, err
		}
		return f(m, a[1:])
	}}
}

func sortedKeys(m map[string]any) []any {
	list := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k)
	}
	return list
}

// bounded refuses to make a text of more than n bytes, before it is made.
func bounded(n int, text func() string) (any, error) {
	if n < 0 || n > maxValueBytes {
		return nil, errTooLarge
	}
	return text(), nil
}

// printed formats as fmt.Sprintf. The widths and precisions that a format asks for are bounded by its length.
func printed(a []any) (any, error) {
	format, ok := a[0].(string)
	if !ok {
		return nil, errArgument
	}
	digits := 0
	for _, c := range format {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > 3 || c == '*' {
			return nil, errors.New("printf: the format asks for a width that is not evaluated")
		}
	}
	if strings.Count(format, "%") > 100 {
		return nil, errTooLarge
	}
	return fmt.Sprintf(format, a[1:]...), nil
}
