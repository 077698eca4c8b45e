package report

import "testing"

// A title tells what was not looked at: that nothing changes is said of nothing else.
func TestOutlookTitle(t *testing.T) {
	seen := func(f Foretold, unseen int) UserOutlook {
		return UserOutlook{State: OutlookSeen, Foretold: f, Unseen: unseen}
	}
	for want, o := range map[string]Outlook{
		"Once merged, nothing changes in 2 repositories": {Users: []UserOutlook{seen(Foretold{}, 0), seen(Foretold{}, 0)}},
		"Once merged, nothing changes in 2 repositories; 1 repository looked at in part": {Users: []UserOutlook{seen(Foretold{}, 3),
			seen(Foretold{}, 0)}},
		"Once merged: 3 new failures, 1 no longer reported in 1 repository of 3; 1 repository not looked at; 1 is still to be looked at": {
			Users: []UserOutlook{seen(Foretold{Fails: 3, Passes: 1}, 0), {State: OutlookFails}, {}, {State: OutlookApart}}},
		"Not known for any of 1 repository; 1 is still to be looked at": {Users: []UserOutlook{{}}},
		"No repository takes rules from this branch":                    {Users: []UserOutlook{{State: OutlookApart}}},
		"Nothing can be told; 2 private repositories not named":         {Hidden: 2},
	} {
		if got := o.Title(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What other rules would do is concluded by what is known: errors and what was not looked at are no success.
func TestForetell(t *testing.T) {
	preview := func(fails, passes, unseen int) *Preview {
		return &Preview{Policies: []PolicyPreview{{Fails: fails, Passes: passes}}, Stats: PreviewStats{Unseen: unseen}}
	}
	for want, r := range map[string]Report{
		"success No rules come from the branch that would change":        {},
		"success Nothing would change":                                   {Concerned: true},
		"success Once merged: 2 no longer reported":                      {Concerned: true, Preview: preview(0, 2, 0)},
		"neutral Once merged: nothing changes; 1 root was not looked at": {Concerned: true, Preview: preview(0, 0, 1)},
		"neutral Once merged: 1 new failure, 2 no longer reported":       {Concerned: true, Preview: preview(1, 2, 0)},
		"neutral What would change is not known: 1 error":                {Concerned: true, Errors: []Problem{{Message: "x"}}},
	} {
		r.Foretell()
		if got := string(r.Conclusion) + " " + r.Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
