package rules

import (
	"regexp"
	"slices"
)

// clock is what a rule cannot do without whose outcome depends on the time: a function that tells it, the end of an
// exception, or an escape of YAML or JSON that may hide either.
var clock = regexp.MustCompile(`time_now|time_since|\bnow\b|expiresAt|cleanup\.kyverno\.io/ttl|\\[uUx]`)

// MayAskTime reports whether what the rules come to may depend on the time, as far as their text tells: never false where
// it does.
func (out *Sources) MayAskTime() bool {
	return out != nil && slices.ContainsFunc(slices.Concat(out.Policies, out.Exceptions), func(s Source) bool {
		return clock.Match(s.Data)
	})
}
