package worker

import (
	"errors"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// Suggestions are posted where the settings ask for them; whatever becomes of them, the check is what it is.
func TestSuggestionsOfACheck(t *testing.T) {
	edits := make([]report.SourceEdit, forge.MaxSuggestions+2)
	for i := range edits {
		edits[i] = report.SourceEdit{Path: "a.yaml", Findings: []int{0},
			Diff: &report.Diff{Line: 2 * (i + 1), Removed: []string{"a"}, Added: []string{"b"}}}
	}
	for name, c := range map[string]struct {
		edits  []report.SourceEdit
		off    bool
		err    error
		posted int
		says   string // at the end of the summary
	}{
		"some":          {edits: edits[:3], posted: 3},
		"none":          {},
		"not asked for": {edits: edits[:3], off: true},
		"too many": {edits: edits, posted: forge.MaxSuggestions, says: "\n2 more suggested changes are not " +
			"posted: the limit is 30.\n"},
		"not granted":    {edits: edits[:3], err: &forge.NotGranted{Permission: "Pull requests: Read and write"}, says: "has to accept it.\n"},
		"GitHub refuses": {edits: edits[:3], err: errors.New(token), says: "a later check tries again.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			kept := &resultsDouble{address: pageAddress}
			b.Results = kept
			b.sandbox.run = answer(&report.Report{Conclusion: report.Failure, Title: "bad", Suggest: !c.off, Edits: c.edits,
				Findings: []report.Finding{{Policy: "p", Rule: "r", Message: "m", Result: report.Fail, Blocks: true}}}, nil)
			if c.err != nil {
				b.refuse("Suggest", c.err)
			}
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			run := b.last(t)
			if run.Conclusion != "failure" || len(b.hub.Suggestions) != c.posted ||
				strings.Contains(run.Summary, "uggest") != (c.says != "") || !strings.HasSuffix(run.Summary, c.says) {
				t.Errorf("%d posted, summary %q", len(b.hub.Suggestions), run.Summary)
			}
			if again := strings.Contains(run.ExternalID, "!"); again != strings.HasSuffix(c.says, "tries again.\n") {
				t.Errorf("another check comes: %v (%s)", again, run.ExternalID)
			}
			if len(kept.kept) != 1 || kept.kept[0].Report.Edits != nil {
				t.Error("the edits are kept with the result, which shows them with the findings already")
			}
			if strings.Contains(run.Summary+b.log.String(), token) {
				t.Error("the token is in the check run or the log")
			}
		})
	}
}

// A branch has no page of changes on which something could be suggested.
func TestNoSuggestionsOfABranch(t *testing.T) {
	b := newBench(t)
	b.sandbox.run = answer(&report.Report{Conclusion: report.Success, Suggest: true}, nil)
	b.hub.Tips = map[string]string{"main": baseTip}
	b.task.Key = store.Key{Installation: 7, Repository: 11, Target: forge.Target{Branch: "main"}}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if n := b.hub.Calls("Suggest"); n != 0 {
		t.Errorf("suggested %d times", n)
	}
}
