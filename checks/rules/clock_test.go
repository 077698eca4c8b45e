package rules

import (
	"testing"
)

func TestMayAskUser(t *testing.T) {
	for text, want := range map[string]bool{
		"exclude: {any: [{subjects: [{kind: User, name: olga}]}]}": true, "match: {clusterRoles: [admin]}": true,
		"{{ request.roles }}": true, "expression: request.userInfo.username": true, "{{ serviceAccountName }}": true,
		"expression: authorizer.group('')": true, `{{ request.\u0075serInfo }}`: true,
		"pattern: {metadata: {labels: {team: '?*'}}}": false, "{{ request.object.metadata.name }}": false,
	} {
		if got := (&Sources{Policies: []Source{{File: File{Data: []byte(text)}}}}).MayAskUser(); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

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
