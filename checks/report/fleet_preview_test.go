package report

import "testing"

// A title tells what was not looked at: that nothing changes is said of nothing else.
func TestFleetPreviewTitle(t *testing.T) {
	seen := func(c PreviewCounts, unseen int) DependentPreview {
		return DependentPreview{State: DependentSeen, PreviewCounts: c, Unseen: unseen}
	}
	for want, p := range map[string]FleetPreview{
		"Once merged, nothing changes in 2 repositories": {Dependents: []DependentPreview{seen(PreviewCounts{}, 0), seen(PreviewCounts{}, 0)}},
		"Once merged, nothing changes in 2 repositories; 1 repository looked at in part": {Dependents: []DependentPreview{seen(PreviewCounts{}, 3),
			seen(PreviewCounts{}, 0)}},
		"Once merged: 3 new failures, 1 no longer reported in 1 repository of 3; 1 repository not looked at; 1 is still to be looked at": {
			Dependents: []DependentPreview{seen(PreviewCounts{Fails: 3, Passes: 1}, 0), {State: DependentFails}, {}, {State: DependentUnrelated}}},
		"Not known for any of 1 repository; 1 is still to be looked at": {Dependents: []DependentPreview{{}}},
		"No repository takes rules from this branch":                    {Dependents: []DependentPreview{{State: DependentUnrelated}}},
		"Nothing can be told; 2 private repositories not named":         {Hidden: 2},
	} {
		if got := p.Title(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What other rules would do is concluded by what is known: errors and what was not looked at are no success.
func TestConcludeProposed(t *testing.T) {
	preview := func(fails, passes, unseen int) *Preview {
		return &Preview{Policies: []PolicyPreview{{PreviewCounts: PreviewCounts{Fails: fails, Passes: passes}}}, Stats: PreviewStats{Unseen: unseen}}
	}
	for want, r := range map[string]Report{
		"success No rules come from the branch that would change":        {},
		"success Nothing would change":                                   {Concerned: true},
		"success Once merged: 2 no longer reported":                      {Concerned: true, Preview: preview(0, 2, 0)},
		"neutral Once merged: nothing changes; 1 root was not looked at": {Concerned: true, Preview: preview(0, 0, 1)},
		"neutral Once merged: 1 new failure, 2 no longer reported":       {Concerned: true, Preview: preview(1, 2, 0)},
		"neutral What would change is not known: 1 error":                {Concerned: true, Errors: []Problem{{Message: "x"}}},
	} {
		r.ConcludeProposed()
		if got := string(r.Conclusion) + " " + r.Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
