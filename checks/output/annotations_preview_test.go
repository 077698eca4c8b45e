package output

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// A preview is a notice at the policy. A failed test row is shown once, also if the change does not touch the test.
func TestAnnotatePreview(t *testing.T) {
	rep := &report.Report{
		Errors: []report.Problem{
			{Path: "policies/a/kyverno-test.yaml", Line: 9, Message: "fails", Changed: true},
			{Path: "policies/b/kyverno-test.yaml", Line: 12, Message: "fails, too"},
			{Path: "apps/of-the-base.yaml", Line: 3, Message: "another error"},
		},
		Preview: &report.Preview{
			Notices: []report.Problem{{Path: "policies/a/a.yaml", Line: 1, Message: "Once this is merged: ..."}},
			Tests:   &report.PreviewTests{Files: []string{"policies/a/kyverno-test.yaml", "policies/b/kyverno-test.yaml"}},
		},
	}
	var got []string
	list, _ := Annotations(rep)
	for _, a := range list {
		got = append(got, string(a.Level)+" "+a.Path+" "+a.Message)
	}
	want := []string{
		"failure policies/a/kyverno-test.yaml fails", "failure policies/b/kyverno-test.yaml fails, too",
		"notice policies/a/a.yaml Once this is merged: ...",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
