package rules

import (
	"regexp"
	"slices"
	"sync"
)

// clock is what a rule cannot do without whose outcome depends on the time: a function that tells it, the end of an
// exception, or what may hide either in YAML or JSON: an escape, a line that is continued in a word, a value in base64.
var clock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`time_now|time_since|\bnow\b|expiresAt|cleanup\.kyverno\.io/ttl|\\(?:[uUx]|\r?\n)|!!?binary|tag:yaml`)
})

// MayAskTime reports whether what the rules come to may depend on the time, as far as their text tells: never false where
// it does.
func (out *Sources) MayAskTime() bool {
	return out != nil && slices.ContainsFunc(slices.Concat(out.Policies, out.Exceptions), func(s Source) bool {
		return clock().Match(s.Data)
	})
}
