package checks

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

func TestEditsOfLongLinesAreMadeAndNotShown(t *testing.T) {
	for _, width := range []int{maxLine, maxLine + 1} {
		d := &report.Diff{Line: 1, Removed: []string{"a"}, Added: []string{strings.Repeat("b", width)}}
		rep := &report.Report{Findings: []report.Finding{{Suggestion: &report.Suggestion{Diff: d}}},
			Edits: []report.SourceEdit{{Diff: d, Findings: []int{0}}}}
		unmasked(rep, written(rep.Edits))
		if len(rep.Edits) != 1 || rep.Edits[0].Diff == nil {
			t.Errorf("%d bytes: the edit is not made", width)
		}
		if shown := rep.Findings[0].Suggestion.Diff != nil; shown != (width <= maxLine) {
			t.Errorf("%d bytes: shown is %v", width, shown)
		}
	}
}
