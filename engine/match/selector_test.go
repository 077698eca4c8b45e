package match

import "testing"

func TestSelectorSyntax(t *testing.T) {
	tests := []struct {
		name  string
		valid bool
	}{
		{"app", true}, {"app.kubernetes.io/name", true}, {"*/name", true}, {"a?*", true}, {"a b", false}, {"a/b/c", false},
		{"", false},
	}
	for _, tt := range tests {
		if got := isLabelKey(tt.name); got != tt.valid {
			t.Errorf("%q: got %v", tt.name, got)
		}
	}
	for value, valid := range map[string]bool{"": true, "a_b.C-1": true, "*": true, "-a": false, "a b": false} {
		if got := isLabelValue(value); got != valid {
			t.Errorf("value %q: got %v", value, got)
		}
	}
}
