package diagnostics

import (
	"fmt"
	"slices"
	"strings"
)

// meant returns a question such as "did you mean" for an unknown name, "" if no similar name is known.
func meant(name string, names []string) string {
	if near := nearest(name, names); near != "" && near != name {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// nearest returns the name that was most likely misspelled, "" if none is similar.
func nearest(name string, names []string) string {
	best, distance := "", 1+max(1, len(name)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// editDistance is how many letters must be written, removed, replaced or swapped with their neighbor to get from one name to
// another. It is large for names that nobody would look through.
func editDistance(a, b string) int {
	const longest = 80
	if len(a) > longest || len(b) > longest {
		return longest
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
