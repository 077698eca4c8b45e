package view

import "testing"

func TestReason(t *testing.T) {
	for _, c := range [][3]string{
		{"r", "validation error: No. rule r failed at path /spec/x/", "No."},
		{"autogen-r", "validation error: No. rule autogen-r[0] failed at path /a/ rule autogen-r[1] failed at path /b/", "No."},
		{"r", "validation failure: validation error: No. rule r failed at path /spec/x y/", "No."},
		{"r", "Validation rule 'r' failed. It violates PodSecurity", "It violates PodSecurity"},
		{"autogen-r", "validation error: rule autogen-r failed at path /a/", "The object violates the rule r."},
		{"r", "The rule r is about names. rule r failed", "The rule r is about names."},
		{"r", "Follow rule r failed at nothing", "Follow rule r failed at nothing"},
		{"", "plain", "plain"},
	} {
		if got := Reason(c[0], c[1]); got != c[2] {
			t.Errorf("%q: %q, want %q", c[1], got, c[2])
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"autogen-cronjob-a": "a", "autogen-a": "a", "a": "a", "autogen-": "autogen-"} {
		if got := RuleName(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	for in, want := range map[string]string{
		"": "", "/spec/containers/0/image": "spec.containers[0].image",
		"/metadata/labels/app.kubernetes.io~1name": `metadata.labels["app.kubernetes.io/name"]`,
		"/app.kubernetes.io~1name":                 "app.kubernetes.io/name", "/a~0b": "a~b",
	} {
		if got := FieldName(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
