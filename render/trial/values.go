package trial

import (
	"maps"
	"slices"
	"strconv"
)

// with returns values in which the value at a path is replaced. It copies the maps on the path. A value on the way that
// is no map is replaced.
func with(values any, at []string, value any) any {
	if len(at) == 0 {
		return value
	}
	if list, ok := values.([]any); ok {
		if i, err := strconv.Atoi(at[0]); err == nil && i >= 0 && i <= len(list) {
			out := append(slices.Clone(list), nil)[:max(len(list), i+1)]
			out[i] = with(out[i], at[1:], value)
			return out
		}
	}
	if i, err := strconv.Atoi(at[0]); err == nil && i == 0 {
		if _, isMap := values.(map[string]any); !isMap {
			return []any{with(nil, at[1:], value)}
		}
	}
	out := map[string]any{}
	if m, ok := values.(map[string]any); ok && m != nil {
		out = maps.Clone(m)
	}
	out[at[0]] = with(out[at[0]], at[1:], value)
	return out
}

// without returns values without the value at a path.
func without(values map[string]any, path []string) map[string]any {
	out := maps.Clone(values)
	if len(path) == 1 {
		delete(out, path[0])
		return out
	}
	if below, ok := out[path[0]].(map[string]any); ok {
		out[path[0]] = without(below, path[1:])
	}
	return out
}
