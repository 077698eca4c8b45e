package rules

import (
	"bytes"
	"slices"
)

// clock are texts without which the result of a rule cannot depend on the time. They are functions that return the
// time, the expiry of an exception, and what may hide either in YAML or JSON: an escape, a continued line, a value in
// base64.
var clock = []string{"time_now", "time_since", "expiresAt", "cleanup.kyverno.io/ttl", `\u`, `\U`, `\x`, "\\\n", "\\\r\n",
	"!binary", "tag:yaml"}

// MayAskTime reports whether the result of the rules may depend on the time, judging by their text. It is never false
// if the result does.
func (out *Sources) MayAskTime() bool {
	return out != nil && slices.ContainsFunc(slices.Concat(out.Policies, out.Exceptions), func(s Source) bool {
		return hasWord(s.Data, "now") || slices.ContainsFunc(clock, func(text string) bool {
			return bytes.Contains(s.Data, []byte(text))
		})
	})
}

// hasWord reports whether a text contains a whole word.
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
