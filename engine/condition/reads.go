package condition

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Reads returns RFC 6901 pointers into the root of the scope ("/request/object/spec/replicas") to what the conditions of
// a set that is met read, of those that are met, sorted and each once. If only some elements of a list decided, the
// pointers lead to these. It evaluates every condition, not only the first that decides, so that it finds all fields of a
// resource that have to change; their errors are ignored.
func (s *Set) Reads(sc *variable.Scope) []string {
	var reads []string
	for _, c := range s.conditions() {
		reads = append(reads, c.readsIfMet(sc)...)
	}
	slices.Sort(reads)
	return slices.Compact(reads)
}

// readsIfMet returns what the condition reads if it is met.
func (c *condition) readsIfMet(sc *variable.Scope) []string {
	key, t, err := c.operands(sc)
	if err != nil || !t(key) {
		return nil
	}
	keys := c.key.Reads(sc)
	if list, ok := key.([]any); ok {
		keys = narrow(sc, keys, list, func(element any) bool { return t([]any{element}) })
	}
	return append(keys, c.value.Reads(sc)...)
}

// narrow keeps only the pointers to the elements of a list that decided. It keeps all pointers if the list is not
// exactly the values that were read, because an expression changed them.
func narrow(sc *variable.Scope, pointers []string, list []any, decides func(element any) bool) []string {
	if len(pointers) == 1 {
		switch same := sc.At(pointers[0]).(type) {
		case []any:
			if reflect.DeepEqual(same, list) {
				return those(pointers[0], list, decides, func(i int) string { return strconv.Itoa(i) })
			}
		case map[string]any:
			if areKeys(same, list) {
				fields := those(pointers[0], list, decides, func(i int) string { return jsonpointer.Escape(list[i].(string)) })
				slices.Sort(fields)
				return fields
			}
		}
	}
	var kept []string
	present := 0
	values := make(map[string]bool, len(list))
	for _, element := range list {
		values[sprint(element)] = true
	}
	for _, pointer := range pointers {
		value := sc.At(pointer)
		if value == nil {
			continue
		}
		present++
		if !values[sprint(value)] {
			return pointers
		}
		if decides(value) {
			kept = append(kept, pointer)
		}
	}
	if present != len(list) || len(kept) == 0 {
		return pointers
	}
	return kept
}

// areKeys reports whether a list has the names of the fields of a map.
func areKeys(m map[string]any, list []any) bool {
	return len(list) > 0 && len(list) == len(m) && !slices.ContainsFunc(list, func(v any) bool {
		name, ok := v.(string)
		_, has := m[name]
		return !ok || !has
	})
}

// those returns the pointers to the values of a list that decide, which token leads to from a pointer, or that pointer if no value
// decides alone.
func those(pointer string, values []any, decides func(value any) bool, token func(i int) string) (out []string) {
	for i, v := range values {
		if decides(v) {
			out = append(out, pointer+"/"+token(i))
		}
	}
	if len(out) == 0 {
		return []string{pointer}
	}
	return out
}
