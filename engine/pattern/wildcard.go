package pattern

import (
	"strings"
	"unicode/utf8"
)

// Wildcard reports whether all of s matches pattern, in which * stands for any number of characters (none, too) and ?
// for exactly one. Everything else, backslash included, stands for itself: Kyverno has no escape for wildcards
// (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/#matching-special-characters tells to use contains()
// instead). It needs at most len(pattern)*len(s) steps and allocates nothing.
func Wildcard(pattern, s string) bool {
	p, i := 0, 0
	star, resume := -1, 0 // the last * met, and where in s the text after it is tried
	for i < len(s) {
		if p < len(pattern) {
			switch c := pattern[p]; {
			case c == '*':
				star, resume = p, i
				p++
				continue
			case c == '?':
				_, n := utf8.DecodeRuneInString(s[i:])
				p++
				i += n
				continue
			case c == s[i]:
				p++
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[resume:])
		resume += n
		p, i = star+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// HasWildcard reports whether s holds a wildcard character.
func HasWildcard(s string) bool { return strings.ContainsAny(s, "*?") }
