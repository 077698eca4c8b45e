package condition

import (
	"maps"
	"slices"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quote shows a token of a policy in a message, shortened to something a person can read.
func quote(token string) string {
	const limit = 80
	if runes := []rune(token); len(runes) > limit {
		token = string(runes[:limit]) + "…"
	}
	return "`" + token + "`"
}
