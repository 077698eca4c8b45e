package view

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// Who has to approve an exception depends on whose policy it opens.
func TestWhoHasToApprove(t *testing.T) {
	above := &report.Approvers{Users: []string{"security"}, Count: 2}
	own := report.Finding{Result: report.Fail, New: true, Blocks: true}
	inherited, known := own, own
	inherited.Approvers = above
	known.New, known.Blocks, known.Approvers = false, false, above
	for name, c := range map[string]struct {
		findings []report.Finding
		want     string
	}{
		"the repository's":       {[]report.Finding{own, known}, "have it approved: 1 approving review by team owners."},
		"the organisation's":     {[]report.Finding{inherited}, "have it approved: 2 approving reviews by security."},
		"of both":                {[]report.Finding{inherited, own}, "have it approved: 1 approving review by team owners, for the organisation's policies 2 approving reviews by security."},
		"nothing to be approved": {[]report.Finding{known}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &report.Report{Findings: c.findings, Approvers: &report.Approvers{Teams: []string{"owners"}}, Stats: report.Stats{Policies: 1}}
			var words string
			for _, s := range NextActions(r, "above", true) {
				words += s.String()
			}
			if !strings.HasSuffix(words, c.want) || c.want == "" && words != "" {
				t.Errorf("%q does not end in %q", words, c.want)
			}
		})
	}
}
