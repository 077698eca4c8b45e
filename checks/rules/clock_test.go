package rules

import (
	"testing"
)

func TestMayAskTime(t *testing.T) {
	for text, want := range map[string]bool{
		"expression: now() > timestamp(x)": true, "message: known, snow_now": false, "{{ time_now_utc() }}": true,
		"{{ time_since('', a, b) }}": true, "spec: {expiresAt: x}": true, `expression: "\u006eow()"`: true,
		"expression: \"no\\\nw()\"": true, "expression: !!binary bm93KCk=": true, "nownow": false, "nownow now": true, "": false,
	} {
		if got := (&Sources{Exceptions: []Source{{File: File{Data: []byte(text)}}}}).MayAskTime(); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
