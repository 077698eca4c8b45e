package condition

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// lookUp is the value at a pointer (RFC 6901) of a JSON tree.
func lookUp(tree any, pointer string) (any, bool) {
	if pointer == "" {
		return tree, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		switch typed := tree.(type) {
		case map[string]any:
			value, ok := typed[strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")]
			if !ok {
				return nil, false
			}
			tree = value
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(typed) {
				return nil, false
			}
			tree = typed[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

// escape writes a key as a reference token of RFC 6901.
func escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quote shows a token of a policy in a message, shortened to something a person can read.
func quote(token string) string {
	const limit = 80
	if runes := []rune(token); len(runes) > limit {
		token = string(runes[:limit]) + "…"
	}
	return "`" + token + "`"
}
