package report

import (
	"fmt"
	"slices"
	"strings"
)

// Hidden is the mask that replaces a value of a Secret.
const Hidden = "(hidden)"

// Count returns a number with what it counts: "1 error", "2 errors".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Number is a number with what it counts.
type Number struct {
	N         int
	One, Many string
}

// Counts returns the non-zero numbers in words.
func Counts(list []Number) (words []string) {
	for _, n := range list {
		if n.N > 0 {
			words = append(words, Count(n.N, n.One, n.Many))
		}
	}
	return words
}

// Some lists the first names and counts the others: "a, b and 3 more".
func Some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Union appends the elements of a second list that the first lacks.
func Union[T comparable](list, more []T) []T {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// Filled returns the texts that are not empty.
func Filled(list ...string) []string { return Kept(list, func(s string) bool { return s != "" }) }

// Mapped returns the results of a function for the elements of a list; nil for none.
func Mapped[T, U any](list []T, of func(T) U) (out []U) {
	for _, x := range list {
		out = append(out, of(x))
	}
	return out
}

// Kept returns the elements of a list that a function selects; nil for none.
func Kept[S ~[]T, T any](list S, is func(T) bool) (kept S) {
	for _, x := range list {
		if is(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// Grouped groups the elements of a list by key, in the order of the first of each group.
func Grouped[S ~[]T, T any, K comparable](list []T, key func(T) K) (groups []S) {
	at := map[K]int{}
	for _, x := range list {
		k := key(x)
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}
