package report

import (
	"fmt"
	"strings"
)

// Count returns a number with what it counts: "1 error", "2 errors".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func enumerate(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// some lists a few of many.
func some(list []string) string {
	const few = 5
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}

// Hidden stands in place of a value of a Secret.
const Hidden = "(hidden)"
