package view

import (
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

func TestFixNamesTheOtherRootsOfItsFile(t *testing.T) {
	f := &report.Finding{Result: report.Fail, New: true, Blocks: true, Roots: []string{"overlays/production"}, Origin: &report.Origin{Path: "base/web.yaml"},
		Suggestion: &report.Suggestion{Field: "/spec/a", YAML: "1", Example: true, Diff: &report.Diff{Line: 1, Added: []string{"a: 1"}},
			Shared: 5, SharedWith: []string{"overlays/staging", "overlays/test", "overlays/x", "overlays/y"}}}
	const shared = "in a file that is also part of overlays/staging, overlays/test, overlays/x and 2 more"
	if got := FixOf(f).Words("Write"); got != "Write, for example, "+shared {
		t.Errorf("%q", got)
	}
	if facts := Facts(f); len(facts) != 1 || facts[0] != (Fact{"Note", "the fix is " + shared}) {
		t.Errorf("%+v", facts)
	}
}
