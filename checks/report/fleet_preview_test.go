package report

import "testing"

// The title says which repositories were not checked, and claims "nothing changes" for checked ones only.
func TestFleetPreviewTitle(t *testing.T) {
	seen := func(c PreviewCounts, unseen int) DependentPreview {
		return DependentPreview{State: DependentSeen, PreviewCounts: c, Unseen: unseen}
	}
	for want, p := range map[string]FleetPreview{
		"Once merged, nothing changes in 2 repositories": {Dependents: []DependentPreview{seen(PreviewCounts{}, 0), seen(PreviewCounts{}, 0)}},
		"Once merged, nothing changes in 2 repositories; 1 repository partly " +
			"checked": {Dependents: []DependentPreview{seen(PreviewCounts{}, 3),
			seen(PreviewCounts{}, 0)}},
		"Once merged: 3 new failures, 1 no longer reported in 1 repository of 3; 1 repository not checked; 1 is " +
			"still to be checked": {
			Dependents: []DependentPreview{seen(PreviewCounts{Fails: 3, Passes: 1}, 0), {State: DependentFails}, {}, {State: DependentUnrelated}}},
		"Not known for any of 1 repository; 1 is still to be " +
			"checked": {Dependents: []DependentPreview{{}}},
		"No repository uses rules of this " +
			"branch": {Dependents: []DependentPreview{{State: DependentUnrelated}}},
		"Only private repositories use rules of this branch; 2 private repositories not named": {Hidden: 2},
	} {
		if got := p.Title(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The conclusion of proposed rules is neutral if there are errors or unchecked roots.
func TestConcludeProposed(t *testing.T) {
	preview := func(fails, passes, unseen int) *Preview {
		return &Preview{Policies: []PolicyPreview{{PreviewCounts: PreviewCounts{Fails: fails, Passes: passes}}}, Stats: PreviewStats{Unseen: unseen}}
	}
	for want, r := range map[string]Report{
		"success This repository takes no rules from the changed branch": {},
		"success Nothing would change":                                   {Concerned: true},
		"success Once merged: 2 no longer reported":                      {Concerned: true, Preview: preview(0, 2, 0)},
		"neutral Once merged: nothing changes; 1 root was not checked":   {Concerned: true, Preview: preview(0, 0, 1)},
		"neutral Once merged: 1 new failure, 2 no longer reported":       {Concerned: true, Preview: preview(1, 2, 0)},
		"neutral The effect is not known: 1 error":                       {Concerned: true, Errors: []Problem{{Message: "x"}}},
	} {
		r.ConcludeProposed()
		if got := string(r.Conclusion) + " " + r.Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
