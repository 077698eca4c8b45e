package report

import "testing"

func TestConclude(t *testing.T) {
	blocking := Finding{Result: Fail, Blocks: true, New: true}
	waiting := Finding{Result: Fail, Blocks: true, New: true, Exemption: &Exemption{Exception: "n/e", State: Pending}}
	expired := Finding{Result: Fail, Blocks: true, New: true, Exemption: &Exemption{Exception: "n/e", State: Expired}}
	warning := Finding{Result: Warn, New: true}
	unknown := Finding{Result: Unknown, New: true}
	old := Finding{Result: Fail}
	checked := Stats{Policies: 1, Resources: 2, Met: 2}
	for _, c := range []struct {
		name   string
		report Report
		want   Conclusion
		title  string
	}{
		{"clean", Report{Stats: checked}, Success, "2 resources checked, no violations"},
		{"no rule applies", Report{Stats: Stats{Policies: 1, Resources: 2}}, Success,
			"2 resources checked, no violations: no rule applies to what changes"},
		{"rules apply to some resources", Report{Stats: Stats{Policies: 1, Resources: 4, Met: 3}}, Success,
			"4 resources checked, no violations: rules apply to 3 of 4 changed resources"},
		{"rules apply to some resources of the whole branch", Report{All: true, Stats: Stats{Policies: 1, Resources: 4, Met: 3}}, Success,
			"4 resources checked, no violations: rules apply to 3 of 4 resources"},
		{"broken policies", Report{Stats: checked, NotChecked: []NotChecked{{Rules: true}, {}}}, Neutral,
			"1 deployment is not checked, some policies or settings of the base branch cannot be used"},
		{"unchecked, and the settings let it fail", Report{Stats: checked, NotChecked: []NotChecked{{Root: "a"}, {Root: "b", Fails: true}}}, Failure,
			"2 deployments are not checked"},
		{"no policies", Report{Stats: Stats{Resources: 2}}, Neutral, "No policies in this repository: only the built-in checks ran"},
		{"no manifest changed", Report{Stats: Stats{Policies: 1}}, Success, "No deployed manifest changes"},
		{"no file changed", Report{Same: true, Stats: Stats{Policies: 1}}, Success,
			"There is nothing to compare: the head changes no file"},
		{"no file changed, without policies", Report{Same: true}, Neutral,
			"No policies in this repository: only the built-in checks ran"},
		{"policies changed", Report{Stats: Stats{Policies: 1}, Preview: &Preview{}}, Success,
			"Only policies, exceptions or settings change"},
		{"a deployed policy changes", Report{Stats: Stats{Policies: 1}, RootChanges: []RootChange{{Root: "policies", Removed: 1}}}, Success,
			"Only policies, exceptions or settings change"},
		{"violation", Report{Stats: checked, Findings: []Finding{blocking, waiting, warning}}, Failure,
			"1 new violation, 1 exception waits for approval, 1 warning"},
		{"pending exception", Report{Stats: checked, Findings: []Finding{waiting, waiting, warning}}, ActionRequired,
			"1 exception waits for approval, 1 warning"},
		{"expired", Report{Stats: checked, Findings: []Finding{expired}}, Failure, "1 new violation"},
		{"error", Report{Stats: checked, Findings: []Finding{waiting}, Errors: []Problem{{}}}, Failure,
			"1 error, 1 exception waits for approval"},
		{"warning", Report{Stats: checked, Findings: []Finding{warning, warning}}, Neutral, "2 warnings"},
		{"unknown", Report{Stats: checked, Findings: []Finding{unknown}}, Neutral, "1 rule needs the cluster"},
		{"unknown at the base, too", Report{Stats: checked, Findings: []Finding{{Result: Unknown}}}, Success,
			"2 resources checked, no violations"},
		{"chart", Report{Stats: Stats{Policies: 1, Unchecked: 1}}, Neutral, "1 Helm chart is not checked"},
		{"not checked", Report{Stats: checked, NotChecked: []NotChecked{{Root: "ApplicationSet argocd/apps"}}}, Neutral,
			"1 deployment is not checked"},
		{"a violation of the base", Report{Stats: Stats{Policies: 1, Resources: 1, PreExisting: 1}, Findings: []Finding{old}}, Success,
			"No new violations (1 in the base already)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.report.Conclude()
			if got := c.report.Conclusion; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := c.report.Title; got != c.title {
				t.Errorf("got %q, want %q", got, c.title)
			}
		})
	}
}

// In advisory mode nothing blocks, and every finding is still reported.
func TestAdvisoryModeBlocksNothing(t *testing.T) {
	for name, c := range map[string]struct {
		report Report
		want   Conclusion
		title  string
	}{
		"no finding": {Report{Stats: Stats{Policies: 1, Resources: 2, Met: 2}}, Success,
			"2 resources checked, no violations (advisory: nothing blocks)"},
		"a violation": {Report{Stats: Stats{Policies: 1}, Findings: []Finding{{Result: Fail, New: true, Blocks: true}}}, Neutral,
			"1 warning (advisory: 1 would block)"},
		"a violation of the base": {Report{Stats: Stats{Policies: 1}, Findings: []Finding{{Result: Fail, Blocks: true, Denied: true}}}, Neutral,
			"No deployed manifest changes (advisory: 1 would block)"},
		"an error": {Report{Stats: Stats{Policies: 1}, Errors: []Problem{{Message: "x"}}}, Neutral,
			"1 error (advisory: nothing blocks)"},
		"a pending exception": {Report{Stats: Stats{Policies: 1}, Exceptions: []Exception{{Name: "e", State: Pending}}}, Neutral,
			"1 exception waits for approval (advisory: nothing blocks)"},
		"not checked": {Report{Stats: Stats{Policies: 1}, NotChecked: []NotChecked{{Fails: true}}}, Neutral,
			"1 deployment is not checked (advisory: nothing blocks)"},
	} {
		r := c.report
		r.Advise()
		r.Conclude()
		if r.Conclusion != c.want || c.title != "" && r.Title != c.title {
			t.Errorf("%s: %s %q", name, r.Conclusion, r.Title)
		}
		for _, f := range r.Findings {
			if f.Blocks || f.Denied || f.Result == Fail {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}
