package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRepeatableFlagsTakeSeveralValues(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"eval -p a b -r c", "eval -p a -p b -r c"},
		{"eval --policy a b c --resource - d", "eval --policy a --policy b --policy c --resource - --resource d"},
		{"eval -p=a b", "eval -p=a b"},
		{"eval -p a -o json extra", "eval -p a -o json extra"},
		{"eval -p a -- b c", "eval -p a -- b c"},
		{"eval --cluster a b --values v", "eval --cluster a --cluster b --values v"},
		{"test -p a b", "test -p a b"},
		{"apply -r a b", "apply -r a b"}, // b is a policy
		{"eval", "eval"},
		{"", ""},
	} {
		if got := strings.Join(repeatFlags(strings.Fields(c.args)), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.args, got, c.want)
		}
	}
	args := []string{"eval", "-p", "a", "b"}
	if repeatFlags(args); !slices.Equal(args, []string{"eval", "-p", "a", "b"}) {
		t.Error("the arguments were changed")
	}
}
