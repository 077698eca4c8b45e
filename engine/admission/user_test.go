package admission

import (
	"slices"
	"testing"
)

func TestCompleted(t *testing.T) {
	for _, c := range []struct {
		name         string
		groups, want []string
	}{
		{"jane", nil, []string{Authenticated}},
		{"jane", []string{"devs", Authenticated}, []string{"devs", Authenticated}},
		{"", nil, []string{Authenticated}},
		{"system:anonymous", nil, []string{"system:unauthenticated"}},
		{"system:serviceaccount:ci:deployer", []string{"x"},
			[]string{"x", "system:serviceaccounts", "system:serviceaccounts:ci", Authenticated}},
	} {
		before := slices.Clone(c.groups)
		if got := (UserInfo{Username: c.name, Groups: c.groups}).Completed(); !slices.Equal(got.Groups, c.want) ||
			!slices.Equal(before, c.groups) {
			t.Errorf("%s: got %v", c.name, got.Groups)
		}
	}
}
