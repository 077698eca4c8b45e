package output

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// Edits replace existing lines. Inserted lines follow the line above, if that line may be shown.
func TestSuggestions(t *testing.T) {
	diff := func(line int, above string, removed, added []string) *report.Diff {
		return &report.Diff{Line: line, Above: above, Removed: removed, Added: added}
	}
	finding := func(policy, message string, blocks, example bool) report.Finding {
		return report.Finding{Policy: policy, Message: message, Blocks: blocks, Suggestion: &report.Suggestion{Example: example}}
	}
	rep := &report.Report{
		Findings: []report.Finding{finding("a", "No <b>.", false, false), finding("b", "Ask @team.", true, true)},
		Edits: []report.SourceEdit{
			{Path: "x.yaml", Diff: diff(9, "", []string{"nine"}, []string{"9"}), Findings: []int{0}},
			{Path: "x.yaml", Diff: diff(3, "two", nil, []string{"3"}), Findings: []int{0}},
			{Path: "x.yaml", Diff: diff(5, "(hidden)", nil, []string{"5"}), Findings: []int{0}},
			{Path: "x.yaml", Diff: nil, Findings: []int{0, 1}},
			{Path: "x.yaml", Diff: diff(1, "", nil, []string{"top"}), Findings: []int{0}},
			{Path: "y.yaml", Diff: diff(5, "four", nil, []string{"5"}), Findings: []int{0, 1, 0}},
			{Path: "y.yaml", Diff: diff(3, "", []string{"three", "four"}, []string{"3"}), Findings: []int{0}},
			{Path: "z.yaml", Diff: diff(3, "", []string{"three"}, nil), Findings: []int{0}},
		},
	}
	var got []string
	for _, s := range Suggestions(rep) {
		got = append(got, fmt.Sprintf("%s:%d-%d %q for %q: %s", s.Path, s.StartLine, s.EndLine, s.Lines, s.Was, s.Why))
	}
	const a, b = "**a**: No &lt;b&gt;.", "**b**: Ask `@team.` Other values also satisfy the rule."
	if want := []string{
		`y.yaml:3-4 ["3" "5"] for ["three" "four"]: ` + a + "\n\n" + b,
		`x.yaml:2-2 ["two" "3"] for ["two"]: ` + a,
		`x.yaml:9-9 ["9"] for ["nine"]: ` + a,
		`z.yaml:3-3 [] for ["three"]: ` + a,
	}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
