package rules

import (
	"bytes"
	"slices"
)

// clock is what a rule cannot do without whose outcome depends on the time: a function that tells it, the end of an
// exception, or what may hide either in YAML or JSON: an escape, a line that is continued in a word, a value in base64.
var clock = []string{"time_now", "time_since", "expiresAt", "cleanup.kyverno.io/ttl", `\u`, `\U`, `\x`, "\\\n", "\\\r\n",
	"!binary", "tag:yaml"}

// MayAskTime reports whether what the rules come to may depend on the time, as far as their text tells: never false where
// it does.
func (out *Sources) MayAskTime() bool {
	return out != nil && slices.ContainsFunc(slices.Concat(out.Policies, out.Exceptions), func(s Source) bool {
		return hasWord(s.Data, "now") || slices.ContainsFunc(clock, func(text string) bool {
			return bytes.Contains(s.Data, []byte(text))
		})
	})
}

// hasWord reports whether a text has a word that is not a part of another.
func hasWord(text []byte, word string) bool {
	part := func(list []byte, i int) bool {
		return i >= 0 && i < len(list) &&
			(list[i] == '_' || list[i] >= '0' && list[i] <= '9' || list[i]|0x20 >= 'a' && list[i]|0x20 <= 'z')
	}
	for {
		i := bytes.Index(text, []byte(word))
		if i < 0 {
			return false
		}
		if !part(text, i-1) && !part(text, i+len(word)) {
			return true
		}
		text = text[i+1:]
	}
}
