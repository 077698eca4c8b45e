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
				return elementsThat(pointers[0], list, decides)
			}
		case map[string]any:
			if areKeys(same, list) {
				return keysThat(pointers[0], list, decides)
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

// keysThat returns the pointers to the fields of a map whose names decide, or to the map if no name decides alone.
func keysThat(mapping string, names []any, decides func(name any) bool) (out []string) {
	for _, name := range names {
		if decides(name) {
			out = append(out, mapping+"/"+jsonpointer.Escape(name.(string)))
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return []string{mapping}
	}
	return out
}

// elementsThat returns the pointers to the elements of a list that decide, or to the list if no element decides alone.
func elementsThat(list string, values []any, decides func(element any) bool) []string {
	var out []string
	for i, v := range values {
		if decides(v) {
			out = append(out, list+"/"+strconv.Itoa(i))
		}
	}
	if len(out) == 0 {
		return []string{list}
	}
	return out
}
