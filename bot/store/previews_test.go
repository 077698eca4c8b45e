package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// What a pull request would change is remembered by what it depends on, and whatever is too much to remember is not.
func TestPreviewsAreRemembered(t *testing.T) {
	q := open(t, Config{})
	key := Key{Installation: 7, Repository: 11, Target: forge.Target{Preview: 12}}
	put := func(key Key, user int64, o Preview) {
		t.Helper()
		if err := q.PutPreview(t.Context(), key, user, o); err != nil {
			t.Fatal(err)
		}
	}
	huge := report.DependentPreview{Repository: "o/huge", Policies: []report.PolicyPreview{{Policy: strings.Repeat("x", MaxValue)}}}
	put(key, 1, Preview{Of: "a", Tries: 1, Repository: report.DependentPreview{Repository: "o/first"}})
	put(key, 1, Preview{Of: "a", Tries: 2, Repository: report.DependentPreview{Repository: "o/one"}})
	put(key, 2, Preview{Of: "a", Repository: huge})
	put(key, 3, Preview{Of: "b"})
	for _, other := range []Key{{Installation: 7, Repository: 11, Target: forge.Target{Preview: 1}}, {Installation: 7, Repository: 1, Target: forge.Target{Preview: 12}},
		{Installation: 1, Repository: 11, Target: forge.Target{Preview: 12}}} {
		put(other, 4, Preview{Of: "a"})
	}
	got, err := q.Previews(t.Context(), key, "a")
	want := map[int64]Preview{1: {Of: "a", Tries: 2, Repository: report.DependentPreview{Repository: "o/one"}},
		2: {Of: "a", Repository: report.DependentPreview{Repository: "o/huge"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// A user takes rules from the branches that its settings name; one of which nobody noted them may take them from any.
func TestDependentUsesRulesOfNamedBranches(t *testing.T) {
	u := Dependent{RuleSources: []report.RuleSource{{Name: "https://h/o/p", Ref: "v1"}, {Name: "https://h/o/p.git"}}}
	for refs, want := range map[string]bool{"main,refs/heads/main,": true, "next,refs/heads/next": false, "v1,refs/heads/v1": true} {
		if got := u.UsesRulesOf(strings.Split(refs, ",")); got != want {
			t.Errorf("%s: %t", refs, got)
		}
		if !(Dependent{}).UsesRulesOf(strings.Split(refs, ",")) {
			t.Errorf("%s: not of one that is not known", refs)
		}
	}
	if diff := cmp.Diff([]string{"https://h/o/p", "https://h/o/p.git"}, u.Addresses()); diff != "" {
		t.Error(diff)
	}
}
