package gitops

import (
	"reflect"
	"slices"
)

func listFunctions() map[string]function {
	contains := func(list []any, v any) bool {
		return slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, v) })
	}
	part := func(from, to func(n int) int) function {
		return listFirst(1, func(l, _ []any) any {
			if len(l) == 0 {
				return nil
			}
			return slices.Clone(l[from(len(l)):to(len(l))])
		})
	}
	zero, all := func(int) int { return 0 }, func(n int) int { return n }
	return map[string]function{
		"list": {0, -1, func(a []any) (any, error) { return copyValue(slices.Clone(a)), nil }},
		"first": listFirst(1, func(l, _ []any) any {
			if len(l) == 0 {
				return nil
			}
			return l[0]
		}),
		"last": listFirst(1, func(l, _ []any) any {
			if len(l) == 0 {
				return nil
			}
			return l[len(l)-1]
		}),
		"rest": part(func(int) int { return 1 }, all), "initial": part(zero, func(n int) int { return n - 1 }),
		"append":  listFirst(2, func(l, a []any) any { return copyValue(append(slices.Clone(l), a[0])) }),
		"prepend": listFirst(2, func(l, a []any) any { return copyValue(append([]any{a[0]}, l...)) }),
		"concat": {0, -1, func(a []any) (any, error) {
			var out []any
			for _, v := range a {
				l, err := listOf(v)
				if err != nil {
					return nil, err
				}
				out = append(out, l...)
			}
			return copyValue(out), nil
		}},
		"reverse": listFirst(1, func(l, _ []any) any { l = slices.Clone(l); slices.Reverse(l); return l }),
		"uniq": listFirst(1, func(l, _ []any) any {
			out := []any{}
			for _, v := range l {
				if len(out) < 1000 && !contains(out, v) {
					out = append(out, v)
				}
			}
			return out
		}),
		"has": onList(2, func(l, a []any) any { return contains(l, a[0]) }),
		"without": {1, -1, func(a []any) (any, error) {
			l, err := listOf(a[0])
			out := []any{}
			for _, v := range l {
				if !contains(a[1:], v) {
					out = append(out, v)
				}
			}
			return out, err
		}},
		"compact": listFirst(1, func(l, _ []any) any { return slices.DeleteFunc(slices.Clone(l), emptyValue) }),
		"sortAlpha": listFirst(1, func(l, _ []any) any {
			parts := make([]string, len(l))
			for i := range l {
				parts[i] = show(l[i])
			}
			slices.Sort(parts)
			return texts2list(parts)
		}),
		"toStrings": listFirst(1, func(l, _ []any) any {
			parts := make([]string, len(l))
			for i := range l {
				parts[i] = show(l[i])
			}
			return texts2list(parts)
		}),
		"default": {1, 2, func(a []any) (any, error) {
			if len(a) == 1 || emptyValue(a[1]) {
				return a[0], nil
			}
			return a[1], nil
		}},
		"empty": {1, 1, func(a []any) (any, error) { return emptyValue(a[0]), nil }},
		"coalesce": {0, -1, func(a []any) (any, error) {
			for _, v := range a {
				if !emptyValue(v) {
					return v, nil
				}
			}
			return nil, nil
		}},
		"ternary": {3, 3, func(a []any) (any, error) {
			if on, ok := a[2].(bool); !ok {
				return nil, errArgument
			} else if on {
				return a[0], nil
			}
			return a[1], nil
		}},
	}
}

func mapFunctions() map[string]function {
	merged := func(overwrite bool) function {
		return onMap(1, -1, func(m map[string]any, rest []any) (any, error) {
			for _, v := range rest {
				from, err := mapOf(v)
				if err != nil {
					return nil, err
				}
				into(m, from, overwrite)
			}
			return m, nil
		})
	}
	chosen := func(keep bool) function {
		return onMap(1, -1, func(m map[string]any, keys []any) (any, error) {
			out := map[string]any{}
			for k, v := range m {
				if slices.ContainsFunc(keys, func(key any) bool { return show(key) == k }) == keep {
					out[k] = copyValue(v)
				}
			}
			return out, nil
		})
	}
	return map[string]function{
		"dict": {0, -1, func(a []any) (any, error) {
			m := map[string]any{}
			for i := 0; i < len(a); i += 2 {
				m[show(a[i])] = ""
				if i+1 < len(a) {
					m[show(a[i])] = copyValue(a[i+1])
				}
			}
			return m, nil
		}},
		"get": onMap(2, 2, func(m map[string]any, a []any) (any, error) {
			if v, ok := m[show(a[0])]; ok {
				return v, nil
			}
			return "", nil
		}),
		"set":    onMap(3, 3, func(m map[string]any, a []any) (any, error) { m[show(a[0])] = copyValue(a[1]); return m, nil }),
		"unset":  onMap(2, 2, func(m map[string]any, a []any) (any, error) { delete(m, show(a[0])); return m, nil }),
		"hasKey": onMap(2, 2, func(m map[string]any, a []any) (any, error) { return has(m, show(a[0])), nil }),
		"keys":   onMap(1, 1, func(m map[string]any, _ []any) (any, error) { return sortedKeys(m), nil }),
		"values": onMap(1, 1, func(m map[string]any, _ []any) (any, error) {
			list := []any{}
			for _, k := range sortedKeys(m) {
				list = append(list, copyValue(m[k.(string)]))
			}
			return list, nil
		}),
		"pick": chosen(true), "omit": chosen(false), "merge": merged(false), "mergeOverwrite": merged(true),
		"deepCopy": {1, 1, func(a []any) (any, error) { return copyValue(a[0]), nil }},
		"dig": {3, -1, func(a []any) (any, error) {
			at, keys, missing := a[len(a)-1], a[:len(a)-2], a[len(a)-2]
			for _, k := range keys {
				m, err := mapOf(at)
				if err != nil {
					return nil, err
				}
				if !has(m, show(k)) {
					return missing, nil
				}
				at = m[show(k)]
			}
			return at, nil
		}},
	}
}

// into merges a map into another one in place, without sharing values between them.
func into(m, from map[string]any, overwrite bool) {
	for k, v := range from {
		old, isMap := m[k].(map[string]any)
		more, both := v.(map[string]any)
		switch {
		case isMap && both:
			into(old, more, overwrite)
		case emptyValue(m[k]) || overwrite && !emptyValue(v):
			m[k] = copyValue(v)
		}
	}
}
