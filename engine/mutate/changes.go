package mutate

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// changes lists the pointers, into the new object, of the values that differ from the old one: as deep as possible for
// changed values, the whole value if it is new, and the former place if it was removed. Elements of lists are compared
// by their names if all have one.
func changes(before, after any) []string {
	var out []string
	compare(before, after, "", 0, &out)
	slices.Sort(out)
	return slices.Compact(out)
}

func compare(before, after any, at string, depth int, out *[]string) {
	if depth > maxDepth {
		*out = append(*out, at)
		return
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			for k, v := range a {
				old, had := b[k]
				if !had {
					*out = append(*out, at+"/"+jsonpointer.Escape(k))
					continue
				}
				compare(old, v, at+"/"+jsonpointer.Escape(k), depth+1, out)
			}
			for k := range b {
				if _, ok := a[k]; !ok {
					*out = append(*out, at+"/"+jsonpointer.Escape(k))
				}
			}
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			compareLists(b, a, at, depth, out)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		*out = append(*out, at)
	}
}

func compareLists(before, after []any, at string, depth int, out *[]string) {
	names, ok := named(before)
	if _, all := named(after); !ok || !all {
		names = nil
	}
	for i, v := range after {
		pointer := at + "/" + strconv.Itoa(i)
		j, found := i, i < len(before)
		if names != nil {
			j, found = names[v.(map[string]any)["name"].(string)] //nolint:forcetypeassert // named saw to it
		}
		if !found {
			*out = append(*out, pointer)
			continue
		}
		compare(before[j], v, pointer, depth+1, out)
	}
	if len(after) < len(before) {
		*out = append(*out, at)
	}
}

// named indexes the elements of a list by their names, if each has a different one.
func named(list []any) (map[string]int, bool) {
	out := make(map[string]int, len(list))
	for i, v := range list {
		o, _ := v.(map[string]any)
		name, ok := o["name"].(string)
		if _, twice := out[name]; !ok || twice {
			return nil, false
		}
		out[name] = i
	}
	return out, true
}
